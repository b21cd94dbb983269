"""The tools, and the server that offers them."""

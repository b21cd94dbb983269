"""What the loop asks of tools, shields and retrieval."""

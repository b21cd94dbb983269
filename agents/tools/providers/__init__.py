"""Tools that the server itself can run."""

"""REST: files, vector stores, vector databases."""

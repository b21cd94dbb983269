"""REST: responses and conversations."""

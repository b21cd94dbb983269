"""A response, its items and its stream as JSON."""

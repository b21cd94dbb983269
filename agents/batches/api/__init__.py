"""REST views."""

"""REST: rows, numbers, exports and saved views."""

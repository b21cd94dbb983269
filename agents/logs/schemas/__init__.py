"""Wire types of rows, numbers and saved views."""

"""Model requests and chunks in the words of each API."""

"""Writes and reads imports and traces (`external`)."""

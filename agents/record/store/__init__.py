"""Writes and reads the record."""

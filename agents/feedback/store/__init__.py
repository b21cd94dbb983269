"""Writes and reads feedback."""

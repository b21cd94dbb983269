"""Writes and reads models that were registered."""

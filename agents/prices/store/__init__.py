"""Writes and reads prices."""

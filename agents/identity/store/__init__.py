"""Writes and reads accounts, their links and device cookies."""

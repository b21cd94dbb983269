"""Reads and writes automations and their runs."""

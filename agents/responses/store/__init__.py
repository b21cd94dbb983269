"""Reads responses and conversations from the rows of turns."""

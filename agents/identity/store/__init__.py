"""Writes and reads accounts and keys, and turns keys and tokens into actors."""

"""Relays a completion and logs it."""

"""Puts the subjects together: URLs, the socket, commands, checks, the demo."""

"""Starts responses: finds a request's session and turn, reads its input and tools, and builds its run."""

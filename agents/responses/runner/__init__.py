"""A request as a run: its place in a session, its input, its tools."""

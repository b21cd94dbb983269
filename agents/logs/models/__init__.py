"""Tables: saved views, and column segments for numbers."""

"""Pages: connect an agent, import files, see the spans of a turn."""

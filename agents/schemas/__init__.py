"""The types that cross a boundary: wire bodies, events, encoded items. No Django, no I/O."""

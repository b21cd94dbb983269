"""The dialects: pure functions from our events and values to bytes on the wire. No I/O."""

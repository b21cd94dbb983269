"""Types of the record: content, events, items, whole turns."""

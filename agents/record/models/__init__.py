"""Tables of the record."""

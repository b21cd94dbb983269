"""Wire types of imports and spans."""

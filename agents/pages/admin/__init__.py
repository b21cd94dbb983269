"""Django admin of the record."""

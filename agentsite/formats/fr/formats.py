"""See the package above."""

DECIMAL_SEPARATOR = "."

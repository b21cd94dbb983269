"""The logs page and its parts."""

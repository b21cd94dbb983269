"""Prints texts of strangers: of models, users and files."""

from __future__ import annotations


def printable(text: str) -> str:
    """Replace control characters, which must not control the terminal."""
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)

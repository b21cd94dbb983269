"""What the record registers with the subjects below it: the fields of queries."""

from __future__ import annotations

from agents.query import fields
from agents.record.catalogue import CATALOGUE


def install() -> None:
    """Let queries use the fields of the catalogue."""
    for entry in CATALOGUE.values():
        fields.add_field(entry, entry.presence)

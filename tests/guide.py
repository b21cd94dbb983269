"""The table of fields in the guide to queries: ``make docs`` writes it from the catalogue."""

from __future__ import annotations

import os
import re

import django

from agents.query.fields import FIELDS, QueryField
from tests import ROOT

PATH = ROOT / "docs" / "queries.md"
_HEAD = "| field | of | example | |\n|---|---|---|---|\n"
_TABLE = re.compile(re.escape(_HEAD) + r"(?:\|.*\n)*")


def row(field: QueryField) -> str:
    name = f"{field.name}{'.<path>' if field.keyed else ''}"
    listed = f": {', '.join(field.choices)}" if field.choices and field.name != "is" else ""  # its help has them
    return f"| `{name}` | {', '.join(field.levels)} | `{field.sample}` | {field.help}{listed} |\n"


def table() -> str:
    return _HEAD + "".join(map(row, FIELDS.values()))


def written(guide: str) -> str:
    """Put the table in the place of the one that a guide has."""
    return _TABLE.sub(lambda _: table(), guide)


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
    django.setup()  # subjects add their query fields
    PATH.write_text(written(PATH.read_text()))

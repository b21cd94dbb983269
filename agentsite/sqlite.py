"""What a SQLite file has to be told once, when it is new. All else is said by each connection (see
``settings``); this would take the writer's lock every time."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any


def lay_out(config: dict[str, Any]) -> None:
    """Make the file of a database's settings, if it is to be one and is not there yet, so that it
    gives back the pages of what is deleted. Raises sqlite3.OperationalError."""
    path = str(config["NAME"])
    if config["ENGINE"] != "django.db.backends.sqlite3" or path == ":memory:" or Path(path).exists():
        return
    with closing(sqlite3.connect(path)) as file:
        # in this order: the last one writes the first page
        for pragma in ("page_size=8192", "auto_vacuum=INCREMENTAL", "journal_mode=WAL"):
            file.execute(f"PRAGMA {pragma}")

"""How the logs join what is below them: they know which rows a query takes."""

from __future__ import annotations

from agents.logs.store.query import condition
from agents.record.store import matching


def install() -> None:
    matching.use_conditions(condition)

"""How the logs join what is below them: they know which rows a query takes, and run rules of retention."""

from __future__ import annotations

from agents.base.lazy_import import lazy_import
from agents.logs.store.query import condition
from agents.loop.background import backgrounds
from agents.record.store import matching


def install() -> None:
    matching.use_conditions(condition)
    backgrounds["retention"] = lazy_import("agents.logs.runner.background.RetentionBackground")

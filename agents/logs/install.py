"""How the logs join what is below them: they know which rows a query takes, and run rules of retention."""

from __future__ import annotations

from agents.base.lazy_import import LazyFunction
from agents.logs.store.query import condition
from agents.loop.background import backgrounds
from agents.record.store import matching


def install() -> None:
    matching.use_conditions(condition)
    backgrounds["retention"] = LazyFunction("agents.logs.runner.background.RetentionBackground")

"""Installs batches in the server: each process that runs turns runs them, too."""

from __future__ import annotations

from agents.base.lazy_import import LazyFunction
from agents.loop.background import backgrounds


def install() -> None:
    backgrounds["batches"] = LazyFunction("agents.batches.runner.background.BatchesBackground")

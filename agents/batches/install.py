"""Installs batches in the server: each process that runs turns runs them, too."""

from __future__ import annotations

from agents.base.lazy_import import lazy_import
from agents.loop.background import backgrounds


def install() -> None:
    backgrounds["batches"] = lazy_import("agents.batches.runner.background.BatchesBackground")

"""Installs automations in the server: its processes run what is due."""

from __future__ import annotations

from agents.base.lazy_import import LazyFunction
from agents.loop.background import backgrounds


def install() -> None:
    backgrounds["automations"] = LazyFunction("agents.automations.runner.background.AutomationsBackground")

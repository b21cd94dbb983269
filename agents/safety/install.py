"""How shields join the server: runs of turns and responses find them by name."""

from __future__ import annotations

from agents.base.lazy_import import lazy_import
from agents.loop.extensions import extensions as loop


def install() -> None:
    loop.make_providers["safety"] = lazy_import("agents.safety.configured_providers.make_providers")
    loop.shields = lazy_import("agents.safety.shields.shields")
    loop.list_shields = lazy_import("agents.safety.shields.names")

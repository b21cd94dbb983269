"""How shields join the server: runs of turns and responses find them by name."""

from __future__ import annotations

from agents.base.lazy_import import LazyFunction
from agents.loop.extensions import extensions as loop


def install() -> None:
    loop.make_providers["safety"] = LazyFunction("agents.safety.configured_providers.make_providers")
    loop.shields = LazyFunction("agents.safety.shields.shields")
    loop.list_shields = LazyFunction("agents.safety.shields.names")

"""How identity joins the server: providers of identity are asked about tokens that are not our keys."""

from __future__ import annotations

from agents.base.lazy_import import LazyFunction
from agents.loop.background import backgrounds


def install() -> None:
    backgrounds["identity"] = LazyFunction("agents.identity.background.IdentityBackground")

"""How identity joins the server: providers of identity are asked about tokens that are not our keys."""

from __future__ import annotations

from agents.base.later import later
from agents.loop.background import backgrounds


def install() -> None:
    backgrounds["identity"] = later("agents.identity.background.Background")

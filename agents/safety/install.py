"""How shields join the server: runs of turns and responses find them by name."""

from __future__ import annotations

from agents.base.later import later
from agents.loop.extensions import extensions as loop


def install() -> None:
    loop.equip["safety"] = later("agents.safety.equipment.equip")
    loop.shields = later("agents.safety.shields.shields")

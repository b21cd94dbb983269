"""The questions of the demo, for the scripted model: a turn of it that is forked, or asked again, goes as it went."""

from __future__ import annotations

from agents.base.subjects import is_installed
from agents.loop.inference.script import known
from agents.server.demo import REQUIRED_SUBJECTS

_ENDS_ODDLY = ("fail", "cut")


def register() -> None:
    """Let the scripted model know the demo's scenes, where the server has what they need."""
    if all(map(is_installed, REQUIRED_SUBJECTS)):
        known.learn(scripts)


def scripts() -> dict[str, str]:
    """The scripts of scenes by their questions, without those that fail: another model may do better."""
    from agents.server.demo.concierge import CONCIERGE
    from agents.server.demo.scenes import ROLES

    scenes = [scene for role in (*ROLES, CONCIERGE) for session in role.sessions.values() for scene in session]
    return {scene.content: scene.lines for scene in scenes if not scene.stop and not _fails(scene.lines)}


def _fails(script: str) -> bool:
    return any(line.split(" ")[0] in _ENDS_ODDLY for line in script.splitlines())

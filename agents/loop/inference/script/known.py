"""Questions that the scripted model knows a script for: those of the demo, so that its turns can be run again."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import cache

from agents.loop.inference.script import language
from agents.loop.inference.script.actions import CallTool, ScriptAction

Scripts = Callable[[], Mapping[str, str]]

_sources: list[Scripts] = []


def learn(scripts: Scripts) -> None:
    """Let the scripted model know these scripts by their questions; they are asked for when it is first asked."""
    if scripts not in _sources:
        _sources.append(scripts)
        _known.cache_clear()


def rounds(question: str, tools: Collection[str]) -> list[list[ScriptAction]] | None:
    """Return the rounds of the script for a question, if it calls no other tools than these."""
    script = _known().get(question.strip())
    if script is None:
        return None
    parsed = language.parse(f"{language.MARK}\n{script}")
    called = {action.tool_name for part in parsed for action in part if isinstance(action, CallTool)}
    return parsed if called <= set(tools) else None


@cache
def _known() -> dict[str, str]:
    return {question.strip(): script for scripts in _sources for question, script in scripts().items()}

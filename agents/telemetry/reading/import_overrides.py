"""The agent and the session that an importer chooses for a file, in place of those in the file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from agents.telemetry.reading.coerce import text
from agents.telemetry.reading.records import ExternalTurn
from agents.telemetry.reading.sanitize import MAX_NAME_CHARS
from agents.telemetry.reading.spans import Span

AGENT_ATTRIBUTE, SESSION_ATTRIBUTE = "import.agent", "import.session"
"""Attributes of a span's resource."""


def with_overrides(spans: Iterable[Span], agent: str = "", session: str = "") -> list[Span]:
    """Return the same spans, marked with this agent and session; '' changes nothing."""
    overrides = {name: value for name, value in ((AGENT_ATTRIBUTE, agent), (SESSION_ATTRIBUTE, session)) if value}
    if not overrides:
        return list(spans)
    return [replace(span, resource={**span.resource, **overrides}) for span in spans]


def apply_overrides(turn: ExternalTurn, traces: Mapping[str, Mapping[str, Span]]) -> ExternalTurn:
    """Return the turn with the agent and session that its spans are marked with."""
    resources = [span.resource for name in turn.traces for span in traces.get(name, {}).values()]
    agent, session = (_override(resources, name) for name in (AGENT_ATTRIBUTE, SESSION_ATTRIBUTE))
    if session:
        turn = replace(turn, session=session, session_name="")
    if agent and agent != turn.agent:
        others = (name for name in turn.agents if name != turn.agent)
        steps = (replace(step, agent=agent) if step.agent == turn.agent else step for step in turn.steps)
        turn = replace(turn, agents=tuple(dict.fromkeys((agent, *others))), steps=tuple(steps), agent=agent)
    return turn


def _override(resources: Iterable[Mapping[str, object]], name: str) -> str:
    return max((text(resource[name])[:MAX_NAME_CHARS] for resource in resources if name in resource), default="")

"""The agent and the session that whoever imports a file says it is of, in place of what it says itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from agents.telemetry.reading.coerce import text
from agents.telemetry.reading.records import ExternalTurn
from agents.telemetry.reading.sanitize import MAX_NAME_CHARS
from agents.telemetry.reading.spans import Span

AGENT_ATTRIBUTE, SESSION_ATTRIBUTE = "import.agent", "import.session"
"""Of a span's resource."""


def with_overrides(spans: Iterable[Span], agent: str = "", session: str = "") -> list[Span]:
    """The same spans, of this agent and session; '' leaves what they say."""
    more = {name: value for name, value in ((AGENT_ATTRIBUTE, agent), (SESSION_ATTRIBUTE, session)) if value}
    if not more:
        return list(spans)
    return [replace(span, resource={**span.resource, **more}) for span in spans]


def apply_overrides(turn: ExternalTurn, traces: Mapping[str, Mapping[str, Span]]) -> ExternalTurn:
    """The turn under the names that its spans were given."""
    resources = [span.resource for name in turn.traces for span in traces.get(name, {}).values()]
    agent, session = (_said(resources, name) for name in (AGENT_ATTRIBUTE, SESSION_ATTRIBUTE))
    if session:
        turn = replace(turn, session=session, session_name="")
    if agent and agent != turn.agent:
        others = (name for name in turn.agents if name != turn.agent)
        steps = (replace(step, agent=agent) if step.agent == turn.agent else step for step in turn.steps)
        turn = replace(turn, agents=tuple(dict.fromkeys((agent, *others))), steps=tuple(steps), agent=agent)
    return turn


def _said(resources: Iterable[Mapping[str, object]], name: str) -> str:
    return max((text(one[name])[:MAX_NAME_CHARS] for one in resources if name in one), default="")

"""The agent and the session that whoever imports a file says it is of, in place of what it says itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from agents.telemetry.reading.coerce import text
from agents.telemetry.reading.records import ForeignTurn
from agents.telemetry.reading.sanitize import NAME
from agents.telemetry.reading.spans import Span

AGENT, SESSION = "import.agent", "import.session"
"""Of a span's resource."""


def named(spans: Iterable[Span], agent: str = "", session: str = "") -> list[Span]:
    """The same spans, of this agent and session; '' leaves what they say."""
    more = {name: value for name, value in ((AGENT, agent), (SESSION, session)) if value}
    if not more:
        return list(spans)
    return [replace(span, resource={**span.resource, **more}) for span in spans]


def renamed(turn: ForeignTurn, traces: Mapping[str, Mapping[str, Span]]) -> ForeignTurn:
    """The turn under the names that its spans were given."""
    resources = [span.resource for name in turn.traces for span in traces.get(name, {}).values()]
    agent, session = (_said(resources, name) for name in (AGENT, SESSION))
    if session:
        turn = replace(turn, session=session, session_name="")
    if agent and agent != turn.agent:
        others = (name for name in turn.agents if name != turn.agent)
        steps = (replace(step, agent=agent) if step.agent == turn.agent else step for step in turn.steps)
        turn = replace(turn, agents=tuple(dict.fromkeys((agent, *others))), steps=tuple(steps), agent=agent)
    return turn


def _said(resources: Iterable[Mapping[str, object]], name: str) -> str:
    return max((text(one[name])[:NAME] for one in resources if name in one), default="")

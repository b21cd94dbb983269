"""What a socket carries for a page: the very fragments the page was rendered with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from agents import ids
from agents.access import Actor
from agents.query.tree import Query
from agents.schemas.logs import TurnRow
from agents.schemas.turns import TurnValue
from agents.store import logs, values
from agents.ui import fragments


@dataclass(frozen=True, slots=True)
class Form:
    """How a list is told: of what its rows are, and whether as HTML."""

    level: str
    html: bool


def rows(turns: Sequence[TurnRow], form: Form, query: Query) -> list[dict[str, Any]]:
    """A list's rows as data, or as HTML with what the query searches for marked."""
    if form.html:
        return [{"html": html} for html in fragments.list_rows(form.level, turns, query)]
    return [{"row": msgspec.Raw(turn.model_dump_json().encode())} for turn in turns]


def turn_events(actor: Actor, key: int, events: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """A turn's events with the fragments they change: a step's card, the turn's facts."""
    if all(event["type"] == "delta" for event in events):
        return list(events)
    turn = values.turn(actor, key)
    found = logs.turn_rows(actor, [key])
    if not found:
        return []  # deleted in this moment; the subscription ends by itself
    steps = {ids.public(ids.Kind.STEP, step.key): step for step in turn.steps}
    out = []
    for event in events:
        if event["type"].startswith("step."):
            step = steps[event["step"]]
            html = fragments.step_card(turn, step, found[0].agent_name)
            event = {"type": event["type"], "step": event["step"], "number": step.number, "html": html}
        elif event["type"].startswith("turn."):
            if event["type"] == "turn.resumed":
                out += _leg(actor, turn)
            event = {"type": event["type"], "html": fragments.turn_facts(turn, found[0])}
        out.append(event)
    return out


def _leg(actor: Actor, turn: TurnValue) -> list[dict[str, Any]]:
    """Where a response begins that continues a turn: it stands among the steps, before its first."""
    begun = fragments.turn_leg(actor, turn)
    if begun is None:
        return []
    leg, html = begun
    return [{"type": "step.leg", "step": f"leg-{leg.number}", "number": leg.record.first_step - 0.5, "html": html}]

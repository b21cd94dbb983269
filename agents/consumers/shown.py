"""What a socket carries for a page: the very fragments the page was rendered with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from agents import ids
from agents.access import Actor
from agents.query.tree import Query
from agents.schemas.logs import TurnRow
from agents.store import logs, values
from agents.ui import fragments


def row(turn: TurnRow, html: bool, query: Query) -> dict[str, Any]:
    """A list's row as data, or as HTML with what the query searches for marked."""
    if html:
        return {"html": fragments.turn_row(turn, query)}
    return {"row": msgspec.Raw(turn.model_dump_json().encode())}


def turn_events(actor: Actor, key: int, events: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """A turn's events with the fragments they change: a step's card, the turn's facts."""
    if all(event["type"] == "delta" for event in events):
        return list(events)
    turn = values.turn(actor, key)
    rows = logs.turn_rows(actor, [key])
    if not rows:
        return []  # deleted in this moment; the subscription ends by itself
    steps = {ids.public(ids.Kind.STEP, step.key): step for step in turn.steps}
    out = []
    for event in events:
        if event["type"].startswith("step."):
            step = steps[event["step"]]
            html = fragments.step_card(turn, step, rows[0].agent_name)
            event = {"type": event["type"], "step": event["step"], "number": step.number, "html": html}
        elif event["type"].startswith("turn."):
            event = {"type": event["type"], "html": fragments.turn_facts(turn, rows[0])}
        out.append(event)
    return out

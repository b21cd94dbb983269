"""Renders the HTML fragments that sockets send: the same templates that pages are rendered with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from django.utils import translation

from agents.base import ids
from agents.base.access import Actor
from agents.logs.pages.turn_summary import PAGE_STEPS
from agents.logs.store import turn_log
from agents.pages import called_turns, fragments, speakers, turn_page_data
from agents.pages.fragments import CardContext
from agents.pages.recovery import Recovery, takeover_name
from agents.record.schemas.turns import StepSnapshot, TurnSnapshot
from agents.record.store import read_turns, step_pages
from agents.record.store.recovery import recovery_events


def turn_events(actor: Actor, key: int, events: Sequence[dict[str, Any]], language: str = "") -> list[dict[str, Any]]:
    """Return a turn's events with the fragments they change: a step's card, the turn's summary."""
    with translation.override(language or None):
        return _turn_events(actor, key, events)


def _turn_events(actor: Actor, key: int, events: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    if all(event["type"] == "delta" for event in events):
        return list(events)
    turn = read_turns.head(actor, key)
    turn_rows = turn_log.turn_rows(actor, [key])
    if not turn_rows:
        return []  # deleted meanwhile; the subscription ends by itself
    recovery = Recovery(recovery_events(key))
    marks = turn_page_data.landmarks(turn_rows[0], recovery)
    turn = replace(turn, steps=_steps(key, marks.total, events))
    steps = {ids.public(ids.Kind.STEP, step.key): step for step in turn.steps}
    calls = called_turns.tree_of(actor, turn_rows[0])
    agents = speakers.of_turn(turn_rows[0])
    repeating = speakers.repeating(turn.steps, agents.of)
    rendered = []
    for event in events:
        if event["type"].startswith("step."):
            step = steps[event["step"]]
            context = CardContext(agents.of(step), speaks_again=step.key in repeating, recovery=recovery, calls=calls)
            html = fragments.step_card(turn, step, context)
            event = {"type": event["type"], "step": event["step"], "number": step.number, "html": html}
        elif event["type"].startswith("turn."):
            if event["type"] == "turn.resumed":
                rendered += _response_head(actor, turn)
            elif event["type"] == "turn.taken_over":
                rendered += _takeover(event["seq"], turn, recovery)
            event = {"type": event["type"], "html": fragments.turn_facts(turn, turn_rows[0], marks, calls)}
        rendered.append(event)
    return rendered


def _steps(turn: int, total: int, events: Sequence[dict[str, Any]]) -> tuple[StepSnapshot, ...]:
    """Return the steps that the events are about, and the last steps of their turn."""
    last = step_pages.steps(turn, max(total - PAGE_STEPS, 0), PAGE_STEPS)
    recent = {step.key for step in last}
    named = {ids.parse(ids.Kind.STEP, event["step"]) for event in events if event["type"].startswith("step.")}
    return (*step_pages.steps_by_key(turn, {key for key in named if key is not None and key not in recent}), *last)


def _response_head(actor: Actor, turn: TurnSnapshot) -> list[dict[str, Any]]:
    """Return the heading of the response that continues a turn: it stands among the steps, before its first."""
    head = fragments.last_response_head(actor, turn)
    if head is None:
        return []
    response, html = head
    return [
        {"type": "step.leg", "step": f"leg-{response.number}", "number": response.record.first_step - 0.5, "html": html}
    ]


def _takeover(seq: int, turn: TurnSnapshot, recovery: Recovery) -> list[dict[str, Any]]:
    """Return the line that says where a turn was taken over: it stands among the steps."""
    return [
        {"type": "step.takeover", "step": line.name, "number": line.number, "html": fragments.takeover_line(line)}
        for line in recovery.lines(turn.steps)
        if line.name == takeover_name(seq)
    ]

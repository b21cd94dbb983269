"""Fragments of pages, rendered for the first load, for a filter's result, and for a live arrival."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from django.template.loader import get_template
from django.utils.translation import gettext as _

from agents import ids
from agents.query.tree import Query
from agents.schemas.logs import TurnRow
from agents.schemas.turns import StepValue, TurnValue
from agents.store import agents
from agents.store.sessions import SessionRecord
from agents.store.turns import TurnPlace
from agents.ui import blocks, details, facts, format, highlight, steps, strip, timeline
from agents.ui.blocks import Value
from agents.ui.details import Message
from agents.ui.highlight import Phrase, Searched
from agents.ui.marks import TYPE_WORDS
from agents.ui.steps import Typing

_LONGEST = 300
"""Characters of an error in a row: the turn's page has all of it."""


def turn_row(row: TurnRow, query: Query | None = None) -> str:
    """The ``<tr>`` of a turn in a list, with what ``query`` searches for marked."""
    turn_id, searched = ids.public(ids.Kind.TURN, row.id), highlight.searched(query)
    running = row.status in ("queued", "in_progress")
    elapsed_ms = _elapsed_ms(row, running)
    last, phrases = _last_words(row, searched)
    return _render(
        "turn_row.html",
        row=row,
        id=turn_id,
        url=f"/turns/{turn_id}/",
        first=highlight.pieces(row.input_preview, searched.asked),
        last=highlight.pieces(last, phrases),
        strip=strip.strip(row, elapsed_ms),
        running=running,
        elapsed_ms=elapsed_ms,
    )


def _elapsed_ms(row: TurnRow, running: bool) -> float:
    """How long a turn has been going, or took."""
    if running:
        return max((ids.now_us() - row.started_at) / 1000, 0.0)
    return row.duration_ms or 0.0


def _last_words(row: TurnRow, searched: Searched) -> tuple[str, tuple[Phrase, ...]]:
    """What was said last, and what of it to mark; of a turn that went wrong its error."""
    if row.error is not None:
        return row.error.message[:_LONGEST] or row.error.type, searched.error
    return format.plain(row.output_preview), searched.answered


def _render(template: str, **values: Any) -> str:
    return get_template(template, using="rows").render(values)


def step_card(
    turn: TurnValue, step: StepValue, agent_name: str, *, typing: Typing | None = None, rendered: bool = True
) -> str:
    """A step of a turn in the reader; a turn without an agent speaks by the name of its model."""
    speaker = agent_name or turn.model
    tools = partial(agents.client_tools_of, turn.key)
    card = steps.card(turn, step, speaker, typing=typing, rendered=rendered, client_tools=tools)
    return _render("step_card.html", card=card)


def turn_message(message: Message, number: int, url: str) -> str:
    """A message a turn was started with; ``url`` leads to its whole text."""
    words, context = details.words(message.content), details.words(message.context)
    return _render(
        "turn_message.html",
        role=message.role,
        speaker=_("tool") if message.role == "tool" else _("user"),
        blocks=[
            *([blocks.typed(Value(f"input-{number}", words))] if words else []),
            *blocks.pictures(message.content),
        ],
        context=blocks.typed(Value(f"context-{number}", context)) if context else None,
        source=url,
    )


def turn_facts(turn: TurnValue, row: TurnRow) -> str:
    """The line of facts in the head of a turn's page."""
    return _render("turn_facts.html", row=row, facts=facts.facts(turn, row))


def turn_timeline(turn: TurnValue, shown: Sequence[StepValue], *, wide: bool) -> str:
    """The steps to scale, by themselves."""
    return _render("timeline.html", **_timeline(turn, shown), wide=wide)


def turn_side(turn: TurnValue, row: TurnRow, place: TurnPlace, shown: Sequence[StepValue] | None) -> str:
    """The column beside the reader: steps to scale (unless ``shown`` is None), tokens, record."""
    return _render(
        "turn_side.html",
        row=row,
        running=row.status in facts.LIVE,
        turn_id=ids.public(ids.Kind.TURN, turn.key),
        session_id=ids.public(ids.Kind.SESSION, turn.session),
        agent_id=ids.public(ids.Kind.AGENT, place.agent) if place.agent else "",
        events=turn.next_seq,
        legs=place.leg_count,
        revision_at=ids.key_time_us(place.revision) if place.revision else None,
        with_timeline=shown is not None,
        wide=False,
        **(_timeline(turn, shown) if shown is not None else {}),
    )


def _timeline(turn: TurnValue, shown: Sequence[StepValue]) -> dict[str, Any]:
    drawn = timeline.timeline(turn, ids.now_us(), shown)
    bars = [(bar, facts.step_url(turn, bar.number)) for bar in drawn.bars]
    return {"bars": bars, "ticks": drawn.ticks, "breaks": drawn.breaks}


NAMED_STEPS = 8
"""Steps named in the folded line of a turn in its session's thread."""


def session_turn(turn: TurnValue, row: TurnRow) -> str:
    """A turn in the thread of its session: what was asked, how many steps it took, the answer."""
    answer = details.message(turn.output_message)
    words = details.words(answer.content) if answer else ""
    names = [step.name if step.type == "tool_execution" else _(TYPE_WORDS[step.type]) for step in turn.steps]
    asked = [blocks.typed(Value(f"input-{n}", details.words(one.content))) for n, one in _asked(turn)]
    return _render(
        "session_turn.html",
        row=row,
        id=ids.public(ids.Kind.TURN, turn.key),
        url=facts.turn_url(turn),
        asked=[block for block in asked if block.html],
        speaker=row.agent_name or row.model,
        answer=blocks.said(Value("answer", words, said=True)) if words else None,
        count=len(names),
        names=", ".join(names[:NAMED_STEPS]) + (", …" if len(names) > NAMED_STEPS else ""),
        facts=facts.facts(turn, row),
    )


def _asked(turn: TurnValue) -> list[tuple[int, Message]]:
    return [pair for pair in enumerate(details.messages(turn.input_messages)) if pair[1].role != "tool"]


def session_side(session: SessionRecord, rows: Sequence[TurnRow]) -> str:
    """The column beside a session's thread: its sums, and its turns in short."""
    return _render(
        "session_side.html",
        session=session,
        session_id=session.public_id,
        cost_usd=None if session.cost_nano is None else session.cost_nano / 1e9,
        turns=[(row, ids.public(ids.Kind.TURN, row.id)) for row in reversed(rows)],
    )

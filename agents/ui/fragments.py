"""Fragments of pages, rendered for the first load, for a filter's result, and for a live arrival."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from django.template.loader import get_template
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from agents import ids
from agents.access import Actor
from agents.query.tree import Query
from agents.schemas.logs import TurnRow
from agents.schemas.turns import ItemValue, StepValue, TurnValue
from agents.store import responses
from agents.store.conversation_log import ConversationRow
from agents.store.sessions import SessionRecord
from agents.store.turns import TurnPlace
from agents.ui import blocks, details, facts, format, highlight, legs, searches, steps, strip, timeline
from agents.ui.blocks import Block, Value
from agents.ui.details import Message
from agents.ui.highlight import Phrase, Searched
from agents.ui.legs import Leg
from agents.ui.marks import TYPE_WORDS
from agents.ui.steps import Typing
from agents.wire import items

_LONGEST = 300
"""Characters of an error in a row: the turn's page has all of it."""


def list_rows(level: str, rows: Sequence[TurnRow], query: Query | None = None) -> list[str]:
    """The rows of a list of turns: as turns, or as ``responses`` with the ids of these."""
    if level != "responses":
        return [turn_row(row, query) for row in rows]
    named = responses.ids_of_turns([row.id for row in rows])
    return [turn_row(row, query, named.get(row.id, ())) for row in rows]


def turn_row(row: TurnRow, query: Query | None = None, named: Sequence[str] | None = None) -> str:
    """The ``<tr>`` of a turn in a list, with what ``query`` searches for marked. ``named`` are the ids of
    its responses, where it stands for them."""
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
        named=named,
        shown_status=row.status if named is None else _response_status(row),
    )


def _response_status(row: TurnRow) -> str:
    """A turn's status as its response has it."""
    cut = row.status == "completed" and row.stop_reason in ("out_of_tokens", "max_infer_iters")
    return "incomplete" if cut else row.status


def conversation_row(row: ConversationRow, query: Query | None = None) -> str:
    """The ``<tr>`` of a conversation in a list, with the words of its last turn."""
    searched, last = highlight.searched(query), row.last
    answered, phrases = _last_words(last, searched) if last else ("", ())
    return _render(
        "conversation_row.html",
        row=row,
        url=f"/sessions/{ids.public(ids.Kind.SESSION, row.key)}/",
        first=highlight.pieces(last.input_preview, searched.asked) if last else [],
        last=highlight.pieces(answered, phrases) if answered else [],
        tokens=row.input_tokens + row.output_tokens,
        cost_usd=None if row.cost_nano is None else row.cost_nano / 1e9,
        metadata=[(name, value) for name, value in row.metadata.items() if name != "name"][:3],
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
    return searches.unmarked(format.plain(row.output_preview)), searched.answered


def _render(template: str, **values: Any) -> str:
    return get_template(template, using="rows").render(values)


def step_card(
    turn: TurnValue, step: StepValue, agent_name: str, *, typing: Typing | None = None, rendered: bool = True
) -> str:
    """A step of a turn in the reader; a turn without an agent speaks by the name of its model."""
    speaker = agent_name or turn.model
    tools = partial(legs.client_tools, turn.key)
    card = steps.card(turn, step, speaker, typing=typing, rendered=rendered, client_tools=tools)
    return _render("step_card.html", card=card)


_SPEAKERS = {
    "user": gettext_noop("user"),
    "tool": gettext_noop("tool"),
    "system": gettext_noop("system"),
    "developer": gettext_noop("developer"),
    "assistant": gettext_noop("assistant"),
}


def turn_message(message: Message, name: str, url: str, role: str = "") -> str:
    """A message a turn, or a later leg of it, was started with. ``url`` leads to its whole text, of which
    ``name`` is the part; ``role`` is the speaker where the message does not tell."""
    words, context = details.words(message.content), details.words(message.context)
    said = role or message.role
    return _render(
        "turn_message.html",
        role=said,
        speaker=_(_SPEAKERS.get(said, said)),
        blocks=[
            *([blocks.typed(Value(f"input-{name}", words))] if words else []),
            *blocks.pictures(message.content),
            *(legs.call_block(call, number) for number, call in enumerate(message.tool_calls)),
        ],
        context=blocks.typed(Value(f"context-{name}", context)) if context else None,
        source=url,
    )


def leg_head(turn: TurnValue, leg: Leg, given: Sequence[ItemValue]) -> str:
    """Where a later response of a turn begins, with what it brought along beside answers to calls."""
    url = f"{facts.turn_url(turn)}value/"
    said = enumerate(legs.said_later(given))
    messages = [turn_message(message, f"{leg.number}-{place}", url) for place, message in said]
    return _render("leg_head.html", leg=leg, messages=messages)


def turn_leg(actor: Actor, turn: TurnValue) -> tuple[Leg, str] | None:
    """The last response of a turn that several are made of, and where it begins; None where none is."""
    answered = legs.of_turn(actor, turn.key)
    if not answered or answered[-1].number == 1:
        return None
    return answered[-1], leg_head(turn, answered[-1], legs.inputs([answered[-1].record])[answered[-1].record.key])


def turn_facts(turn: TurnValue, row: TurnRow) -> str:
    """The line of facts in the head of a turn's page."""
    return _render("turn_facts.html", row=row, facts=facts.facts(turn, row))


def turn_timeline(turn: TurnValue, shown: Sequence[StepValue], *, wide: bool) -> str:
    """The steps to scale, by themselves."""
    return _render("timeline.html", **_timeline(turn, shown), wide=wide)


def turn_side(
    turn: TurnValue,
    row: TurnRow,
    place: TurnPlace,
    shown: Sequence[StepValue] | None,
    answered: Sequence[Leg] = (),
) -> str:
    """The column beside the reader: steps to scale (unless ``shown`` is None), the responses, tokens,
    record."""
    return _render(
        "turn_side.html",
        row=row,
        running=row.status in facts.LIVE,
        turn_id=ids.public(ids.Kind.TURN, turn.key),
        session_id=ids.public(ids.Kind.SESSION, turn.session),
        agent_id=ids.public(ids.Kind.AGENT, place.agent) if place.agent else "",
        events=turn.next_seq,
        legs=place.leg_count,
        responses=answered,
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


def session_turn(turn: TurnValue, row: TurnRow, branches_from: int | None = None) -> str:
    """A turn in the thread of its session: what was asked, how many steps it took, the answer.
    ``branches_from`` is the turn it continues where that is not the one before it."""
    answer = details.message(turn.output_message)
    words, cited = searches.cited(details.words(answer.content) if answer else "", turn.steps)
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
        sources=cited,
        count=len(names),
        names=", ".join(names[:NAMED_STEPS]) + (", …" if len(names) > NAMED_STEPS else ""),
        facts=facts.facts(turn, row),
        branches_from="" if branches_from is None else ids.public(ids.Kind.TURN, branches_from),
    )


def loose_items(conversation_id: str, value: ItemValue) -> list[str]:
    """What was put into a session by hand, in its thread."""
    return [_loose_item(conversation_id, item) for item in items.of_row(value)]


def _loose_item(conversation_id: str, item: dict[str, Any]) -> str:
    speaker = item.get("role") or ("tool" if item["type"] == "function_call_output" else item["type"])
    return _render(
        "loose_item.html",
        id=item["id"],
        speaker=_(_SPEAKERS.get(speaker, speaker)),
        blocks=list(_item_blocks(item)),
        source=f"/conversations/{conversation_id}/items/{item['id']}.json",
    )


def _item_blocks(item: dict[str, Any]) -> Iterator[Block]:
    """An item's words and pictures; of one that is no message all that it is."""
    match item:
        case {"type": "message"}:
            message = legs.message_of(item)
            yield blocks.typed(Value("item", details.words(message.content)))
            yield from blocks.pictures(message.content)
        case {"type": "function_call_output", "output": str(output)}:
            yield blocks.data(Value("item", output))
        case {"type": "function_call", "arguments": str(arguments)}:
            yield blocks.data(Value("item", arguments), label=str(item["name"]))
        case _:
            yield blocks.data(Value("item", details.encoded(item)))


def _asked(turn: TurnValue) -> list[tuple[int, Message]]:
    return [pair for pair in enumerate(details.messages(turn.input_messages)) if pair[1].role != "tool"]


def session_side(session: SessionRecord, rows: Sequence[TurnRow], metadata: Mapping[str, Any]) -> str:
    """The column beside a session's thread: its sums and metadata, and its turns in short."""
    return _render(
        "session_side.html",
        session=session,
        session_id=session.public_id,
        conversation_id=ids.openai(ids.Kind.SESSION, session.key),
        metadata=[(name, str(value)) for name, value in metadata.items()],
        cost_usd=None if session.cost_nano is None else session.cost_nano / 1e9,
        turns=[(row, ids.public(ids.Kind.TURN, row.id)) for row in reversed(rows)],
    )

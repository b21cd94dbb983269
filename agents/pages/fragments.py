"""Fragments of pages, rendered for the first load, for a filter's result, and for a live arrival."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from agents.base import ids
from agents.base.access import Actor
from agents.logs.pages import turn_summary
from agents.logs.schemas.rows import TurnRow
from agents.logs.store import adjacent_turns
from agents.logs.store.adjacent_turns import DurationRank
from agents.pages import (
    blocks,
    citations,
    external_steps,
    step_cards,
    step_details,
    timeline,
    timeline_overview,
    turn_page_data,
    turn_responses,
)
from agents.pages.blocks import Block, Value
from agents.pages.page_hooks import places
from agents.pages.step_cards import Typing
from agents.pages.step_details import Message
from agents.pages.timeline import Timeline
from agents.pages.timeline_overview import Overview
from agents.pages.turn_page_data import Page
from agents.pages.turn_responses import Leg
from agents.record.schemas.turns import ItemSnapshot, StepSnapshot, TurnSnapshot
from agents.record.store import step_pages
from agents.record.store.sessions import SessionRecord
from agents.record.store.step_pages import Landmarks
from agents.record.store.targets import RecordTarget
from agents.responses.wire import items
from agents.uikit.elements import STEP_TYPE_LABELS
from agents.uikit.templates import fragment

OVERVIEW_FROM = 30
"""Steps from which on a turn is also shown in little."""


def step_card(
    turn: TurnSnapshot,
    step: StepSnapshot,
    agent_name: str,
    *,
    typing: Typing | None = None,
    rendered: bool = True,
    said: str = "",
    depth: int = 0,
) -> str:
    """A step of a turn in the reader; a turn without an agent speaks by the name of its model. ``said`` is
    the control of its feedback, where something was said of it, ``depth`` how deep it is nested."""
    speaker = agent_name or turn.model
    tools = partial(turn_responses.client_tools, turn.key)
    card = step_cards.card(turn, step, speaker, typing=typing, rendered=rendered, client_tools=tools, depth=depth)
    said = said or places.unsaid_of_step(turn.session, turn.key, step.key)
    return fragment("pages/_step.html", card=card, judged=said)


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
    words, context = step_details.words(message.content), step_details.words(message.context)
    said = role or message.role
    return fragment(
        "pages/_turn_message.html",
        role=said,
        speaker=_(_SPEAKERS.get(said, said)),
        blocks=[
            *([blocks.typed(Value(f"input-{name}", words))] if words else []),
            *blocks.pictures(message.content),
            *(turn_responses.call_block(call, number) for number, call in enumerate(message.tool_calls)),
        ],
        context=blocks.typed(Value(f"context-{name}", context)) if context else None,
        source=url,
    )


def hidden_message() -> str:
    """In the place of what a turn was started with, where its sender did not tell."""
    said = Value("hidden", external_steps.not_captured())
    values = {"role": "hidden", "speaker": _("user"), "blocks": [blocks.typed(said)], "context": None, "source": ""}
    return fragment("pages/_turn_message.html", **values)


def turn_answer(message: Message, url: str, agent_name: str) -> str:
    """What a turn answered, by itself."""
    said = blocks.said(Value("answer", step_details.words(message.content), said=True))
    values = {"role": "assistant", "speaker": agent_name, "blocks": [said], "context": None, "source": url}
    return fragment("pages/_turn_message.html", **values)


def leg_head(turn: TurnSnapshot, leg: Leg, given: Sequence[ItemSnapshot]) -> str:
    """Where a later response of a turn begins, with what it brought along beside answers to calls."""
    url = f"{turn_summary.turn_url(turn)}value/"
    said = enumerate(turn_responses.said_later(given))
    messages = [turn_message(message, f"{leg.number}-{place}", url) for place, message in said]
    return fragment("pages/_response_head.html", leg=leg, messages=messages)


def turn_leg(actor: Actor, turn: TurnSnapshot) -> tuple[Leg, str] | None:
    """The last response of a turn that several are made of, and where it begins; None where none is."""
    answered = turn_responses.of_turn(actor, turn.key)
    if not answered or answered[-1].number == 1:
        return None
    return answered[-1], leg_head(
        turn, answered[-1], turn_responses.inputs([answered[-1].record])[answered[-1].record.key]
    )


def turn_facts(turn: TurnSnapshot, row: TurnRow, marks: Landmarks | None = None) -> str:
    """The line of facts in the head of a turn's page."""
    return fragment("pages/_turn_facts.html", row=row, facts=turn_summary.summary(turn, row, marks))


def turn_timeline(page: Page) -> str:
    """The steps to scale, by themselves, with the whole of a long turn in little above them."""
    return fragment("pages/_timeline.html", **_timeline(page), overview=_overview(page), paging=paging(page), wide=True)


def _overview(page: Page) -> Overview | None:
    if page.asked.span is None and page.marks.total <= OVERVIEW_FROM:
        return None
    start, length = page.turn.started_at, turn_page_data.length_us(page)
    buckets = step_pages.overview(page.turn.key, (start, start + length), timeline_overview.BUCKETS)
    drawn = page.asked.span or ((0, length) if page.is_whole else _drawn(page).span)
    return timeline_overview.overview(buckets, length, drawn, zoomed=page.asked.span is not None)


def paging(page: Page) -> dict[str, Any]:
    """Which steps are shown, and the query strings of the pages before and behind."""
    first, last = (page.shown[0].number, page.shown[-1].number) if page.shown else (page.start, page.start)
    full = len(page.shown) == turn_summary.PAGE_STEPS
    more = full and (page.total > len(page.shown) if page.asked.span else last + 1 < page.marks.total)
    before = max(page.start - turn_summary.PAGE_STEPS, 0) if page.asked.span is None else 0
    return {
        "earlier": page.query(before) if page.start else "",
        "later": page.query(last + 1) if more else "",
        "first_step": first + 1,
        "last_step": last + 1,
        "step_total": page.marks.total,
        "in_span": page.total if page.asked.span else None,
    }


def turn_side(page: Page) -> str:
    """The column beside the reader: steps to scale (unless they are in the middle), the responses, tokens,
    record."""
    turn, row, place, with_timeline = page.turn, page.row, page.place, page.asked.view == "reader"
    return fragment(
        "pages/_turn_side.html",
        row=row,
        running=row.status in turn_summary.LIVE,
        turn_id=ids.public(ids.Kind.TURN, turn.key),
        session_id=ids.public(ids.Kind.SESSION, turn.session),
        agent_id=ids.public(ids.Kind.AGENT, place.agent) if place.agent else "",
        events=turn.next_seq,
        legs=place.response_count,
        responses=page.answered,
        revision_at=ids.key_time_us(place.revision) if place.revision else None,
        rank=_rank(page),
        documents=step_details.documents(place.request),
        judged=places.said_of(page.actor, RecordTarget(turn.session, turn.key)),
        about=page.about,
        with_timeline=with_timeline,
        wide=False,
        **({**_timeline(page), "overview": None, "paging": paging(page)} if with_timeline else {}),
    )


def _rank(page: Page) -> DurationRank | None:
    """How a completed turn's duration stands among those of its agent."""
    if page.row.duration_ms is None or page.place.agent is None or page.row.status != "completed":
        return None
    return adjacent_turns.rank(page.actor, page.place.agent, round(page.row.duration_ms * 1000))


def _timeline(page: Page) -> dict[str, Any]:
    drawn = _drawn(page)
    bars = [(bar, turn_summary.step_url(page.turn, bar.number)) for bar in drawn.bars]
    return {"bars": bars, "ticks": drawn.ticks, "breaks": drawn.breaks}


def _drawn(page: Page) -> Timeline:
    depths = step_pages.depths(page.shown)
    return timeline.timeline(page.turn, ids.now_us(), span=page.asked.span, depths=depths)


NAMED_STEPS = 8
"""Steps named in the folded line of a turn in its session's thread."""


def session_turn(turn: TurnSnapshot, row: TurnRow, branches_from: int | None = None, kept: str = "") -> str:
    """A turn in the thread of its session: what was asked, how many steps it took, the answer.
    ``branches_from`` is the turn it continues where that is not the one before it, ``kept`` the query string
    with which its page is opened."""
    answer = step_details.message(turn.output_message)
    words, cited = citations.cited(step_details.words(answer.content) if answer else "", turn.steps)
    done = Counter(name for step in turn.steps if (name := _done(step)))
    names = [f"{name} ×{count}" if count > 1 else name for name, count in done.items()]
    asked = [blocks.typed(Value(f"input-{n}", step_details.words(one.content))) for n, one in _asked(turn)]
    return fragment(
        "pages/_session_turn.html",
        row=row,
        id=ids.public(ids.Kind.TURN, turn.key),
        url=turn_summary.turn_url(turn),
        asked=[block for block in asked if block.html],
        speaker=row.agent_name or row.model,
        answer=blocks.said(Value("answer", words, said=True)) if words else None,
        sources=cited,
        kept=kept,
        count=len(turn.steps),
        names=", ".join(names[:NAMED_STEPS]) + (", …" if len(names) > NAMED_STEPS else ""),
        facts=turn_summary.summary(turn, row),
        branches_from="" if branches_from is None else ids.public(ids.Kind.TURN, branches_from),
    )


def _done(step: StepSnapshot) -> str:
    """What a step was, in the folded line of its turn; '' where it only held others together."""
    kind = external_steps.kind_of(step)
    if step.type == "tool_execution":
        return step.name
    if kind in external_steps.FRAMES:
        return ""
    return external_steps.kind_word(kind) if kind in external_steps.KINDS else _(STEP_TYPE_LABELS[step.type])


def loose_items(conversation_id: str, value: ItemSnapshot) -> list[str]:
    """What was put into a session by hand, in its thread."""
    return [_loose_item(conversation_id, item) for item in items.of_row(value)]


def _loose_item(conversation_id: str, item: dict[str, Any]) -> str:
    speaker = item.get("role") or ("tool" if item["type"] == "function_call_output" else item["type"])
    return fragment(
        "pages/_session_item.html",
        id=item["id"],
        speaker=_(_SPEAKERS.get(speaker, speaker)),
        blocks=list(_item_blocks(item)),
        source=f"/conversations/{conversation_id}/items/{item['id']}.json",
    )


def _item_blocks(item: dict[str, Any]) -> Iterator[Block]:
    """An item's words and pictures; of one that is no message all that it is."""
    match item:
        case {"type": "message"}:
            message = turn_responses.message_of(item)
            yield blocks.typed(Value("item", step_details.words(message.content)))
            yield from blocks.pictures(message.content)
        case {"type": "function_call_output", "output": str(output)}:
            yield blocks.data(Value("item", output))
        case {"type": "function_call", "arguments": str(arguments)}:
            yield blocks.data(Value("item", arguments), label=str(item["name"]))
        case _:
            yield blocks.data(Value("item", step_details.encoded(item)))


def _asked(turn: TurnSnapshot) -> list[tuple[int, Message]]:
    return [pair for pair in enumerate(step_details.messages(turn.input_messages)) if pair[1].role != "tool"]


def session_side(actor: Actor, session: SessionRecord, rows: Sequence[TurnRow], metadata: Mapping[str, Any]) -> str:
    """The column beside a session's thread: its sums and metadata, its turns in short, what is said of it."""
    return fragment(
        "pages/_session_side.html",
        judged=places.said_of(actor, RecordTarget(session.key)),
        session=session,
        session_id=session.public_id,
        conversation_id=ids.openai(ids.Kind.SESSION, session.key),
        metadata=[(name, str(value)) for name, value in metadata.items()],
        cost_usd=None if session.cost_nano is None else session.cost_nano / 1e9,
        turns=[(row, ids.public(ids.Kind.TURN, row.id)) for row in reversed(rows)],
    )

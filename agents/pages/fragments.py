"""Render fragments of pages: for the first load, for the result of a filter, and for live updates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from agents.base import ids
from agents.base.access import Actor
from agents.logs.pages import turn_summary
from agents.logs.pages.row_snippets import RowSnippet
from agents.logs.schemas.rows import TurnRow
from agents.logs.store import adjacent_turns
from agents.logs.store.adjacent_turns import DurationRank
from agents.pages import (
    blocks,
    called_turns,
    citations,
    external_steps,
    recovery,
    step_cards,
    step_details,
    step_shares,
    step_tree,
    timeline,
    timeline_overview,
    turn_page_data,
    turn_responses,
)
from agents.pages.blocks import Block, NamedText
from agents.pages.page_hooks import hooks
from agents.pages.recovery import NOTHING_LOST, Recovery, TakeoverLine
from agents.pages.step_cards import StepCard, StreamedText
from agents.pages.step_details import StoredMessage
from agents.pages.timeline import Timeline
from agents.pages.timeline_overview import TimelineOverview
from agents.pages.turn_page_data import TurnPageData
from agents.pages.turn_responses import TurnResponse
from agents.record.models.choices import BudgetTarget
from agents.record.schemas.turns import ItemSnapshot, StepSnapshot, TurnSnapshot
from agents.record.store import step_pages
from agents.record.store.call_trees import NO_CALLS, CallTree
from agents.record.store.sessions import SessionRecord
from agents.record.store.step_pages import Landmarks
from agents.record.store.targets import RecordTarget
from agents.responses.store.conversations import ConversationRecord
from agents.responses.wire import items
from agents.uikit.elements import STEP_TYPE_LABELS
from agents.uikit.links import at
from agents.uikit.templates import fragment

MIN_OVERVIEW_STEPS = 30
"""A turn with more steps also gets an overview of its timeline."""


@dataclass(frozen=True, slots=True)
class CardContext:
    """What the rest of its turn says of a step: who speaks in it, the controls of its feedback, if it has any, and
    the level of nesting. ``speaks_again``: so did the inference before. Without ``rendered`` Markdown stays as it was
    written. ``recovery`` is what became of the turn after its process was lost, ``calls`` what it has called. With
    ``unfolded`` no quiet step is a line."""

    speaker: str
    feedback_html: str = ""
    depth: int = 0
    speaks_again: bool = False
    rendered: bool = True
    recovery: Recovery = NOTHING_LOST
    calls: CallTree = NO_CALLS
    unfolded: bool = False

    def is_quiet(self, step: StepSnapshot) -> bool:
        """Whether a step is folded to a line: a shield that has let pass, and that nobody has judged."""
        return not self.unfolded and not self.feedback_html and step_cards.passed(step)


def step_card(
    turn: TurnSnapshot, step: StepSnapshot, context: CardContext, streamed: StreamedText | None = None
) -> str:
    """Render the card of a step."""
    feedback_html = context.feedback_html or hooks.empty_step_feedback(turn.session, turn.key, step.key)
    return fragment("pages/_step.html", card=card(turn, step, context, streamed), judged=feedback_html)


def card(
    turn: TurnSnapshot, step: StepSnapshot, context: CardContext, streamed: StreamedText | None = None
) -> StepCard:
    """The card of a step as its turn has it; a turn without an agent uses the name of its model as speaker.
    ``streamed`` is the text of a running inference so far."""
    name = context.speaker or turn.model
    tools = partial(turn_responses.client_tools, turn.key)
    bare = step_cards.step_card(turn, step, name, streamed=streamed, rendered=context.rendered, client_tools=tools)
    called = called_turns.below_step(step, context.calls)
    return replace(
        recovery.marked(bare, step, context.recovery, is_over=turn.status in turn_summary.FINAL),
        depth=context.depth,
        speaks_again=context.speaks_again,
        called_html=called,
        is_quiet=context.is_quiet(step),
    )


def quiet_steps(cards: Sequence[str], steps: Sequence[StepSnapshot]) -> str:
    """Render several quiet steps in a row as one line that opens."""
    took_us = sum(max((step.completed_at or 0) - step.started_at, 0) for step in steps)
    return fragment("pages/_quiet_steps.html", cards=cards, took_ms=took_us / 1000)


_SPEAKERS = {
    "user": gettext_noop("user"),
    "tool": gettext_noop("tool"),
    "system": gettext_noop("system"),
    "summary": gettext_noop("summary"),
    "developer": gettext_noop("developer"),
    "assistant": gettext_noop("assistant"),
}


def speaker(role: str) -> str:
    """The name of a role, as the reader knows it."""
    return _(_SPEAKERS.get(role, role))


def turn_message(message: StoredMessage, name: str, url: str, role: str = "") -> str:
    """Render an input message of a turn, or of a later response of it. ``url`` leads to its full text, ``name`` is
    the part there; ``role`` is the speaker if it is not the message's own role."""
    text, context = step_details.text_of(message.content), step_details.text_of(message.context)
    speaker_role = role or message.role
    return fragment(
        "pages/_turn_message.html",
        role=speaker_role,
        speaker=speaker(speaker_role),
        blocks=[
            *([blocks.asked_block(NamedText(f"input-{name}", text))] if text else []),
            *blocks.content_pictures(message.content),
            *(turn_responses.call_block(call, number) for number, call in enumerate(message.tool_calls)),
        ],
        context=blocks.plain_block(NamedText(f"context-{name}", context)) if context else None,
        source=url,
    )


def hidden_message() -> str:
    """The placeholder for the input of a turn whose sender did not capture it."""
    text = NamedText("hidden", external_steps.not_captured())
    values = {
        "role": "hidden",
        "speaker": _("user"),
        "blocks": [blocks.plain_block(text)],
        "context": None,
        "source": "",
    }
    return fragment("pages/_turn_message.html", **values)


def turn_answer(message: StoredMessage, url: str, agent_name: str) -> str:
    """The answer of a turn, apart from its steps."""
    answer = blocks.markdown_block(NamedText("answer", step_details.text_of(message.content), is_message=True))
    values = {"role": "assistant", "speaker": agent_name, "blocks": [answer], "context": None, "source": url}
    return fragment("pages/_turn_message.html", **values)


def response_head(turn: TurnSnapshot, response: TurnResponse, inputs: Sequence[ItemSnapshot]) -> str:
    """The start of a later response of a turn, with its input other than answers to calls."""
    url = f"{turn_summary.turn_url(turn)}value/"
    numbered = enumerate(turn_responses.input_messages(inputs))
    messages = [turn_message(message, f"{response.number}-{index}", url) for index, message in numbered]
    return fragment("pages/_response_head.html", response=response, messages=messages)


def takeover_line(line: TakeoverLine) -> str:
    """Where a turn was taken over."""
    return fragment("pages/_takeover.html", line=line)


def last_response_head(actor: Actor, turn: TurnSnapshot) -> tuple[TurnResponse, str] | None:
    """The last of several responses of a turn, and its head as HTML; None if the turn has only one or none."""
    responses = turn_responses.responses_of_turn(actor, turn.key)
    if not responses or responses[-1].number == 1:
        return None
    last = responses[-1]
    return last, response_head(turn, last, turn_responses.inputs([last.record])[last.record.key])


def turn_facts(turn: TurnSnapshot, row: TurnRow, marks: Landmarks | None = None, calls: CallTree = NO_CALLS) -> str:
    """The line of facts in the header of a turn's page; ``calls`` are the turns below it."""
    sums, facts = called_turns.sums(row, calls), turn_summary.summary(turn, row, marks)
    is_short = step_details.lacks_usage(turn.steps)
    return fragment("pages/_turn_facts.html", row=row, facts=facts, sums=sums, is_short=is_short)


def called_parts(page: TurnPageData) -> list[str]:
    """The turns that the steps of a page have called, for each of these steps."""
    return [called_turns.below_step(step, page.calls) for step in page.steps]


def turn_timeline(page: TurnPageData) -> str:
    """The timeline of a page's steps; above it an overview if the turn is long."""
    drawn = step_tree.drawn(page)
    values = {"bars": drawn.nodes, "ticks": drawn.timeline.ticks, "breaks": drawn.timeline.breaks}
    return fragment("pages/_timeline.html", **values, overview=_overview(page), paging=paging(page), wide=True)


def _overview(page: TurnPageData) -> TimelineOverview | None:
    if page.page_params.span is None and page.marks.total <= MIN_OVERVIEW_STEPS:
        return None
    start, length = page.turn.started_at, turn_page_data.length_us(page)
    buckets = step_pages.overview(page.turn.key, (start, start + length), timeline_overview.BUCKETS)
    drawn = page.page_params.span or ((0, length) if page.has_all_steps else _page_timeline(page).span)
    return timeline_overview.overview(buckets, length, drawn, zoomed=page.page_params.span is not None)


def paging(page: TurnPageData) -> dict[str, Any]:
    """The range of steps on the page, and the query strings of the previous and next page."""
    first, last = (page.steps[0].number, page.steps[-1].number) if page.steps else (page.start, page.start)
    full = len(page.steps) == turn_summary.PAGE_STEPS
    more = full and (page.total > len(page.steps) if page.page_params.span else last + 1 < page.marks.total)
    before = max(page.start - turn_summary.PAGE_STEPS, 0) if page.page_params.span is None else 0
    return {
        "earlier": page.query(before) if page.start else "",
        "later": page.query(last + 1) if more else "",
        "first_step": first + 1,
        "last_step": last + 1,
        "step_total": page.marks.total,
        "in_span": page.total if page.page_params.span else None,
    }


def turn_side(page: TurnPageData, chosen_html: str = "") -> str:
    """The side column of a turn's page: timeline (unless it is the main view), responses, tokens, record; above all
    the step that is chosen beside the tree."""
    turn, row, target, with_timeline = page.turn, page.row, page.target, page.page_params.view == "reader"
    return fragment(
        "pages/_turn_side.html",
        row=row,
        is_short=step_details.lacks_usage(turn.steps),
        running=row.status in turn_summary.LIVE,
        turn_id=ids.public(ids.Kind.TURN, turn.key),
        session_id=ids.public(ids.Kind.SESSION, turn.session),
        agent_id=ids.public(ids.Kind.AGENT, target.agent) if target.agent else "",
        events=turn.next_seq,
        response_count=target.response_count,
        responses=page.responses,
        revision_at=ids.key_time_us(target.revision) if target.revision else None,
        rank=_rank(page),
        documents=step_details.documents(target.request),
        shares=step_shares.of_steps(page) if page.has_all_steps else (),
        judged=hooks.feedback_section(page.actor, RecordTarget(turn.session, turn.key)),
        about=page.about,
        chosen_html=chosen_html,
        with_timeline=with_timeline,
        wide=False,
        **({**_timeline(page), "overview": None, "paging": paging(page)} if with_timeline else {}),
    )


def _rank(page: TurnPageData) -> DurationRank | None:
    """The rank of a completed turn's duration among the turns of its agent."""
    if page.row.duration_ms is None or page.target.agent is None or page.row.status != "completed":
        return None
    return adjacent_turns.rank(page.actor, page.target.agent, round(page.row.duration_ms * 1000))


def _timeline(page: TurnPageData) -> dict[str, Any]:
    drawn = _page_timeline(page)
    bars = [(bar, turn_summary.step_url(page.turn, bar.number)) for bar in drawn.bars]
    return {"bars": bars, "ticks": drawn.ticks, "breaks": drawn.breaks}


def _page_timeline(page: TurnPageData) -> Timeline:
    depths = step_pages.depths(page.steps)
    steps = page.recovery.as_waiting(page.steps) if page.marks.doubtful is not None else page.steps
    return timeline.timeline(page.turn, ids.now_us(), steps, span=page.page_params.span, depths=depths)


MAX_NAMED_STEPS = 8
"""Steps named in the collapsed line of a turn on its session's page."""


def session_turn(
    turn: TurnSnapshot,
    row: TurnRow,
    branches_from: int | None = None,
    query_string: str = "",
    snippet: RowSnippet | None = None,
) -> str:
    """Render a turn on its session's page: input, number of steps, answer. ``branches_from`` is the turn it
    continues if that is not the previous one; ``query_string`` is appended to the link to its page. ``snippet`` is what
    a search found in its steps."""
    answer = step_details.message(turn.output_message)
    text, cited = citations.number_citations(step_details.text_of(answer.content) if answer else "", turn.steps)
    done = Counter(name for step in turn.steps if (name := _step_name(step)))
    names = [f"{name} ×{count}" if count > 1 else name for name, count in done.items()]
    said = [
        (speaker(message.role), blocks.asked_block(NamedText(f"input-{n}", step_details.text_of(message.content))))
        for n, message in _input_messages(turn)
    ]
    return fragment(
        "pages/_session_turn.html",
        row=row,
        id=ids.public(ids.Kind.TURN, turn.key),
        url=turn_summary.turn_url(turn),
        asked=[(role, block) for role, block in said if block.html],
        speaker=row.agent_name or row.model,
        answer=blocks.markdown_block(NamedText("answer", text, is_message=True)) if text else None,
        sources=cited,
        query_string=query_string,
        snippet=snippet,
        count=len(turn.steps),
        names=", ".join(names[:MAX_NAMED_STEPS]) + (", …" if len(names) > MAX_NAMED_STEPS else ""),
        facts=turn_summary.summary(turn, row),
        branches_from="" if branches_from is None else ids.public(ids.Kind.TURN, branches_from),
    )


def _step_name(step: StepSnapshot) -> str:
    """The name of a step in the collapsed line of its turn; empty if it only groups others."""
    kind = external_steps.kind_of(step)
    if step.type == "tool_execution":
        return step.name
    if kind in external_steps.GROUPING_KINDS:
        return ""
    return external_steps.kind_label(kind) if kind in external_steps.KINDS else _(STEP_TYPE_LABELS[step.type])


def loose_items(conversation_id: str, value: ItemSnapshot) -> list[str]:
    """Items that were added to a session without a turn, for its page."""
    return [_loose_item(conversation_id, item) for item in items.items_of_row(value)]


def _loose_item(conversation_id: str, item: dict[str, Any]) -> str:
    role = item.get("role") or ("tool" if item["type"] == "function_call_output" else item["type"])
    return fragment(
        "pages/_session_item.html",
        id=item["id"],
        speaker=speaker(role),
        blocks=list(_item_blocks(item)),
        source=at(f"/conversations/{conversation_id}/items/{item['id']}.json"),
    )


def _item_blocks(item: dict[str, Any]) -> Iterator[Block]:
    """Blocks of a message's text and images; of any other item, all of it as JSON."""
    match item:
        case {"type": "message"}:
            message = turn_responses.message_of(item)
            yield blocks.asked_block(NamedText("item", step_details.text_of(message.content)))
            yield from blocks.content_pictures(message.content)
        case {"type": "function_call_output", "output": str(output)}:
            yield blocks.data_block(NamedText("item", output))
        case {"type": "function_call", "arguments": str(arguments)}:
            yield blocks.data_block(NamedText("item", arguments), label=str(item["name"]))
        case _:
            yield blocks.data_block(NamedText("item", step_details.encode_json(item)))


def _input_messages(turn: TurnSnapshot) -> list[tuple[int, StoredMessage]]:
    return [pair for pair in enumerate(step_details.messages(turn.input_messages)) if pair[1].role != "tool"]


def session_side(
    actor: Actor, session: SessionRecord, rows: Sequence[TurnRow], conversation: ConversationRecord | None
) -> str:
    """The side column of a session's page: sums, metadata, a list of turns, feedback. ``conversation`` is None where
    the session is none to the API."""
    metadata = conversation.metadata if conversation else {}
    return fragment(
        "pages/_session_side.html",
        judged=hooks.feedback_section(actor, RecordTarget(session.key)),
        budgets=hooks.budget_section(actor, BudgetTarget.SESSION, session.key),
        session=session,
        session_id=session.public_id,
        conversation_id=conversation.public_id if conversation else "",
        metadata=[(name, str(value)) for name, value in metadata.items()],
        cost_usd=None if session.cost_nano is None else session.cost_nano / 1e9,
        turns=[(row, ids.public(ids.Kind.TURN, row.id)) for row in reversed(rows)],
    )

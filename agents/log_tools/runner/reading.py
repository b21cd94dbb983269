"""The tools that read: search, guide, turn, step, comparison, numbers, agents. All of them block."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from agents.base import ids
from agents.base.access import Actor
from agents.base.errors import InvalidRequest
from agents.log_tools.schemas.arguments import (
    CompareArguments,
    GuideArguments,
    ListAgentsArguments,
    NumbersArguments,
    ReadStepArguments,
    ReadTurnArguments,
    SearchArguments,
)
from agents.log_tools.wire import guide
from agents.log_tools.wire import numbers as number_texts
from agents.log_tools.wire import turns as turn_texts
from agents.log_tools.wire.agents import ListedAgent, agent_text
from agents.log_tools.wire.bounds import BoundedText, one_line, part_of
from agents.log_tools.wire.rows import KINDS, PREVIEW_CHARS, ROWS
from agents.log_tools.wire.turns import TurnOutline
from agents.logs.log_hooks import hooks
from agents.logs.store import listing, numbers, rows, turn_log
from agents.logs.store.listing import KeyPage
from agents.pages.recovery import Recovery
from agents.query import parser
from agents.query.describe import describe
from agents.query.tree import Level, Query
from agents.record.schemas import step_texts
from agents.record.schemas.content import ToolCall
from agents.record.schemas.turns import StepSnapshot
from agents.record.store import agents, read_turns, step_pages, targets
from agents.record.store import turns as turn_store
from agents.record.store.agents import AgentRecord
from agents.record.store.recovery import recovery_events

STEPS_AT_ONCE = 25
"""Steps that are read for an outline before it is seen whether there is room for more."""
MAX_WHOLE_BYTES = 4 * 2**20
"""Bytes of a step's long texts that are read at once; a larger step is read as the JSON that is stored."""


# ----------------------------------------------------------------------------------------------- lists


def search(actor: Actor, sent: SearchArguments) -> str:
    """List rows of a level. Raises QuerySyntax, InvalidRequest; Unavailable when it takes too long."""
    query = _query(sent.query, sent.level)
    page = _page(actor, query, sent)
    keys, has_more = page.keys, page.has_older
    if sent.order == "oldest":
        keys, has_more = keys[::-1], page.has_newer
    found_rows, shown = rows.of(sent.level, keys), 0
    text = BoundedText(sent.max_chars)
    text.add(f"{one_line(describe(query), PREVIEW_CHARS)}, {sent.order} first" + ("" if keys else ": none"))
    while shown < len(found_rows) and text.add(ROWS[sent.level](found_rows[shown])):
        shown += 1
    if shown < len(found_rows):
        return text.text(_more(sent.level, found_rows[max(shown - 1, 0)].id))
    if page.searched_to is not None:
        return text.text(_more(sent.level, page.searched_to, " So far only a part was searched."))
    return text.text(_more(sent.level, keys[-1]) if has_more else "")


def _more(level: Level, key: int, reason: str = "") -> str:
    return f"[there are more.{reason} Go on: the same call with after={ids.public(KINDS[level], key)}]"


def _page(actor: Actor, query: Query, sent: SearchArguments) -> KeyPage:
    after = ids.parse(KINDS[sent.level], sent.after) if sent.after else None
    if sent.after and after is None:
        raise InvalidRequest(f"after: not the id of a {sent.level}.", param="after")
    if sent.order == "oldest":
        return listing.page(actor, query, before=after, limit=sent.limit, oldest_first=after is None)
    return listing.page(actor, query, after=after, limit=sent.limit)


def _query(text: str, level: Level) -> Query:
    return parser.read(text, now_us=ids.now_us(), level=level)


def query_guide(actor: Actor, sent: GuideArguments) -> str:
    """Explain the query language."""
    text = BoundedText(sent.max_chars)
    if all(map(text.add, guide.paragraphs(sent.level))):
        return text.text()
    return text.text("[cut here. Ask for one level, or with a larger max_chars.]")


def count(actor: Actor, sent: NumbersArguments) -> str:
    """Sum up the rows of a query, and groups of them. Raises as `search`."""
    query = _query(sent.query, sent.level)
    stats = numbers.stats(actor, query)
    groups = numbers.groups(actor, query, sent.by, sent.limit) if sent.by else None
    text = BoundedText(sent.max_chars)
    if all(map(text.add, number_texts.paragraphs(describe(query), stats, groups))):
        return text.text()
    return text.text("[cut here. Narrow the query, or ask for fewer groups or with a larger max_chars.]")


def list_agents(actor: Actor, sent: ListAgentsArguments) -> str:
    """List agents, newest first."""
    sized, has_more = agents.page(actor, start=sent.start, limit=100)
    text, shown = BoundedText(sent.max_chars), sent.start
    if not sized:
        return "No agents." if not sent.start else "No more agents."
    for record in agents.records(sized):
        if not text.add(agent_text(_listed(record))):
            has_more = True
            break
        shown += 1
    return text.text(f"[there are more. Go on: the same call with start={shown}]" if has_more else "")


def _listed(record: AgentRecord) -> ListedAgent:
    hindrance = "runs elsewhere" if record.is_external else "disabled" if record.disabled else ""
    return ListedAgent(record.key, record.name, record.model, record.config, hindrance)


# ------------------------------------------------------------------------------------- turns and steps


def read_turn(actor: Actor, sent: ReadTurnArguments) -> str:
    """Read a turn: an outline of its steps, or a part of its input or output. Raises NotFound."""
    key = turn_store.key_of(sent.turn_id)
    if sent.part == "steps":
        return turn_text(actor, key, sent.max_chars, sent.first_step)
    turn = read_turns.head(actor, key)
    is_input = sent.part == "input"
    whole = step_texts.input_text(turn.input_messages) if is_input else step_texts.output_text(turn.output_message)
    return part_of([whole], sent.offset, sent.max_chars)


def turn_text(actor: Actor, key: int, max_chars: int, first_step: int = 0) -> str:
    """Return a turn with an outline of its steps, or of those from number ``first_step`` on. Raises NotFound."""
    turn, found_rows = read_turns.head(actor, key), turn_log.turn_rows(actor, [key])
    if not found_rows:
        raise turn_store.not_found(key)
    row, text, outline = found_rows[0], BoundedText(max_chars), TurnOutline(max_chars)
    landmarks = step_pages.landmarks(key, failed=row.counts.errors > 0, waits=False)
    text.add(outline.line(row) if first_step else outline.turn(turn, row, landmarks.total, landmarks.failed))
    if turn.status == "awaiting_input":
        text.add(_waiting(key))
    elif turn.status == "in_progress" and (doubts := Recovery(recovery_events(key)).doubts):
        text.add(turn_texts.in_doubt(step_pages.steps_by_key(key, list(doubts))))
    number = max(first_step - 1, 0)
    while number < landmarks.total:
        steps = step_pages.steps(key, number, STEPS_AT_ONCE)
        for step in steps:
            if not text.add(outline.step(step)):
                return text.text(_next_steps(step.number, landmarks.total))
        number = steps[-1].number + 1 if steps else landmarks.total  # they were deleted meanwhile
    return text.text(_READ_ON)


_READ_ON = "[read_step gives all of a step.]"


def _next_steps(number: int, total: int) -> str:
    return f"[{total - number} more steps. Go on: the same call with first_step={number + 1}. {_READ_ON[1:]}"


def _waiting(key: int) -> str:
    pending = turn_store.pending_calls(key)
    calls = [(ToolCall.model_validate_json(awaited.call), awaited.needs_approval) for awaited in pending]
    return turn_texts.waiting(calls) if calls else "The turn waits for an answer."


def read_step(actor: Actor, sent: ReadStepArguments) -> str:
    """Read all of a step, part by part. Raises NotFound."""
    target = targets.find(actor, "step", sent.step_id)
    assert target.turn is not None  # a step has a turn
    assert target.step is not None  # it is what was looked for
    found_steps = step_pages.steps_by_key(target.turn, [target.step])
    if not found_steps:
        raise turn_store.not_found(target.turn)
    return part_of(_step_chunks(target.turn, found_steps[0]), sent.offset, sent.max_chars)


def _step_chunks(turn: int, step: StepSnapshot) -> Iterator[str]:
    if not step.cuts:
        return turn_texts.step_chunks(turn, step)
    detail = step_pages.detail(step.key)
    if sum(part.size for part in step.cuts) > MAX_WHOLE_BYTES:
        return turn_texts.large_step_chunks(turn, step, detail)
    return turn_texts.step_chunks(turn, replace(step, detail=b"".join(detail), cuts=()))


def compare(actor: Actor, sent: CompareArguments) -> str:
    """Compare two turns. Raises NotFound."""
    assert hooks.comparison is not None  # the tool is offered only then
    return part_of(hooks.comparison(actor, sent.turn_id, sent.other_id), sent.offset, sent.max_chars)

"""Describes a stored turn: the columns of its row and of its body, and how drafts of plain values become these.

The store makes a draft of a new turn, the projection makes one of a report; only here a draft becomes a row.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from agents.base.models.terms import TermKind
from agents.base.store import terms
from agents.record.models.choices import Api, Source, TurnStatus
from agents.record.schemas.content import CompletionMessage, TurnMessage, has_images, text_of
from agents.record.schemas.events import ErrorInfo
from agents.record.store import totals
from agents.record.store.step_rows import error_terms
from agents.record.store.totals import TurnTotals
from agents.record.store.turn_clock import TurnClock

STATE_COLUMNS = "status stop_reason completed_at duration_us waited_us error_type_id error_message_id"
COLUMNS = (
    "id session_id agent_id revision_id parent_id number owner_id scope_id api source model_id provider_id end_user_id "
    f"started_at {STATE_COLUMNS} {totals.TURN_COLUMNS} iterations leg_count next_seq actor_key lease_owner "
    "foreign_id"
)
OUTPUT_COLUMNS = "output_preview output_message error"
BODY_COLUMNS = (
    f"turn_id input_preview input_messages {OUTPUT_COLUMNS} request metadata attachments sanitized traceparent"
)
MAX_PREVIEW = 240
"""Most characters of the previews of input and output in a row."""
IMAGES, DOCUMENTS = 1, 2
_OPENING, _CLOSING = re.compile(r"<[A-Za-z_][\w-]*>"), re.compile(r"</[A-Za-z_][\w-]{0,100}>$")
"""The ends of a message that is elements alone."""


class TurnState(msgspec.Struct, frozen=True):
    """The progress of a turn. Times are microseconds; ``ended_us`` is None while it goes on, ``waited_us`` where it
    never waited for a person or its client."""

    status: TurnStatus
    started_us: int
    ended_us: int | None = None
    stop_reason: str = ""
    error: ErrorInfo | None = None
    waited_us: int | None = None


class TurnDraft(msgspec.Struct, frozen=True):
    """A turn that is to be stored. ``foreign_id`` is a sender's id, ``lease_owner`` the process that runs it."""

    key: int
    session: int
    number: int
    owner: int | None
    scope: int
    api: Api
    source: Source
    state: TurnState
    totals: TurnTotals
    agent: int | None = None
    revision: int | None = None
    parent: int | None = None
    model: str = ""
    provider: str = ""
    user: str = ""
    iterations: int = 0
    actor_key: int | None = None
    lease_owner: str = ""
    foreign_id: str | None = None


def turn_row(draft: TurnDraft) -> tuple[Any, ...]:
    """Build the columns `COLUMNS`."""
    identity = (draft.key, draft.session, draft.agent, draft.revision, draft.parent, draft.number)
    kind = (draft.owner, draft.scope, draft.api.value, draft.source.value)
    names = (
        terms.intern(TermKind.MODEL, draft.model),
        terms.intern(TermKind.PROVIDER, draft.provider),
        terms.intern(TermKind.END_USER, draft.user),
    )
    sums = (*draft.totals.columns(), draft.iterations, 1, 0)
    started = draft.state.started_us
    run = (draft.actor_key, draft.lease_owner)
    return (*identity, *kind, *names, started, *state_columns(draft.state), *sums, *run, draft.foreign_id)


def state_columns(state: TurnState) -> tuple[Any, ...]:
    """Build the columns `STATE_COLUMNS`."""
    ended = state.ended_us
    duration = None if ended is None else TurnClock(state.started_us, state.waited_us).worked_us(ended)
    return state.status.value, state.stop_reason[:32], ended, duration, state.waited_us, *error_terms(state.error)


def stop_reason(output: CompletionMessage | None, error: ErrorInfo | None) -> str:
    """Return why a turn stopped, as its last message has it; empty for one that failed."""
    return "" if error or output is None else output.stop_reason


class TurnBodyDraft(msgspec.Struct, frozen=True):
    """The body of a turn that is to be stored. ``request`` is JSON text, ``traceparent`` the trace that its request
    belonged to."""

    input: Sequence[TurnMessage]
    request: str
    metadata: Mapping[str, str]
    output: CompletionMessage | None = None
    error: ErrorInfo | None = None
    traceparent: str = ""


def body_columns(draft: TurnBodyDraft) -> tuple[Any, ...]:
    """Build the columns `BODY_COLUMNS` but the first. They depend on nothing stored."""
    images = any(has_images(message.content) for message in draft.input)
    return (
        preview(_asked(draft.input)),
        "[" + ",".join(message.model_dump_json(exclude_none=True) for message in draft.input) + "]",
        *output_columns(draft.output, draft.error, answer_text(draft.output)),
        draft.request,
        msgspec.json.encode(draft.metadata).decode(),
        IMAGES * images | DOCUMENTS * ('"documents":[{' in draft.request),
        False,
        draft.traceparent,
    )


def output_columns(output: CompletionMessage | None, error: ErrorInfo | None, text: str) -> tuple[str, str, str]:
    """Build the columns `OUTPUT_COLUMNS`; ``text`` is shown where there is no error."""
    return (
        preview(error.message if error else text),
        output.model_dump_json(exclude_none=True) if output else "",
        error.model_dump_json(exclude_none=True) if error else "",
    )


def input_text(messages: Sequence[TurnMessage]) -> str:
    """Return the text of a turn's input: of its messages only those of users and tools."""
    return "\n".join(_input_texts(messages))


def _input_texts(messages: Sequence[TurnMessage]) -> list[str]:
    return [text_of(message.content) for message in messages if message.role in ("user", "tool")]


def _asked(messages: Sequence[TurnMessage]) -> str:
    """Return the text of a turn's input without what a program has put before the words of its user."""
    texts = _input_texts(messages)
    return "\n".join([text for text in texts if not _is_of_program(text)] or texts)


def _is_of_program(text: str) -> bool:
    """Tell whether a message is elements alone, under a heading or not: so coding agents tell a model of their folder,
    their rules and the time. Only its ends are looked at: it may be long."""
    body = text.strip()
    if body.startswith("# "):
        body = body.partition("\n")[2].lstrip()
    return _OPENING.match(body) is not None and _CLOSING.search(body, max(len(body) - 104, 0)) is not None


def answer_text(output: CompletionMessage | None) -> str:
    return text_of(output.content) if output else ""


def preview(text: str) -> str:
    """Return the beginning of a text on one line."""
    return " ".join(text[: MAX_PREVIEW * 4].split())[:MAX_PREVIEW]

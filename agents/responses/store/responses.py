"""Responses of OpenAI's API, read from the rows of their legs.

A response is a leg of a turn; its output is what the leg's steps became, so nothing of it is stored
twice. Pages go by key, which is unique and in the order of creation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import msgspec
from django.db import connection

from agents.base import ids
from agents.base.access import Action, Actor
from agents.base.errors import Conflict, InvalidRequest, NotFound
from agents.base.models.terms import TermKind
from agents.base.store import encoding, keyset, portions, terms
from agents.base.store.keyset import Bounds, Cursor
from agents.base.store.portions import Sized, bytes_of
from agents.base.store.writer import writer
from agents.base.timestamps import to_us, us_or_none
from agents.query.tree import Query
from agents.record.models.choices import LIVE, Api, TurnStatus
from agents.record.models.tags import TurnTag
from agents.record.models.turns import Response, Step, Turn, TurnBody
from agents.record.schemas.content import Usage
from agents.record.schemas.events import ErrorInfo
from agents.record.schemas.turns import StepSnapshot
from agents.record.store import forks, large_values, matching, read_turns, removal
from agents.record.store.deletion import delete_turns
from agents.record.store.read_turns import StepDetails

_COLUMNS = (
    "pk",
    "turn_id",
    "number",
    "status",
    "created_at",
    "completed_at",
    "first_seq",
    "first_step",
    "first_item",
    "input_items",
    "end_item",
    "previous_id",
    "settings",
    "turn__session_id",
    "turn__session__branched",
    "turn__session__last_turn",
    "turn__session__item_count",
    "turn__status",
    "turn__leg_count",
    "turn__stop_reason",
    "turn__next_seq",
)


class _Settings(msgspec.Struct):
    """What interests here of a response's settings."""

    conversation: dict[str, str] | None = None


@dataclass(frozen=True, slots=True)
class ResponseRecord:
    """A leg that is a response. Times are microseconds; ``settings`` JSON; ``turn_*`` are its turn's,
    ``turn_legs`` how many legs that has; ``branched``, ``last_turn`` and ``item_count``
    are its session's."""

    key: int
    turn: int
    number: int
    status: TurnStatus
    created_at: int
    completed_at: int | None
    first_seq: int
    first_step: int
    first_item: int
    input_items: int
    end_item: int | None
    previous: int | None
    settings: bytes
    session: int
    branched: bool
    last_turn: int | None
    item_count: int
    turn_status: TurnStatus
    turn_legs: int
    stop_reason: str
    next_seq: int

    @property
    def public_id(self) -> str:
        return ids.openai(ids.Kind.RESPONSE, self.key)

    @property
    def is_last(self) -> bool:
        """Whether its turn has not gone on since."""
        return self.number == self.turn_legs

    @property
    def is_live(self) -> bool:
        return self.status in LIVE

    @property
    def in_conversation(self) -> bool:
        """Whether it was asked for in a conversation, whose items are then the conversation's."""
        return msgspec.json.decode(self.settings or b"{}", type=_Settings).conversation is not None

    @property
    def ends_its_session(self) -> bool:
        """Whether nothing was said in its session since."""
        return self.is_last and self.last_turn == self.turn and self.end_item == self.item_count


_NAMES = [one.name for one in fields(ResponseRecord)]


@dataclass(frozen=True, slots=True)
class Told:
    """What a response's rows tell of it: its steps in order, without what is large of their ``details``, what they
    used, and of the last leg why it ended."""

    steps: Sequence[StepSnapshot]
    details: StepDetails
    usage: Usage
    error: ErrorInfo | None
    reason: str | None


def missing(public_id: str) -> NotFound:
    return NotFound(
        f"Response '{public_id[:80]}' not found. Use 'client.responses.list()' to list available Responses."
    )


def get(actor: Actor, public_id: str, action: Action = "read") -> ResponseRecord:
    """One response. Raises NotFound, also for one the actor may not see."""
    key = ids.parse_openai(ids.Kind.RESPONSE, public_id)
    rows = _responses(actor, action).filter(pk=key) if key is not None else None
    row = rows.values_list(*_COLUMNS).first() if rows is not None else None
    if row is None:
        raise missing(public_id)
    return _record(row)


def of_leg(actor: Actor, turn: int, number: int) -> ResponseRecord:
    """The response that is a turn's leg. Raises NotFound."""
    row = _responses(actor, "run").filter(turn_id=turn, number=number).values_list(*_COLUMNS).first()
    if row is None:
        raise NotFound("The response was deleted.")
    return _record(row)


def of_turn(actor: Actor, turn: int, action: Action = "read") -> list[ResponseRecord]:
    """The responses that a turn's legs are, in order; none of one that came by another API."""
    rows = _responses(actor, action).filter(turn_id=turn).order_by("number").values_list(*_COLUMNS)
    return [_record(row) for row in rows]


def request_of(record: ResponseRecord) -> bytes:
    """A response's request as it was received, but for its secrets. The caller has been let in to it."""
    rows = Response.objects.unscoped("its response was read").filter(pk=record.key)
    kind, body = rows.values_list("request_encoding", "request").get()
    return encoding.unpack(kind, body)


def last_settings(turn: int) -> bytes:
    """What the last response of a turn repeats of its request, for a turn that was read already; empty
    where none of its legs is one."""
    rows = Response.objects.unscoped("the turn was read").filter(turn_id=turn, api=Api.RESPONSES)
    found = rows.order_by("-number").values_list("settings", flat=True).first()
    return (found or "").encode()


def of_step(actor: Actor, step: int) -> ResponseRecord | None:
    """The last response of the turn that a step belongs to; None where the actor may not go on with it."""
    turn = Step.objects.unscoped("its response is looked up as the actor's").filter(pk=step)
    rows = _responses(actor, "run").filter(turn_id__in=turn.values("turn_id")).order_by("-number")
    row = rows.values_list(*_COLUMNS).first()
    return None if row is None else _record(row)


def _responses(actor: Actor, action: Action = "read") -> Any:
    return Response.objects.visible_to(actor, action).filter(api=Api.RESPONSES)


def _record(row: tuple[Any, ...]) -> ResponseRecord:
    named = dict(zip(_NAMES, row, strict=True))
    completed = named["completed_at"]
    typed = {
        "status": TurnStatus(named["status"]),
        "turn_status": TurnStatus(named["turn_status"]),
        "created_at": to_us(named["created_at"]),
        "completed_at": us_or_none(completed),
        "settings": named["settings"].encode(),
    }
    if named["last_turn"] == named["turn"] and named["end_item"] not in (None, named["item_count"]):
        # what is behind it may be a fork, with which nobody goes on who does not name it
        typed["item_count"] = forks.path_end(named["session"], named["item_count"])
    return ResponseRecord(**{**named, **typed})


def told(records: Sequence[ResponseRecord]) -> dict[int, Told]:
    """What the rows tell of these responses, by their keys: three queries however many they are. The
    caller has been let in to them."""
    turns = {record.turn for record in records}
    steps, details = read_turns.partial_steps(turns)
    ends = _leg_ends(turns)
    failed = [record.turn for record in records if record.is_last and record.turn_status == TurnStatus.FAILED]
    errors = _errors(failed)
    out = {}
    for record in records:
        end = ends.get((record.turn, record.number + 1))
        own = [
            step
            for step in steps.get(record.turn, ())
            if step.number >= record.first_step and (end is None or step.number < end)
        ]
        usage = sum((step.usage for step in own), Usage())
        last = record.is_last
        out[record.key] = Told(
            own, details, usage, errors.get(record.turn) if last else None, record.stop_reason if last else None
        )
    return out


def _leg_ends(turns: set[int]) -> dict[tuple[int, int], int]:
    """The first steps of the legs of turns that have several, by (turn, number)."""
    rows = Response.objects.unscoped("their turns are visible").filter(turn_id__in=turns, number__gt=1)
    return {(turn, number): step for turn, number, step in rows.values_list("turn_id", "number", "first_step")}


def _errors(turns: Sequence[int]) -> dict[int, ErrorInfo]:
    if not turns:
        return {}
    rows = TurnBody.objects.unscoped("their turns are visible").filter(turn_id__in=turns)
    return {turn: ErrorInfo.model_validate_json(error) for turn, error in rows.values_list("turn_id", "error") if error}


# -------------------------------------------------------------------------------------------- listing


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which responses: of a model, of a conversation, with this metadata, of turns that a query takes."""

    model: str = ""
    query: Query | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
    conversation: int | None = None


def page(actor: Actor, wanted: Wanted, cursor: Cursor) -> tuple[list[Sized[int]], bool]:
    """A page: the keys of responses and about how many bytes each has with its input, and whether there are more
    behind them; it ends early where they are large. Raises InvalidRequest for what is no response's id."""
    bounds = Bounds(_edge(cursor.after, "after"), _edge(cursor.before, "before"), cursor.limit, cursor.newest_first)
    # ids first and the rest after: a sort never carries settings
    found, more = keyset.page(_filtered(actor, wanted), bounds, "pk")
    return keyset.cut(_sized([key for (key,) in found]), bounds, more)


def _sized(keys: Sequence[int]) -> list[Sized[int]]:
    if not keys:
        return []
    with connection.cursor() as cursor:
        cursor.execute(_SIZES.format(bytes_of("r.settings"), ", ".join(["%s"] * len(keys))), keys)
        size = dict(cursor.fetchall())
    return [(key, size[key]) for key in keys if key in size]


_SIZES = f"""
SELECT r.id, {{0}} + {large_values.STORED.format("r.turn_id")} + COALESCE((
    SELECT SUM(LENGTH(i.body) + LENGTH(i.wire)) FROM agents_item i
    WHERE i.session_id = t.session_id AND i.number >= r.first_item AND i.number < r.first_item + r.input_items
), 0)
FROM agents_response r JOIN agents_turn t ON t.id = r.turn_id WHERE r.id IN ({{1}})
"""  # noqa: S608 - names of ours


def records(sized: Iterable[Sized[int]]) -> Iterator[list[ResponseRecord]]:
    """The responses of a page, in its order, as many at a time as may be read together."""
    for keys in portions.groups(sized):
        found = Response.objects.unscoped("ids checked").filter(pk__in=keys).values_list(*_COLUMNS)
        records = {row[0]: _record(row) for row in found}
        yield [records[key] for key in keys if key in records]


def _filtered(actor: Actor, wanted: Wanted) -> Any:
    rows = _responses(actor)
    if wanted.model:
        model = terms.find(TermKind.MODEL, wanted.model)
        rows = rows.filter(model_id=model) if model is not None else rows.none()
    if wanted.conversation is not None:
        rows = rows.filter(turn__session_id=wanted.conversation)
    if wanted.query is not None:
        rows = rows.filter(turn_id__in=matching.turns(wanted.query, actor).values("pk"))
    for key, value in wanted.metadata.items():
        term = terms.find(TermKind.META, f"{key}={value}")
        if term is None:
            return rows.none()
        rows = rows.filter(turn_id__in=TurnTag.objects.filter(term_id=term).values("turn_id"))
    return rows


def _edge(public_id: str, name: str) -> int | None:
    key = ids.parse_openai(ids.Kind.RESPONSE, public_id) if public_id else None
    if public_id and key is None:
        raise InvalidRequest(f"{name}: Response '{public_id[:80]}' not found.", param=name)
    return key


# ------------------------------------------------------------------------------------------ deleting


def delete(actor: Actor, public_id: str) -> None:
    """Forget a response. Its turn goes with it, unless other responses are made of it or build upon
    it, or it belongs to a conversation. Raises NotFound; Conflict while it runs."""
    record = get(actor, public_id, "run")
    if record.is_live:
        raise Conflict(f"Response '{record.public_id}' is in progress; cancel it first.", code="response_in_progress")
    if writer.write(lambda: _delete(record)):
        removal.finish(record.session)


def _delete(record: ResponseRecord) -> bool:
    """Whether there is more of its session to be taken away."""
    rows = Response.objects.unscoped("checked")
    rows.filter(pk=record.key).update(api=Api.NONE, settings="")
    if record.in_conversation:
        return False  # what was said is the conversation's, and stays until that is deleted
    siblings = rows.filter(turn_id=record.turn, api=Api.RESPONSES).exists()
    built_upon = Turn.objects.unscoped("checked").filter(parent_id=record.turn).exists()
    if siblings or built_upon:
        return False
    others = Turn.objects.unscoped("checked").filter(session_id=record.session).exclude(pk=record.turn)
    if not others.exists():
        return removal.begin(record.session)  # it was made for this response, and nobody else can name it
    delete_turns([record.turn])
    return False

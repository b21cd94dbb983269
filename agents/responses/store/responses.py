"""Reads, lists and deletes responses of OpenAI's API.

The output of a response is read from its steps, so it is not stored twice. Pages are ordered by key,
which is unique and in the order of creation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import msgspec

from agents.base import ids
from agents.base.access import Action, Actor
from agents.base.errors import Conflict, InvalidRequest, NotFound
from agents.base.models.terms import TermKind
from agents.base.store import encoding, keyset, portions, terms
from agents.base.store.cursors import direct_cursor
from agents.base.store.keyset import Bounds, Cursor
from agents.base.store.portions import Sized, bytes_of
from agents.base.store.writer import writer
from agents.base.timestamps import to_us, us_or_none
from agents.query.tree import Query
from agents.record.models.choices import LIVE, OF_RESPONSES, Api, TurnStatus
from agents.record.models.tags import TurnTag
from agents.record.models.turns import Response, Step, Turn, TurnBody
from agents.record.schemas.content import Usage
from agents.record.schemas.events import ErrorInfo
from agents.record.schemas.turns import StepSnapshot
from agents.record.store import agent_calls, forks, large_values, matching, read_turns, removal
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
    """The settings of a response that this module reads."""

    conversation: dict[str, str] | None = None


@dataclass(frozen=True, slots=True)
class ResponseRecord:
    """A response. Times are in microseconds, ``settings`` are JSON. ``turn_*`` are fields of its turn, which has
    ``response_count`` responses; ``branched``, ``last_turn`` and ``item_count`` are fields of its session."""

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
    response_count: int
    stop_reason: str
    next_seq: int

    @property
    def public_id(self) -> str:
        return ids.openai(ids.Kind.RESPONSE, self.key)

    @property
    def is_last(self) -> bool:
        """Whether it is the last response of its turn."""
        return self.number == self.response_count

    @property
    def is_live(self) -> bool:
        return self.status in LIVE

    @property
    def in_conversation(self) -> bool:
        """Whether it was created in a conversation; its items then belong to the conversation."""
        return msgspec.json.decode(self.settings or b"{}", type=_Settings).conversation is not None

    @property
    def ends_its_session(self) -> bool:
        """Whether its session has no later items."""
        return self.is_last and self.last_turn == self.turn and self.end_item == self.item_count


_NAMES = [field_.name for field_ in fields(ResponseRecord)]


@dataclass(frozen=True, slots=True)
class StoredOutcome:
    """The stored outcome of a response: its steps in order, without their large ``details``, their usage, and for
    the last response of a turn why the turn ended."""

    steps: Sequence[StepSnapshot]
    details: StepDetails
    usage: Usage
    error: ErrorInfo | None
    reason: str | None


def not_found(public_id: str) -> NotFound:
    return NotFound(
        f"Response '{public_id[:80]}' not found. Use 'client.responses.list()' to list available Responses."
    )


def get(actor: Actor, public_id: str, action: Action = "read", api: Api = Api.RESPONSES) -> ResponseRecord:
    """Return a response. Raises NotFound, also for one that the actor may not see."""
    key = ids.parse_openai(ids.Kind.RESPONSE, public_id)
    rows = _responses(actor, action, [api]).filter(pk=key) if key is not None else None
    row = rows.values_list(*_COLUMNS).first() if rows is not None else None
    if row is None:
        raise not_found(public_id)
    return _record(row)


def of_turn_number(actor: Actor, turn: int, number: int) -> ResponseRecord:
    """Return a turn's response by its number. Raises NotFound."""
    row = _responses(actor, "run").filter(turn_id=turn, number=number).values_list(*_COLUMNS).first()
    if row is None:
        raise NotFound("The response was deleted.")
    return _record(row)


def of_turn(actor: Actor, turn: int, action: Action = "read") -> list[ResponseRecord]:
    """Return the responses of a turn in order, also those that are not to be stored; empty for a turn of another
    API."""
    rows = _responses(actor, action, OF_RESPONSES).filter(turn_id=turn).order_by("number").values_list(*_COLUMNS)
    return [_record(row) for row in rows]


def request_of(record: ResponseRecord) -> bytes:
    """Return a response's request as received, without its secrets. The caller has checked access."""
    rows = Response.objects.unscoped("its response was read").filter(pk=record.key)
    kind, body = rows.values_list("request_encoding", "request").get()
    return encoding.unpack(kind, body)


def filled_request(record: ResponseRecord) -> dict[str, Any]:
    """Return a response's request with the instructions that its prompt became, if it named one, in the place of that:
    the prompt may have another default version since, or be gone."""
    request: dict[str, Any] = msgspec.json.decode(request_of(record))
    if not request.get("prompt"):
        return request
    instructions = msgspec.json.decode(record.settings or b"{}").get("instructions")
    return {**request, "prompt": None, "instructions": instructions}


def last_settings(turn: int) -> bytes:
    """Return the settings of the last response of a turn, which was read already; empty for a turn of
    another API."""
    rows = Response.objects.unscoped("the turn was read").filter(turn_id=turn, api__in=OF_RESPONSES)
    settings = rows.order_by("-number").values_list("settings", flat=True).first()
    return (settings or "").encode()


def of_step(actor: Actor, step: int, api: Api = Api.RESPONSES) -> ResponseRecord | None:
    """Return the last response of the turn of a step; None where the actor may not continue it."""
    turn = Step.objects.unscoped("its response is looked up as the actor's").filter(pk=step)
    rows = _responses(actor, "run", [api]).filter(turn_id__in=turn.values("turn_id")).order_by("-number")
    row = rows.values_list(*_COLUMNS).first()
    return None if row is None else _record(row)


MAX_NAMESAKES = 20
"""Turns of one name that are looked at: several users may have a name, and most have theirs alone."""


def last_unstored(actor: Actor, metadata: str) -> ResponseRecord | None:
    """Return the last response of the actor that is not to be stored and has this metadata (``key=value``)."""
    term = terms.find(TermKind.META, metadata)
    if term is None:
        return None
    tagged = TurnTag.objects.filter(term_id=term).order_by("-turn_id").values_list("turn_id", flat=True)
    rows = _responses(actor, "run", [Api.UNSTORED]).filter(actor_user=actor.user_id)
    newest = rows.filter(turn_id__in=list(tagged[:MAX_NAMESAKES])).order_by("-turn_id", "-number")
    row = newest.values_list(*_COLUMNS).first()
    return None if row is None else _record(row)


def _responses(actor: Actor, action: Action = "read", apis: Sequence[Api] = (Api.RESPONSES,)) -> Any:
    return Response.objects.visible_to(actor, action).filter(api__in=apis)


def _record(row: tuple[Any, ...]) -> ResponseRecord:
    values = dict(zip(_NAMES, row, strict=True))
    completed = values["completed_at"]
    converted = {
        "status": TurnStatus(values["status"]),
        "turn_status": TurnStatus(values["turn_status"]),
        "created_at": to_us(values["created_at"]),
        "completed_at": us_or_none(completed),
        "settings": values["settings"].encode(),
    }
    if values["last_turn"] == values["turn"] and values["end_item"] not in (None, values["item_count"]):
        # later items may belong to a fork, which is continued only by its own id
        converted["item_count"] = forks.path_end(values["session"], values["item_count"])
    return ResponseRecord(**{**values, **converted})


def outcomes(records: Sequence[ResponseRecord]) -> dict[int, StoredOutcome]:
    """Read the stored outcomes of responses, by their keys, in a fixed number of queries. The caller has checked
    access."""
    turns = {record.turn for record in records}
    steps, details = read_turns.partial_steps(turns)
    ends = _first_steps(turns)
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
        out[record.key] = StoredOutcome(
            own, details, usage, errors.get(record.turn) if last else None, record.stop_reason if last else None
        )
    return out


def _first_steps(turns: set[int]) -> dict[tuple[int, int], int]:
    """Return the first step of each response but a turn's first, by (turn, number)."""
    rows = Response.objects.unscoped("their turns are visible").filter(turn_id__in=turns, number__gt=1)
    return {(turn, number): step for turn, number, step in rows.values_list("turn_id", "number", "first_step")}


def _errors(turns: Sequence[int]) -> dict[int, ErrorInfo]:
    if not turns:
        return {}
    rows = TurnBody.objects.unscoped("their turns are visible").filter(turn_id__in=turns)
    return {turn: ErrorInfo.model_validate_json(error) for turn, error in rows.values_list("turn_id", "error") if error}


# -------------------------------------------------------------------------------------------- listing


@dataclass(frozen=True, slots=True)
class ResponseFilter:
    """A filter of responses: by the names of a model, conversation, metadata, and a query that their turns match."""

    models: Sequence[str] = ()
    query: Query | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
    conversation: int | None = None


def page(actor: Actor, response_filter: ResponseFilter, cursor: Cursor) -> tuple[list[Sized[int]], bool]:
    """Return a page of responses: their keys, each with its approximate size in bytes with its input, and whether
    more follow. A page of large responses ends early. Raises InvalidRequest for an invalid id in the cursor."""
    bounds = Bounds(_key_of(cursor.after, "after"), _key_of(cursor.before, "before"), cursor.limit, cursor.newest_first)
    # ids first and the rest after: a sort never carries settings
    rows, more = keyset.page(_filtered(actor, response_filter), bounds, "pk")
    return keyset.cut(_sized([key for (key,) in rows]), bounds, more)


def _sized(keys: Sequence[int]) -> list[Sized[int]]:
    if not keys:
        return []
    with direct_cursor() as cursor:
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
    """Yield the responses of a page in its order, in groups that may be read together."""
    for keys in portions.groups(sized):
        rows = Response.objects.unscoped("ids checked").filter(pk__in=keys).values_list(*_COLUMNS)
        records = {row[0]: _record(row) for row in rows}
        yield [records[key] for key in keys if key in records]


def _filtered(actor: Actor, response_filter: ResponseFilter) -> Any:
    rows = _responses(actor)
    if response_filter.models:
        model_ids = [terms.find(TermKind.MODEL, model) for model in response_filter.models]
        rows = rows.filter(model_id__in=[model_id for model_id in model_ids if model_id is not None])
    if response_filter.conversation is not None:
        rows = rows.filter(turn__session_id=response_filter.conversation)
    if response_filter.query is not None:
        rows = rows.filter(turn_id__in=matching.turns(response_filter.query, actor).values("pk"))
    for key, value in response_filter.metadata.items():
        term = terms.find(TermKind.META, f"{key}={value}")
        if term is None:
            return rows.none()
        rows = rows.filter(turn_id__in=TurnTag.objects.filter(term_id=term).values("turn_id"))
    return rows


def _key_of(public_id: str, name: str) -> int | None:
    key = ids.parse_openai(ids.Kind.RESPONSE, public_id) if public_id else None
    if public_id and key is None:
        raise InvalidRequest(f"{name}: Response '{public_id[:80]}' not found.", param=name)
    return key


# ------------------------------------------------------------------------------------------ deleting


def delete(actor: Actor, public_id: str) -> None:
    """Delete a response. Its turn is deleted too, unless it has other responses, other turns continue it, or
    it belongs to a conversation. Raises NotFound; Conflict while it runs."""
    record = get(actor, public_id, "run")
    if record.is_live:
        raise Conflict(f"Response '{record.public_id}' is in progress; cancel it first.", code="response_in_progress")
    for session in writer.write(lambda: _delete(record)):
        removal.finish(session)


def _delete(record: ResponseRecord) -> list[int]:
    """Delete a response's rows; returns the sessions that remain to be removed."""
    rows = Response.objects.unscoped("checked")
    rows.filter(pk=record.key).update(api=Api.NONE, settings="")
    if record.in_conversation:
        return []  # the items belong to the conversation, and stay until that is deleted
    siblings = rows.filter(turn_id=record.turn, api=Api.RESPONSES).exists()
    built_upon = Turn.objects.unscoped("checked").filter(parent_id=record.turn).exists()
    if siblings or built_upon:
        return []
    below = agent_calls.sessions_below([record.turn])
    others = Turn.objects.unscoped("checked").filter(session_id=record.session).exclude(pk=record.turn)
    if not others.exists():
        return removal.begin([*below, record.session])  # it was created for this response, and has no other id
    remaining = removal.begin(below)
    delete_turns([record.turn])
    return remaining

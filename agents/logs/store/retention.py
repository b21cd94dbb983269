"""Rules of retention: kept, and what they select now. Running them: `agents.logs.runner.retention`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, fields
from datetime import datetime
from functools import partial

from django.db.models import Count

from agents.base import ids
from agents.base.access import Actor
from agents.base.errors import InvalidRequest, NotFound
from agents.base.store.writer import writer
from agents.base.timestamps import to_datetime
from agents.logs.models.retention import RetentionReceipt, RetentionRule
from agents.logs.store import bulk, export
from agents.query import parser
from agents.query.tree import Query
from agents.record.models.agents import Session
from agents.record.models.choices import LIVE, TurnStatus
from agents.record.models.turns import Item, Turn
from agents.record.store import deletion

ARCHIVE_FORMATS = ("jsonl", "parquet")
SPARED = (*LIVE, TurnStatus.AWAITING_INPUT)
"""Statuses of turns that no rule deletes."""
MAX_AMONG = 500
"""Keys of one statement."""

EndedTurns = dict[int, tuple[int, datetime | None]]
"""Turns that may go, by key, each with what changes when it goes on: its next event's number and its end."""


@dataclass(slots=True)
class RetentionPreview:
    """What a run of a rule would delete now: turns, and sessions of which no turn would be left (keys, with their
    numbers of turns). ``spared`` are turns that it selects but leaves alone, because they run or wait."""

    turns: int = 0
    spared: int = 0
    sessions: dict[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StoredRule:
    """A rule: ``archives_as`` is a format, empty where turns are only deleted; ``folder`` is where its files are, empty
    for the default one."""

    name: str
    query: str
    archives_as: str = ""
    folder: str = ""
    enabled: bool = True
    ran_at: datetime | None = None


@dataclass(slots=True)
class StoredReceipt:
    """What a portion of a run has deleted; ``archived`` is the number of turns in ``file``."""

    id: int
    rule: str
    query: str
    began_at: datetime
    finished_at: datetime | None = None
    turns: int = 0
    sessions: int = 0
    archived: int = 0
    file: str = ""
    bytes: int = 0
    sha256: str = ""


def parse(text: str) -> Query:
    """Parse the query of a rule. Raises QuerySyntax, and InvalidRequest for one that selects everything."""
    if not text.strip():
        raise InvalidRequest("query: a rule without a query would delete every turn.", param="query")
    return parser.read(text.strip(), now_us=ids.now_us(), level="turn")


def add(rule: StoredRule) -> StoredRule:
    """Store a new rule, with its query in the normal form. Raises InvalidRequest, QuerySyntax."""
    name = rule.name.strip()
    if not name or not name.isprintable() or len(name) > 100:
        raise InvalidRequest("name: a text of at most 100 characters on one line.", param="name")
    if rule.archives_as and rule.archives_as not in ARCHIVE_FORMATS:
        raise InvalidRequest("format: jsonl or parquet.", param="format")
    row = RetentionRule(
        name=name,
        query=parse(rule.query).text,
        archives_as=rule.archives_as,
        folder=rule.folder,
        enabled=rule.enabled,
        created_at=to_datetime(ids.now_us()),
    )

    def job() -> None:
        if RetentionRule.objects.filter(name=name).exists():
            raise InvalidRequest(f"name: there is a rule '{name}' already.", param="name")
        row.save(force_insert=True)

    writer.write(job)
    return _stored_rule(row)


def get(name: str) -> StoredRule:
    """Return a rule. Raises NotFound."""
    return _stored_rule(_row(name))


def _row(name: str) -> RetentionRule:
    row = RetentionRule.objects.filter(name=name.strip()).first()
    if row is None:
        raise NotFound(f"There is no rule '{name[:100]}'.")
    return row


def rules() -> list[StoredRule]:
    """Return all rules by name."""
    return [_stored_rule(row) for row in RetentionRule.objects.order_by("name")]


def _stored_rule(row: RetentionRule) -> StoredRule:
    return StoredRule(row.name, row.query, row.archives_as, row.folder, row.enabled, row.ran_at)


def remove(name: str) -> None:
    """Delete a rule; its receipts stay. Raises NotFound."""
    writer.write(_row(name).delete)


def due(now_us: int, interval_us: int) -> list[StoredRule]:
    """Return the rules that are switched on and have not run for this long, by name."""
    rows = RetentionRule.objects.filter(enabled=True).exclude(ran_at__gt=to_datetime(now_us - interval_us))
    return [_stored_rule(row) for row in rows.order_by("name")]


def note_run(rule: StoredRule) -> None:
    """Note that a rule has run to its end."""
    rows = RetentionRule.objects.filter(name=rule.name)
    writer.write(partial(rows.update, ran_at=to_datetime(ids.now_us())))


def save_receipt(receipt: StoredReceipt) -> None:
    """Store a receipt, or what has changed of it."""
    values = asdict(receipt)
    writer.write(partial(RetentionReceipt.objects.update_or_create, id=values.pop("id"), defaults=values))


def last_receipts(limit: int) -> list[StoredReceipt]:
    """Return the newest receipts, newest first."""
    names = [field.name for field in fields(StoredReceipt)]
    return [StoredReceipt(**row) for row in RetentionReceipt.objects.order_by("-pk").values(*names)[:limit]]


# --------------------------------------------------------------------------------- what a query selects


def ended_turns(actor: Actor, query: Query) -> Iterator[tuple[EndedTurns, int]]:
    """Yield the turns that a query selects in batches, newest first: those that have ended, and the number of those
    that run or wait."""
    after: int | None = None
    while True:
        keys, after = export.keys_of(actor, query, after)
        ended = _ended(keys)
        yield ended, len(keys) - len(ended)
        if after is None:
            return


def _ended(keys: Sequence[int]) -> EndedTurns:
    rows = Turn.objects.unscoped("retention").filter(pk__in=keys).exclude(status__in=SPARED).order_by("-pk")
    return {key: (seq, end) for key, seq, end in rows.values_list("pk", "next_seq", "completed_at")}


def preview(actor: Actor, query: Query) -> RetentionPreview:
    """Count what a rule with this query would delete now. Raises Unavailable."""
    found, by_session = RetentionPreview(), Counter[int]()
    for ended, spared in ended_turns(actor, query):
        found.turns += len(ended)
        found.spared += spared
        by_session.update(_sessions_of(list(ended)))
    for keys in _chunks(list(by_session)):
        going = {key: by_session[key] for key in keys}
        rows = Turn.objects.unscoped("retention").filter(session_id__in=keys).order_by()
        total = dict(rows.values("session_id").annotate(turns=Count("pk")).values_list("session_id", "turns"))
        empty = [key for key in keys if total.get(key) == going[key]]
        found.sessions |= {key: going[key] for key in _without_own_items(empty)}
    return found


def _sessions_of(turns: Sequence[int]) -> Iterator[int]:
    for keys in _chunks(turns):
        yield from Turn.objects.unscoped("retention").filter(pk__in=keys).values_list("session_id", flat=True)


def _without_own_items(sessions: Sequence[int]) -> list[int]:
    """Return those of the sessions that hold no items beside those of their turns."""
    rows = Item.objects.unscoped("retention").filter(session_id__in=sessions, turn=None)
    own = set(rows.values_list("session_id", flat=True))
    return [key for key in sessions if key not in own]


# -------------------------------------------------------------------------------------------- deletion


def delete(actor: Actor, turns: EndedTurns) -> tuple[int, int]:
    """Delete these turns in short jobs of the writer, those that have gone on meanwhile excepted, and the sessions
    that are empty then; return how many turns and sessions were deleted."""
    sessions = set(_sessions_of(list(turns)))
    deleted = 0
    for keys in _chunks(list(turns), bulk.BATCH_ROWS):
        unchanged = [key for key, state in _ended(keys).items() if state == turns[key]]
        deleted += bulk.delete(actor, "turn", unchanged, spared=SPARED).done
    chunks = _chunks(sorted(sessions), bulk.BATCH_ROWS)
    return deleted, sum(writer.write(partial(_delete_empty, keys)) for keys in chunks)


def _delete_empty(sessions: list[int]) -> int:
    """Delete those of the sessions that have nothing in them, and return their number."""
    deletion.lock(Session, sessions)
    filled = set(
        Turn.objects.unscoped("retention").filter(session_id__in=sessions).values_list("session_id", flat=True)
    )
    rows = Session.objects.unscoped("retention").filter(pk__in=_without_own_items(sessions))
    empty = [key for key in rows.values_list("pk", flat=True) if key not in filled]
    deletion.delete_sessions(empty)
    return len(empty)


def _chunks(keys: Sequence[int], size: int = MAX_AMONG) -> Iterator[list[int]]:
    for start in range(0, len(keys), size):
        yield list(keys[start : start + size])

"""Builds the events of live lists: of records as they change, and of what a returning client missed.

A client learns nothing of records that its actor may not see, not even that something changed.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from django.utils import translation
from django.utils.safestring import SafeString

from agents.base.access import Actor
from agents.base.lazy_import import LazyFunction
from agents.base.models.changes import ChangeKind
from agents.base.reading import read
from agents.base.store import changes, feed_cursor
from agents.logs.schemas import row_ids
from agents.logs.store import changed_rows, listing, rows
from agents.logs.store.changed_rows import Record
from agents.logs.store.rows import Row
from agents.query.tree import Level, Query

MAX_REPLAY = 1000
"""Changes that a list replays; a client further behind has to load the page again."""
MAX_SCANNED = 20_000
"""Changes, of all actors, that are scanned for them."""
INITIAL_ROWS = 100
"""Rows of a list that are assumed to be on the page at first."""

_html_rows = LazyFunction("agents.logs.pages.rows.rows")


@dataclass(frozen=True, slots=True)
class ListFormat:
    """The format of a list's rows: their level, and whether they are HTML, in which language."""

    level: str
    html: bool
    language: str = ""


def _plain_text(value: Any) -> str:
    """Return a fragment (a string marked as HTML) as the plain string that msgspec can encode."""
    if isinstance(value, SafeString):
        return value[:]
    raise TypeError(f"{type(value).__name__} is not sent to browsers")


encode = msgspec.json.Encoder(enc_hook=_plain_text).encode
"""Encodes messages as JSON."""


def formatted(page: Sequence[Row], form: ListFormat, query: Query) -> list[dict[str, Any]]:
    """Return a list's rows as data, or as HTML with the query's terms highlighted."""
    if form.html:
        with translation.override(form.language or None):
            return [{"html": html} for html in _html_rows(query.level, page, query)]
    return [{"row": msgspec.Raw(row.model_dump_json().encode())} for row in page]


def list_events(
    actor: Actor,
    query: Query,
    records: Sequence[Record],
    form: ListFormat,
    sent: frozenset[str] = frozenset(),
) -> list[dict[str, Any]]:
    """Return the events of changed records: ``row`` for those the query accepts, ``gone`` for the others.
    Records that the actor may not see are left out, unless they were ``sent`` before; an admin gets ``gone``
    for every record."""
    keys, turns = changed_rows.by(query, records)
    accepted = sorted(listing.accepted(actor, query, keys, turns), reverse=True)
    visible_rows = rows.of(query.level, accepted)
    names = {key: row_ids.public(query.level, key) for key in keys}
    events: list[dict[str, Any]] = [
        {"type": "row", "id": changed_rows.name_of(row, query.level), **fields}
        for row, fields in zip(reversed(visible_rows), reversed(formatted(visible_rows, form, query)), strict=True)
    ]
    others = {key: name for key, name in names.items() if key not in set(accepted)}
    told = others.keys() if actor.is_admin else _visible_keys(query.level, actor, others)
    removed = [name for key, name in others.items() if key in told or name in sent]
    return [*events, *({"type": "gone", "id": name} for name in removed)]


def _visible_keys(level: Level, actor: Actor, keys: Collection[int]) -> set[int]:
    visible = listing.visible(level, actor).filter(pk__in=list(keys)) if keys else None
    return set() if visible is None else set(visible.values_list("pk", flat=True))


def missing_rows(actor: Actor, query: Query, names: Sequence[str]) -> list[dict[str, Any]]:
    """Return ``gone`` events for the rows of a page that are not in its list. They do not reveal whether a row
    ever existed."""
    keys = {name: row_ids.key_of(query.level, name) for name in names}
    accepted = listing.accepted(actor, query, [key for key in keys.values() if key is not None])
    return [{"type": "gone", "id": name} for name, key in keys.items() if key not in accepted]


def list_packet(op: str, events: Sequence[dict[str, Any]], cursor: str) -> bytes:
    return b'"%b",%b' % (op.encode(), encode({"events": events, "cursor": cursor})[1:])


def gap_packet(actor: Actor, seq: int) -> bytes:
    """Return the packet that tells a client to load the page again; its cursor stands behind the gap."""
    return b'"gap","cursor":"%b"}' % feed_cursor.at(actor, seq).encode()


def initial_rows(actor: Actor, query: Query) -> list[str]:
    """Return the ids of the newest rows of a list, oldest first: about those on the page that subscribes."""
    return [row_ids.public(query.level, key) for key in reversed(listing.page(actor, query, limit=INITIAL_ROWS).keys)]


def rows_after(page: Sequence[str], events: Sequence[dict[str, Any]]) -> list[str]:
    """Return the ids of the rows on a page after these events."""
    of = {kind: [event["id"] for event in events if event["type"] == kind] for kind in ("row", "gone")}
    return [*dict.fromkeys(name for name in (*page, *of["row"]) if name not in {*of["gone"]})]


async def catch_up(
    actor: Actor, query: Query, form: ListFormat, *, after: str, page: Sequence[str]
) -> tuple[int, list[dict[str, Any]] | None]:
    """Return the change feed's number, and the events since the page was rendered, with the page's rows that are
    missing by now; None in place of the events when there are more than `MAX_REPLAY`."""
    if not after:
        seen, events = await read(changes.latest), []
    else:
        since = feed_cursor.seq_of(actor, after)
        seen, changed = await read(_changes_since, actor, query.level, since)
        if changed is None:
            return seen, None
        events = await read(list_events, actor, query, changed, form)
    if page:
        event_ids = {event["id"] for event in events}
        missing = await read(missing_rows, actor, query, page)
        events += [event for event in missing if event["id"] not in event_ids]
    return seen, events


def _changes_since(actor: Actor, level: Level, after: int) -> tuple[int, list[Record] | None]:
    """Return the change feed's newest number and the visible records that changed behind ``after``; None in place of
    the records when there are too many. Records the actor may not see count against `MAX_SCANNED` only."""
    kinds, matches = changed_rows.kinds(level), dict[Record, None]()
    seen, scanned = min(after, changes.latest()), 0
    while (changed := changes.after(seen)) is not None and len(matches) <= MAX_REPLAY and scanned < MAX_SCANNED:
        seen, scanned = changed.seq, scanned + len(changed.records)
        records = [record for record in changed.records if record[0] in kinds]
        matches.update(dict.fromkeys(_visible_records(actor, level, records)))
    if changed is not None or len(matches) > MAX_REPLAY:
        return changes.latest(), None
    return seen, list(matches)


def _visible_records(actor: Actor, level: Level, records: Sequence[Record]) -> Sequence[Record]:
    """Return the records (turns and rows of the level) that the actor may see; for an admin also deleted ones."""
    if actor.is_admin:
        return records
    visible: set[Record] = set()
    for kind, list_level in {int(ChangeKind.TURN): "turn", changed_rows.kind_of(level): level}.items():
        keys = [key for record_kind, key in records if record_kind == kind]
        rows = listing.visible(list_level, actor).filter(pk__in=keys) if keys else None
        visible.update((kind, key) for key in (rows.values_list("pk", flat=True) if rows is not None else ()))
    return [record for record in records if record in visible]

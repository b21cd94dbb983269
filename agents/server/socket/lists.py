"""What a list tells of records that changed: as they do, and to who comes back.

Of what the actor may not see nothing is told, not even that something changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agents.base.access import Actor
from agents.base.models.changes import ChangeKind
from agents.base.reading import read
from agents.base.store import changes, feed_cursor
from agents.logs.store import changed_rows, listing, rows
from agents.logs.store.changed_rows import Record
from agents.query.tree import Level, Query
from agents.server.socket import fragments

REPLAY_CAP = 1000
"""Changes a list catches up on; behind that the client is told to load the page again."""
LOOKED_AT = 20_000
"""Changes, of everybody, that are looked through for them."""
NEWEST = 100
"""Rows of a list taken to be on the page at first."""

_encode = fragments.encode


def list_events(
    actor: Actor, query: Query, records: Sequence[Record], form: fragments.Form, sent: frozenset[str] = frozenset()
) -> list[dict[str, Any]]:
    """What a list shows of changed records: rows it accepts, and which are not (or no more) in it.
    Of what the actor may not see nothing is said, unless it was ``sent`` before and is gone; who
    may see everything is told of everything that goes."""
    keys, turns = changed_rows.by(query, records)
    accepted = sorted(listing.accepted(actor, query, keys, turns), reverse=True)
    found = rows.of(query.level, accepted)
    names = {key: changed_rows.public(query.level, key) for key in keys}
    events: list[dict[str, Any]] = [
        {"type": "row", "id": changed_rows.name_of(row, query.level), **told}
        for row, told in zip(reversed(found), reversed(fragments.rows(found, form, query)), strict=True)
    ]
    seen = set(listing.visible(query.level, actor).filter(pk__in=keys).values_list("pk", flat=True))
    others = {key: name for key, name in names.items() if key not in set(accepted)}
    gone = [name for key, name in others.items() if actor.is_admin or key in seen or name in sent]
    return [*events, *({"type": "gone", "id": name} for name in gone)]


def without(actor: Actor, query: Query, names: Sequence[str]) -> list[dict[str, Any]]:
    """Which of the rows a page has are not in its list. Whether one that is not was there ever is not
    told: each is only not there."""
    keys = {name: changed_rows.key_of(query.level, name) for name in names}
    there = listing.accepted(actor, query, [key for key in keys.values() if key is not None])
    return [{"type": "gone", "id": name} for name, key in keys.items() if key not in there]


def list_packet(op: str, events: Sequence[dict[str, Any]], cursor: str) -> bytes:
    return b'"%b",%b' % (op.encode(), _encode({"events": events, "cursor": cursor})[1:])


def gap(actor: Actor, seq: int) -> bytes:
    """More happened than is told: the page is to be loaded again. The cursor stands behind it."""
    return b'"gap","cursor":"%b"}' % feed_cursor.at(actor, seq).encode()


def shown_at_first(actor: Actor, query: Query) -> list[str]:
    """The newest rows of a list, oldest first: about those on the page that subscribes."""
    return [changed_rows.public(query.level, key) for key in reversed(listing.page(actor, query, limit=NEWEST).keys)]


def on_page(page: Sequence[str], events: Sequence[dict[str, Any]]) -> list[str]:
    """What is on a page that has caught up."""
    of = {kind: [event["id"] for event in events if event["type"] == kind] for kind in ("row", "gone")}
    return [*dict.fromkeys(name for name in (*page, *of["row"]) if name not in {*of["gone"]})]


async def catch_up(
    actor: Actor, query: Query, form: fragments.Form, *, after: str, page: Sequence[str]
) -> tuple[int, list[dict[str, Any]] | None]:
    """What changed since the page was rendered, and what it has that is gone; with the change feed's
    number. None for more than is told."""
    if not after:
        seen, events = await read(changes.latest), []
    else:
        since = feed_cursor.seq_of(actor, after)
        seen, changed = await read(_changed, actor, query.level, since)
        if changed is None:
            return seen, None
        events = await read(list_events, actor, query, changed, form)
    if page:
        told = {event["id"] for event in events}
        gone = await read(without, actor, query, page)
        events += [event for event in gone if event["id"] not in told]
    return seen, events


def _changed(actor: Actor, level: Level, after: int) -> tuple[int, list[Record] | None]:
    """(the change feed's newest number, what the actor sees of what changed behind ``after``); None for
    more than is told. What others changed counts only against how far is looked at all."""
    kinds, found = changed_rows.kinds(level), dict[Record, None]()
    seen, looked = min(after, changes.latest()), 0
    while (changed := changes.after(seen)) is not None and len(found) <= REPLAY_CAP and looked < LOOKED_AT:
        seen, looked = changed.seq, looked + len(changed.records)
        records = [record for record in changed.records if record[0] in kinds]
        found.update(dict.fromkeys(_visible(actor, level, records)))
    if changed is not None or len(found) > REPLAY_CAP:
        return changes.latest(), None
    return seen, list(found)


def _visible(actor: Actor, level: Level, records: Sequence[Record]) -> Sequence[Record]:
    """Those of the records, turns and rows of the level, that the actor sees. An admin is told of what is
    deleted, too."""
    if actor.is_admin:
        return records
    there: set[Record] = set()
    for kind, of in {int(ChangeKind.TURN): "turn", changed_rows.kind_of(level): level}.items():
        keys = [key for each, key in records if each == kind]
        rows = listing.visible(of, actor).filter(pk__in=keys) if keys else None
        there.update((kind, key) for key in (rows.values_list("pk", flat=True) if rows is not None else ()))
    return [record for record in records if record in there]

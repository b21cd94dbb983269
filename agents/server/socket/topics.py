"""Follows the topics of subscriptions: a turn, or a list of rows of a level (of a session, an agent, or all).

`follow` yields each frame from the value of ``op`` on, without the subscription's id, so that sockets at the same
cursor share the encoding. A turn's events go out as they come, with the deltas of a tick merged. A
list queries the store for the changed rows that it accepts: at once, and while changes keep coming once per tick.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections import deque
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from msgspec.structs import replace

from agents.base import ids
from agents.base.access import Actor
from agents.base.errors import InvalidRequest, NotFound
from agents.base.lazy_import import LazyFunction
from agents.base.reading import read
from agents.base.store import feed_cursor
from agents.logs.store import changed_rows
from agents.logs.store.changed_rows import Record
from agents.query.chips import term_of, within
from agents.query.parser import read as read_query
from agents.query.tree import Level, Query
from agents.record import live
from agents.record.bus import Waiters, hub
from agents.record.schemas.events import EVENT, Delta, Entry, cursor_of, parse_cursor, position
from agents.record.store import replay, turns
from agents.server.socket.lists import (
    ListFormat,
    catch_up,
    encode,
    gap_packet,
    initial_rows,
    list_events,
    list_packet,
    missing_rows,
    rows_after,
)

log = logging.getLogger(__name__)

TICK_S = 0.04
LIST_TICK_S = 0.05
MAX_LIST_PAUSE_S = 5.0
"""The longest pause after which a list is tried again that cannot be read: each failure doubles it."""
ADVANCE_INTERVAL_S = 60.0
"""Interval in which a list's cursor advances without events, whether or not others changed something."""
MAX_PACKETS = 64
"""Packets that a list retains for sockets that are behind."""
MAX_TRACKED_ROWS = 1000
"""Rows of a list that are tracked as being on its pages."""
LEVELS: dict[str, Level] = {"turns": "turn", "sessions": "session", "steps": "step", "responses": "response"}
"""The levels of a list's rows, by their names in messages."""
MAX_SHOWN, MAX_ID_LENGTH = 500, 64
"""Limits of ``shown``: the number of ids, and the characters of each."""

_turn_events_as_html = LazyFunction("agents.server.socket.fragments.turn_events")


@dataclass(frozen=True, slots=True)
class Subscription:
    """The parameters of a subscription. ``after`` is a turn's cursor, or a sealed position in the change feed.
    ``shown`` are the rows on the client's page: it gets ``gone`` for those that are not in the list, now or later.
    ``language`` is the language of the HTML; JSON has none."""

    actor: Actor
    topic: str
    level: str
    q: str
    after: str
    form: str
    shown: tuple[str, ...] = ()
    language: str = ""

    @property
    def html(self) -> bool:
        return self.form == "html"


def follow(subscription: Subscription) -> AsyncIterator[bytes]:
    """Yield the frames of a subscription. Raises InvalidRequest, QuerySyntax, NotFound while iterated."""
    if subscription.form not in {"json", "html"}:
        raise InvalidRequest("as: say json or html.", param="as")
    kind, _, public_id = subscription.topic.partition(":")
    if kind == "turn":
        return _follow_turn(subscription, public_id)
    if kind in {"logs", "session", "agent"}:
        return _follow_list(subscription, _narrow_query(kind, public_id, subscription.q))
    raise InvalidRequest("topic: say turn:<id>, session:<id>, agent:<id> or logs.", param="topic")


def _narrow_query(kind: str, public_id: str, q: str) -> str:
    if kind == "logs":
        return q
    id_kind = ids.Kind.SESSION if kind == "session" else ids.Kind.AGENT
    if ids.parse(id_kind, public_id) is None:
        raise NotFound(f"{kind.capitalize()} '{public_id[:80]}' not found.")
    return within(read_query(q, now_us=ids.now_us()), term_of(kind, public_id)).text


# ---------------------------------------------------------------------------------------------- turn


async def _follow_turn(subscription: Subscription, public_id: str) -> AsyncIterator[bytes]:
    key = turns.key_of(public_id)
    await read(turns.target, subscription.actor, key)
    try:
        after = parse_cursor(subscription.after)
    except ValueError as error:
        raise InvalidRequest(f"after: {error}.", param="after") from error
    op = "replay"
    async for batch in live.follow(key, after, limit=replay.MAX_WINDOW):
        if batch:
            yield await _packet(subscription, key, batch, op)
        if op == "replay":
            yield b'"live"}'
            op = "events"
        if not batch:
            await read(turns.target, subscription.actor, key)  # the right to read it may have been revoked
        if len(batch) < live.MAX_BATCH:  # one that is catching up need not wait for the others
            await _next_tick()


async def _next_tick() -> None:
    """Sleep until the next common tick: sockets that wake together have the same cursors and share packets."""
    now = asyncio.get_running_loop().time()
    await asyncio.sleep(TICK_S - now % TICK_S)


_packets: dict[tuple[Any, ...], bytes] = {}
_MAX_CACHED_PACKETS = 512


async def _packet(subscription: Subscription, key: int, batch: Sequence[Entry], op: str) -> bytes:
    cache_key = (key, subscription.form, subscription.language, op, position(batch[0]), position(batch[-1]))
    packet = _packets.get(cache_key)
    if packet is None:
        events = [_event(entry) for entry in merge_deltas(batch)]
        if subscription.html:
            events = await read(_turn_events_as_html, subscription.actor, key, events, subscription.language)
        body = {"events": events, "cursor": cursor_of(batch[-1])}
        packet = b'"%b",%b' % (op.encode(), encode(body)[1:])
        if len(_packets) >= _MAX_CACHED_PACKETS:
            _packets.clear()
        _packets[cache_key] = packet
    return packet


def merge_deltas(batch: Sequence[Entry]) -> list[Entry]:
    """Merge neighbouring deltas of the same text; the merged delta has the position of the last."""
    entries: list[Entry] = []
    run: list[Delta] = []
    for entry in batch:
        if isinstance(entry, Delta) and (not run or _joins(run[-1], entry)):
            run.append(entry)
            continue
        entries += _joined_delta(run)
        run = [entry] if isinstance(entry, Delta) else []
        if not run:
            entries.append(entry)
    return entries + _joined_delta(run)


def _joins(last: Delta, delta: Delta) -> bool:
    same = (last.step, last.channel, last.index) == (delta.step, delta.channel, delta.index)
    return same and last.offset + len(last.text) == delta.offset


def _joined_delta(run: list[Delta]) -> list[Entry]:
    if not run:
        return []
    return [replace(run[-1], offset=run[0].offset, text="".join(delta.text for delta in run))]


def _event(entry: Entry) -> dict[str, Any]:
    if isinstance(entry, Delta):
        return {
            "type": "delta",
            "step": ids.public(ids.Kind.STEP, entry.step),
            "channel": entry.channel,
            "index": entry.index,
            "offset": entry.offset,
            "text": entry.text,
        }
    written: dict[str, Any] = EVENT.dump_python(entry, mode="json", exclude_none=True)
    return written


# ---------------------------------------------------------------------------------------------- list


Packet = tuple[int, int, bytes]
"""(number of its newest change in the change feed, the cursor after it, its bytes); empty bytes only advance the
reader's cursor. Between the cursor and that number may be changes of other processes that are not known here yet."""


class _ListWatch:
    """Follows one query for one actor and shares its packets: it reads as soon as something has changed, and again a
    tick later at the earliest, however many sockets wait. It retains the last packets and each reader has a position,
    so that one who is catching up misses none."""

    def __init__(self, actor: Actor, query: Query, form: ListFormat) -> None:
        self.actor, self.query, self.form = actor, query, form
        self._kinds = changed_rows.kinds(query.level)
        self.readers = 0
        self.packet_count = 0
        self.read_count = 0
        self._packets: deque[Packet] = deque(maxlen=MAX_PACKETS)
        self._readers = Waiters()
        self._changed: dict[Record, None] = {}
        self._sent: dict[str, None] = {}
        self._is_behind = asyncio.Event()
        self._newest = 0
        self._cursor, self._read_cursor, self._advanced_cursor = 0, 0, 0
        self._stop = hub.subscribe(self._on_change)
        self._tasks = asyncio.create_task(self._run()), asyncio.create_task(self._advance())

    def _on_change(self, seq: int, records: Sequence[tuple[int, int]], told: int) -> None:
        self._newest, self._cursor = max(self._newest, seq), max(self._cursor, told)
        self._changed.update((record, None) for record in records if record[0] in self._kinds)
        if self._changed:
            self._is_behind.set()

    async def _run(self) -> None:
        pause_s = LIST_TICK_S
        while True:
            await self._is_behind.wait()
            is_read = await self._read_changes()
            pause_s = LIST_TICK_S if is_read else min(2 * pause_s, MAX_LIST_PAUSE_S)
            if not self._changed:
                self._is_behind.clear()
            await asyncio.sleep(pause_s)

    async def _advance(self) -> None:
        """Advance the readers' cursors over changes that the list does not show. Each time it goes to the number
        reached at the last time, not to the newest: nobody is to learn when others change something."""
        while True:
            await asyncio.sleep(ADVANCE_INTERVAL_S)
            self._put(self._advanced_cursor, self._advanced_cursor, b"")
            self._advanced_cursor = self._read_cursor if self._is_behind.is_set() else self._cursor

    def _put(self, newest: int, cursor: int, packet: bytes) -> None:
        self._packets.append((newest, cursor, packet))
        self.packet_count += 1
        self._readers.wake()

    async def _read_changes(self) -> bool:
        """Read what has changed for the readers; false where that failed, and is to be tried again."""
        records, self._changed = list(self._changed), {}
        newest, cursor = self._newest, self._cursor
        self.read_count += 1
        try:
            events = await read(list_events, self.actor, self.query, records, self.form, frozenset(self._sent))
        except Exception:  # the list is behind, not over: these records are read again
            log.exception("query=%s: a live list could not be read", self.query.text)
            self._changed = {**dict.fromkeys(records), **self._changed}
            return False
        self._read_cursor = cursor
        if events:  # else nobody learns that others changed something
            self.track(event["id"] for event in events if event["type"] == "row")
            self._put(newest, cursor, list_packet("events", events, feed_cursor.at(self.actor, cursor)))
        return True

    def track(self, public_ids: Iterable[str]) -> None:
        """Track rows as being on the page, so that it gets ``gone`` for them."""
        self._sent.update(dict.fromkeys(public_ids))
        while len(self._sent) > MAX_TRACKED_ROWS:
            del self._sent[next(iter(self._sent))]

    async def follow(self, position: int, seen: int) -> AsyncIterator[bytes]:
        """Yield the packets from ``position`` (a value of ``packet_count``) on, without those that contain nothing new
        for a reader who has ``seen`` the change feed up to that number."""
        cursor_seq = seen
        while True:
            if position < self.packet_count - len(self._packets):
                cursor_seq = max(cursor_seq, self._packets[0][1])
                yield gap_packet(self.actor, cursor_seq)
                position = self.packet_count - len(self._packets)
            new_packets = list(
                itertools.islice(self._packets, len(self._packets) - (self.packet_count - position), None)
            )
            position = self.packet_count
            for newest, cursor, packet in new_packets:
                if packet and newest <= seen:
                    continue
                cursor_seq = max(cursor_seq, cursor)
                yield packet or list_packet("events", (), feed_cursor.at(self.actor, cursor_seq))
            if position == self.packet_count:
                await self._readers.wait()

    def close(self) -> None:
        self._stop()
        for task in self._tasks:
            task.cancel()


_watches: dict[tuple[Any, ...], _ListWatch] = {}


async def _follow_list(subscription: Subscription, q: str) -> AsyncIterator[bytes]:
    if subscription.level not in LEVELS:
        raise InvalidRequest(f"level: say {', '.join(LEVELS)}.", param="level")
    if len(subscription.shown) > MAX_SHOWN or any(len(watch_key) > MAX_ID_LENGTH for watch_key in subscription.shown):
        raise InvalidRequest(f"shown: at most {MAX_SHOWN} ids of rows.", param="shown")
    query = await read(partial(read_query, q, now_us=ids.now_us(), level=LEVELS[subscription.level]))
    form = ListFormat(subscription.level, subscription.html, subscription.language)
    name = (
        subscription.actor.name,
        subscription.actor.key_id,
        str(subscription.actor),
        query.level,
        _absolute_query(query),
        form,
    )
    watch = _watches.get(name)
    if watch is None:
        watch = _watches[name] = _ListWatch(subscription.actor, query, form)
    watch.readers += 1
    position = watch.packet_count  # before catching up: packets that arrive meanwhile are sent after it
    try:
        if watch.readers == 1:
            watch.track(await read(initial_rows, subscription.actor, query))
        read_count = watch.read_count
        seen, events = await catch_up(
            subscription.actor, query, form, after=subscription.after, page=subscription.shown
        )
        page = rows_after(subscription.shown, events or ())
        watch.track(page)
        if events is not None and watch.read_count != read_count:
            # the watch may have read a deletion before it tracked these rows
            events += await read(missing_rows, subscription.actor, query, page)
        cursor = feed_cursor.at(subscription.actor, seen)
        yield gap_packet(subscription.actor, seen) if events is None else list_packet("replay", events, cursor)
        yield b'"live"}'
        async for packet in watch.follow(position, seen):
            yield packet
    finally:
        watch.readers -= 1
        if not watch.readers:
            watch.close()
            _watches.pop(name, None)


def _absolute_query(query: Query) -> str:
    """Return the key by which sockets share a query: its tree, in which relative times are absolute."""
    return query.tree.model_dump_json()

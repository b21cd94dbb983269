"""What can be subscribed to: a turn, or a list of a level's rows (a session's, an agent's, the logs').

`follow` yields the rest of each frame, from the value of ``op`` on, so that sockets at the same
place share the encoding. A turn's events go out as they come, with the deltas of a tick merged. A
list asks the store once per tick which of the changed rows its query accepts.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections import deque
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from agents.base import ids
from agents.base.access import Actor
from agents.base.errors import InvalidRequest, NotFound
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
from agents.server.socket import fragments as shown
from agents.server.socket.lists import catch_up, gap, list_events, list_packet, on_page, shown_at_first, without

log = logging.getLogger(__name__)

TICK_S = 0.04
LIST_TICK_S = 0.1
ADVANCE_S = 60.0
"""How often a list's cursor goes on without news, whatever others do or leave."""
PACKETS_KEPT = 64
"""Ticks that a socket may be behind the others of its list."""
REMEMBERED = 1000
"""Rows of a list that are taken to be on its pages."""
LEVELS: dict[str, Level] = {"turns": "turn", "sessions": "session", "steps": "step", "responses": "response"}
"""What the rows of a list are."""
SHOWN, LONGEST_ID = 500, 64
"""Rows that a page may say it has, and characters of their ids."""

_encode = shown.encode


@dataclass(frozen=True, slots=True)
class Subscription:
    """What a client asked for. ``after`` is a turn's cursor, or a sealed place in the change feed. ``shown``
    are the rows that a list's page has: it is told which of them are not in the list, now or later.
    ``language`` is the one of the HTML; data has none."""

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


def follow(wanted: Subscription) -> AsyncIterator[bytes]:
    """The frames of a subscription. Raises InvalidRequest, QuerySyntax, NotFound while iterated."""
    if wanted.form not in {"json", "html"}:
        raise InvalidRequest("as: say json or html.", param="as")
    kind, _, public_id = wanted.topic.partition(":")
    if kind == "turn":
        return _turn(wanted, public_id)
    if kind in {"logs", "session", "agent"}:
        return _list(wanted, _narrowed(kind, public_id, wanted.q))
    raise InvalidRequest("topic: say turn:<id>, session:<id>, agent:<id> or logs.", param="topic")


def _narrowed(kind: str, public_id: str, q: str) -> str:
    if kind == "logs":
        return q
    known = ids.Kind.SESSION if kind == "session" else ids.Kind.AGENT
    if ids.parse(known, public_id) is None:
        raise NotFound(f"{kind.capitalize()} '{public_id[:80]}' not found.")
    return within(read_query(q, now_us=ids.now_us()), term_of(kind, public_id)).text


# ---------------------------------------------------------------------------------------------- turn


async def _turn(wanted: Subscription, public_id: str) -> AsyncIterator[bytes]:
    key = turns.key_of(public_id)
    await read(turns.target, wanted.actor, key)
    try:
        after = parse_cursor(wanted.after)
    except ValueError as error:
        raise InvalidRequest(f"after: {error}.", param="after") from error
    op = "replay"
    async for batch in live.follow(key, after, limit=replay.MAX_WINDOW):
        if batch:
            yield await _packet(wanted, key, batch, op)
        if op == "replay":
            yield b'"live"}'
            op = "events"
        if not batch:
            await read(turns.target, wanted.actor, key)  # it may have been taken from us
        if len(batch) < live.MAX_BATCH:  # one that is catching up need not wait for the others
            await _next_tick()


async def _next_tick() -> None:
    """Sockets wake together, stand at the same cursors, and share what is encoded."""
    now = asyncio.get_running_loop().time()
    await asyncio.sleep(TICK_S - now % TICK_S)


_packets: dict[tuple[Any, ...], bytes] = {}
_PACKETS = 512


async def _packet(wanted: Subscription, key: int, batch: Sequence[Entry], op: str) -> bytes:
    name = (key, wanted.form, wanted.language, op, position(batch[0]), position(batch[-1]))
    found = _packets.get(name)
    if found is None:
        events = [_event(entry) for entry in merged(batch)]
        if wanted.html:
            events = await read(shown.turn_events, wanted.actor, key, events, wanted.language)
        body = {"events": events, "cursor": cursor_of(batch[-1])}
        found = b'"%b",%b' % (op.encode(), _encode(body)[1:])
        if len(_packets) >= _PACKETS:
            _packets.clear()
        _packets[name] = found
    return found


def merged(batch: Sequence[Entry]) -> list[Entry]:
    """Neighbouring deltas of the same text as one; the last one's position is kept."""
    out: list[Entry] = []
    run: list[Delta] = []
    for entry in batch:
        if isinstance(entry, Delta) and (not run or _joins(run[-1], entry)):
            run.append(entry)
            continue
        out += _joined(run)
        run = [entry] if isinstance(entry, Delta) else []
        if not run:
            out.append(entry)
    return out + _joined(run)


def _joins(last: Delta, delta: Delta) -> bool:
    same = (last.step, last.channel, last.index) == (delta.step, delta.channel, delta.index)
    return same and last.offset + len(last.text) == delta.offset


def _joined(run: list[Delta]) -> list[Entry]:
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
    return EVENT.dump_python(entry, mode="json", exclude_none=True)  # type: ignore[no-any-return]  # an event is a JSON object


# ---------------------------------------------------------------------------------------------- list


Packet = tuple[int, bytes]
"""What a list sends, and the change feed's number that it goes up to; nothing (``b""``) moves the reader's
cursor only."""


class _Watch:
    """One query for one actor: asked once per tick, whoever many sockets wait for it. What it found
    is kept for a while with readers as cursors, so that one who is still catching up misses none."""

    def __init__(self, actor: Actor, query: Query, form: shown.Form) -> None:
        self.actor, self.query, self.form = actor, query, form
        self._kinds = changed_rows.kinds(query.level)
        self.readers = 0
        self.made = 0
        self.looks = 0
        self._packets: deque[Packet] = deque(maxlen=PACKETS_KEPT)
        self._readers = Waiters()
        self._changed: dict[Record, None] = {}
        self._sent: dict[str, None] = {}
        self._seq, self._looked, self._advanced = 0, 0, 0
        self._stop = hub.subscribe(self._note)
        self._task = asyncio.create_task(self._work())

    def _note(self, seq: int, records: Sequence[tuple[int, int]]) -> None:
        self._seq = max(self._seq, seq)
        self._changed.update((record, None) for record in records if record[0] in self._kinds)

    async def _work(self) -> None:
        beat = asyncio.get_running_loop().time() + ADVANCE_S
        while True:
            await asyncio.sleep(LIST_TICK_S)
            if self._changed:
                await self._look()
            else:
                self._looked = self._seq
            if asyncio.get_running_loop().time() >= beat:
                beat += ADVANCE_S
                self._advance()

    def _advance(self) -> None:
        """Let cursors go on over what is not shown: to where all had been looked at a while ago, so that
        no number is skipped which comes out of turn."""
        self._put(self._advanced, b"")
        self._advanced = self._looked

    def _put(self, seq: int, packet: bytes) -> None:
        self._packets.append((seq, packet))
        self.made += 1
        self._readers.wake()

    async def _look(self) -> None:
        records, self._changed = list(self._changed), {}
        seq = self._seq
        self.looks += 1
        try:
            events = await read(list_events, self.actor, self.query, records, self.form, frozenset(self._sent))
        except Exception:  # the list is behind, not over: what changed is asked for again at the next tick
            log.exception("query=%s: a live list could not be read", self.query.text)
            self._changed = {**dict.fromkeys(records), **self._changed}
            return
        self._looked = seq
        if events:  # else nobody is told that others changed something
            self.remember(event["id"] for event in events if event["type"] == "row")
            self._put(seq, list_packet("events", events, feed_cursor.at(self.actor, seq)))

    def remember(self, public_ids: Iterable[str]) -> None:
        """These rows are on the page: when they go, it is told."""
        self._sent.update(dict.fromkeys(public_ids))
        while len(self._sent) > REMEMBERED:
            del self._sent[next(iter(self._sent))]

    async def follow(self, place: int, seen: int) -> AsyncIterator[bytes]:
        """The packets made since there were ``place`` of them, but for those that tell nothing to a
        reader who has ``seen`` the change feed so far."""
        told = seen
        while True:
            if place < self.made - len(self._packets):
                told = max(told, self._packets[0][0])
                yield gap(self.actor, told)
                place = self.made - len(self._packets)
            fresh = list(itertools.islice(self._packets, len(self._packets) - (self.made - place), None))
            place = self.made
            for seq, packet in fresh:
                if packet and seq <= seen:
                    continue
                told = max(told, seq)
                yield packet or list_packet("events", (), feed_cursor.at(self.actor, told))
            if place == self.made:
                await self._readers.wait()

    def close(self) -> None:
        self._stop()
        self._task.cancel()


_watches: dict[tuple[Any, ...], _Watch] = {}


async def _list(wanted: Subscription, q: str) -> AsyncIterator[bytes]:
    if wanted.level not in LEVELS:
        raise InvalidRequest(f"level: say {', '.join(LEVELS)}.", param="level")
    if len(wanted.shown) > SHOWN or any(len(name) > LONGEST_ID for name in wanted.shown):
        raise InvalidRequest(f"shown: at most {SHOWN} ids of rows.", param="shown")
    query = await read(partial(read_query, q, now_us=ids.now_us(), level=LEVELS[wanted.level]))
    form = shown.Form(wanted.level, wanted.html, wanted.language)
    name = (wanted.actor.name, wanted.actor.key_id, str(wanted.actor), query.level, _fixed(query), form)
    watch = _watches.get(name)
    if watch is None:
        watch = _watches[name] = _Watch(wanted.actor, query, form)
    watch.readers += 1
    place = watch.made  # before catching up: what comes meanwhile is sent after it
    try:
        if watch.readers == 1:
            watch.remember(await read(shown_at_first, wanted.actor, query))
        looks = watch.looks
        seen, events = await catch_up(wanted.actor, query, form, after=wanted.after, page=wanted.shown)
        there = on_page(wanted.shown, events or ())
        watch.remember(there)
        if events is not None and watch.looks != looks:
            # the watch may have looked at a deletion before it knew of these
            events += await read(without, wanted.actor, query, there)
        cursor = feed_cursor.at(wanted.actor, seen)
        yield gap(wanted.actor, seen) if events is None else list_packet("replay", events, cursor)
        yield b'"live"}'
        async for packet in watch.follow(place, seen):
            yield packet
    finally:
        watch.readers -= 1
        if not watch.readers:
            watch.close()
            _watches.pop(name, None)


def _fixed(query: Query) -> str:
    """The query as it is shared between sockets: what was relative when each asked is not."""
    return query.tree.model_dump_json()

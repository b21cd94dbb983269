"""When a live list looks for what has changed: at once after a quiet time, once per tick while changes keep coming, and
never where nothing changes. A tick is an hour here, which a test lets pass."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from threading import Barrier
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from channels.testing import WebsocketCommunicator
from django.db import ProgrammingError, connection

from agents.base import ids, reading
from agents.base.models.changes import ChangeKind
from agents.base.store import keys
from agents.record.bus import hub
from agents.server.routing import websocket
from agents.server.socket import topics
from tests.support.builders import Recorded, make_turn
from tests.support.inprocess import open_database

LATER = 1 << 40
"""A number of the change feed behind all of the test's own."""
PATIENCE_S = 60
"""How long a frame may take on a machine that has other things to do."""
TICK_S = 3600.0


@pytest.fixture(autouse=True)
def _slow_ticks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topics, "LIST_TICK_S", TICK_S)
    monkeypatch.setattr(topics, "MAX_LIST_PAUSE_S", 4 * TICK_S)
    monkeypatch.setattr(topics, "ADVANCE_INTERVAL_S", 1e9)


@pytest.fixture
def turns(django_db_setup: None, django_db_blocker: Any) -> Iterator[list[Recorded]]:
    with open_database(django_db_blocker):
        yield [make_turn(keys.local()) for _ in range(3)]


class Statements:
    """Counts the statements of the threads that read for the loop, and has them fail where it is told to."""

    def __init__(self) -> None:
        self.count = 0
        self.fail = False

    def __call__(self, go: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        self.count += 1
        if self.fail:
            raise ProgrammingError("no such column")
        return go(sql, params, many, context)

    async def watch(self) -> None:
        """Begin to count; the statements of reads that have begun before are run."""
        await _in_all_readers(lambda: connection.execute_wrappers.append(self))

    async def unwatch(self) -> None:
        await _in_all_readers(lambda: connection.execute_wrappers.remove(self))


async def _in_all_readers(act: Callable[[], object]) -> None:
    count = reading._readers._max_workers
    everyone = Barrier(count)

    def once() -> None:
        everyone.wait(10)  # or the first of them would do it again for another
        act()

    await asyncio.gather(*(reading.read(once) for _ in range(count)))


class OpenList:
    """A socket that follows the list of turns, and the clock of its loop."""

    def __init__(self, ws: WebsocketCommunicator) -> None:
        self._ws, self._passed_s = ws, 0.0
        self.statements = Statements()
        loop = asyncio.get_running_loop()
        own = loop.time
        loop.time = lambda: own() + self._passed_s  # type: ignore[method-assign]  # to let time pass

    def pass_s(self, seconds: float) -> None:
        self._passed_s += seconds

    async def hear(self) -> list[tuple[str, str]]:
        """Return the events of the next message: the type and the id of each."""
        frame = await self._ws.receive_json_from(timeout=PATIENCE_S)
        return [(event["type"], event["id"]) for event in frame["events"]]

    async def tries_after(self, ticks: int) -> bool:
        """Tell whether the list is read after some ticks."""
        before = self.statements.count
        self.pass_s(ticks * TICK_S)
        await self.settle()
        return self.statements.count > before

    async def settle(self) -> None:
        """Wait until all that has to be read by now has been read."""
        for _ in range(5):
            await _in_all_readers(lambda: None)


@asynccontextmanager
async def open_list() -> AsyncIterator[OpenList]:
    ws = WebsocketCommunicator(websocket, "/ws/live", headers=[(b"host", b"testserver")])
    hub.start()
    opened = OpenList(ws)
    try:
        assert (await ws.connect(PATIENCE_S))[0]
        await ws.send_json_to({"op": "subscribe", "id": 1, "topic": "logs"})
        while (await ws.receive_json_from(timeout=PATIENCE_S))["op"] != "live":
            pass
        await opened.statements.watch()
        yield opened
        await opened.statements.unwatch()
    finally:
        await ws.disconnect()
        hub.stop()


def changed(*turns: Recorded) -> None:
    for turn in turns:
        hub.notify(LATER, [(ChangeKind.TURN, turn.turn)])


def row_of(turn: Recorded) -> tuple[str, str]:
    return "row", turn.public_id


def test_a_change_after_a_quiet_time_is_told_at_once(turns: list[Recorded]) -> None:
    async def flow() -> None:
        async with open_list() as one:
            for turn in turns:
                changed(turn)
                assert await one.hear() == [row_of(turn)]
                one.pass_s(TICK_S)
                await one.settle()

    async_to_sync(flow)()


def test_changes_that_keep_coming_are_joined_until_the_tick(turns: list[Recorded]) -> None:
    first, second, third = turns

    async def flow() -> None:
        async with open_list() as one:
            changed(first)
            assert await one.hear() == [row_of(first)]
            await one.settle()
            price = one.statements.count

            for turn in (third, second, third):
                changed(turn)
                await one.settle()
            assert one.statements.count == price
            one.pass_s(TICK_S)
            assert sorted(await one.hear()) == sorted([row_of(second), row_of(third)])
            await one.settle()
            assert one.statements.count <= 2 * price

    async_to_sync(flow)()


def test_nothing_is_looked_up_where_nothing_changes(turns: list[Recorded]) -> None:
    """Or only what no row of the list depends on."""

    async def flow() -> None:
        async with open_list() as one:
            for _ in range(3):
                one.pass_s(10 * TICK_S)
                hub.notify(LATER, [(ChangeKind.AGENT, ids.new_key())])
                await one.settle()
            assert one.statements.count == 0

    async_to_sync(flow)()


def test_a_list_that_cannot_be_read_is_tried_less_and_less_often(turns: list[Recorded]) -> None:
    """It once was tried twenty times a second, with a traceback each time."""
    first, second, third = turns

    async def flow() -> None:
        async with open_list() as one:
            one.statements.fail = True
            changed(first)
            tried_after = [await one.tries_after(ticks) for ticks in (0, 1, 1, 3, 1, 3, 1)]
            assert tried_after == [True, False, True, False, True, False, True]

            one.statements.fail = False
            one.pass_s(4 * TICK_S)
            assert await one.hear() == [row_of(first)]
            for turn in (second, third):
                one.pass_s(TICK_S)
                await one.settle()
                changed(turn)
                assert await one.hear() == [row_of(turn)]

    async_to_sync(flow)()

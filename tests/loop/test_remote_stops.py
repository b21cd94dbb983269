"""Orders between processes to stop a turn: they arrive, also where a message is lost, or one is told that they did
not."""

from __future__ import annotations

import asyncio

import pytest

from agents.loop import remote_stops
from agents.loop.remote_stops import RemoteStops
from tests.support.exchange import Exchange
from tests.support.waiting import until

Order = tuple[int, int, str]


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote_stops, "ANSWER_S", 0.2)


def never(turn: int, epoch: int, reason: str) -> None:
    pytest.fail(f"nobody asked to stop {turn} here")


def test_an_order_reaches_the_process_it_is_for() -> None:
    async def flow() -> None:
        exchange = Exchange()
        taken: list[Order] = []
        asking = RemoteStops(exchange.channel("asks"), never)
        RemoteStops(exchange.channel("runs"), lambda *order: taken.append(order))
        RemoteStops(exchange.channel("other"), never)
        assert await asyncio.to_thread(asking.order, "runs", 1 << 60, 3, "cancelled by \u00fc" + "x" * 9_000)
        [(turn, epoch, reason)] = taken
        assert (turn, epoch, reason[:15]) == (1 << 60, 3, "cancelled by \u00fcx")

    asyncio.run(flow())


def test_a_lost_order_is_sent_again() -> None:
    async def flow() -> None:
        exchange = Exchange()
        taken: list[Order] = []
        asks, runs = exchange.channel("asks"), exchange.channel("runs")
        asking = RemoteStops(asks, never)
        RemoteStops(runs, lambda *order: taken.append(order))
        runs.is_cut = True
        order = asyncio.create_task(asyncio.to_thread(asking.order, "runs", 1, 0, "why"))
        await until(lambda: asks.sent)
        runs.is_cut = False
        assert await order
        assert taken == [(1, 0, "why")]

    asyncio.run(flow())


def test_where_the_answer_is_lost_it_is_told_twice() -> None:
    async def flow() -> None:
        exchange = Exchange()
        taken: list[Order] = []
        asks, runs = exchange.channel("asks"), exchange.channel("runs")

        def take(turn: int, epoch: int, reason: str) -> None:
            asks.is_cut = not taken  # the first answer does not arrive
            taken.append((turn, epoch, reason))

        asking = RemoteStops(asks, never)
        RemoteStops(runs, take)
        order = asyncio.create_task(asyncio.to_thread(asking.order, "runs", 1, 0, "why"))
        await until(lambda: taken and runs.sent)
        asks.is_cut = False
        assert await order
        assert taken == [(1, 0, "why")] * 2

    asyncio.run(flow())


def test_who_does_not_answer_is_told_of() -> None:
    async def flow() -> None:
        exchange = Exchange()
        asks = exchange.channel("asks")
        asking = RemoteStops(asks, never)
        assert not await asyncio.to_thread(asking.order, "gone", 1, 0, "why")
        assert len(asks.sent) == remote_stops.TRIES
        asks.is_cut = True
        assert not await asyncio.to_thread(asking.order, "gone", 1, 0, "why")
        assert len(asks.sent) == remote_stops.TRIES

    asyncio.run(flow())


def test_a_process_alone_reaches_nobody() -> None:
    assert not RemoteStops().order("other", 1, 0, "why")

"""Messages between processes over PostgreSQL: who gets them, and what becomes of them when it goes away."""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import psycopg
import pytest

from agents.base.messaging.channel import MAX_BODY_BYTES
from agents.base.messaging.postgresql import PostgresMessageChannel
from tests.support.postgresql import free_port
from tests.support.waiting import until

URL = os.environ.get("TEST_DATABASE_URL", "")
pytestmark = pytest.mark.skipif(not URL, reason="needs a PostgreSQL")

Received = list[tuple[str, str]]


def name() -> str:
    return f"process {secrets.token_hex(8)}"


@asynccontextmanager
async def channel(**parameters: Any) -> AsyncIterator[PostgresMessageChannel]:
    made = PostgresMessageChannel(name(), {"conninfo": URL, **parameters})
    await made.start()
    try:
        yield made
    finally:
        await made.stop()


@asynccontextmanager
async def channels(count: int) -> AsyncIterator[list[PostgresMessageChannel]]:
    """Channels through which messages get."""
    made = [PostgresMessageChannel(name(), {"conninfo": URL}) for _ in range(count)]
    try:
        for each in made:
            await each.start()
        for each in made:
            await until(lambda each=each: each.is_working)  # type: ignore[misc]  # of no type
        yield made
    finally:
        for each in made:
            await each.stop()


def heard_by(channel: PostgresMessageChannel, topic: str) -> Received:
    received: Received = []
    channel.on(topic, lambda sender, body: received.append((sender, body)))
    return received


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(work)


def test_a_message_reaches_one_or_all_others_in_order() -> None:
    async def flow() -> None:
        async with channels(3) as (one, two, three):
            at_one, at_two, at_three = (heard_by(each, "news") for each in (one, two, three))
            for number in range(500):
                one.send("news", f"{number}: \u00fc\U0001f600\n\ttext")
            one.send("news", "for two", to=two.process)
            one.send("other", "nobody asked for it")
            one.send("news", "last")
            await until(lambda: at_two and at_two[-1][1] == "last" and at_three and at_three[-1][1] == "last")
            everyones = [(one.process, f"{number}: \u00fc\U0001f600\n\ttext") for number in range(500)]
            assert at_two == [*everyones, (one.process, "for two"), (one.process, "last")]
            assert at_three == [*everyones, (one.process, "last")]
            assert at_one == []

    run(flow())


def test_a_message_may_come_from_any_thread_and_be_as_long_as_is_promised() -> None:
    async def flow() -> None:
        async with channels(2) as (one, two):
            received = heard_by(two, "t" * 32)
            await asyncio.to_thread(one.send, "t" * 32, "\u00fc" * (MAX_BODY_BYTES // 2))
            await until(lambda: received)
            assert len(received[0][1].encode()) == MAX_BODY_BYTES
            with pytest.raises(ValueError, match="at most"):
                one.send("news", "\u00fc" * (MAX_BODY_BYTES // 2) + "x")

    run(flow())


def test_a_text_that_the_database_does_not_hold_is_lost_alone() -> None:
    async def flow() -> None:
        async with channels(2) as (one, two):
            received = heard_by(two, "news")
            one.send("news", "zero: \x00")
            await until(lambda: not one._waiting)
            one.send("news", "next")
            await until(lambda: received)
            assert received == [(one.process, "next")]

    run(flow())


def test_more_at_once_than_the_socket_takes_arrives_in_order() -> None:
    async def flow() -> None:
        async with channels(2) as (one, two):
            received = heard_by(two, "news")
            bodies = [f"{number:07}" + "x" * (MAX_BODY_BYTES - 7) for number in range(2_000)]
            for body in bodies:
                one.send("news", body)
            await until(lambda: len(received) == len(bodies))
            assert [body for _, body in received] == bodies

    run(flow())


def test_what_the_server_refuses_is_lost_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    async def flow() -> None:
        async with channels(2) as (one, two):
            received = heard_by(two, "news")
            one.send("news", "half of a character: \ud83d")
            await until(lambda: "messages could not be sent" in caplog.text)
            one.send("news", "next")
            await until(lambda: received)
            assert received == [(one.process, "next")]

    run(flow())


def test_what_no_process_has_sent_is_left_alone(caplog: pytest.LogCaptureFixture) -> None:
    async def flow() -> None:
        async with channels(2) as (one, two):
            received = heard_by(two, "news")
            with psycopg.connect(URL, autocommit=True) as stranger:
                stranger.execute("SELECT pg_notify('agents:', 'hello')")
            await until(lambda: "no process of this program" in caplog.text)
            one.send("news", "next")
            await until(lambda: received)
            assert received == [(one.process, "next")]

    run(flow())


def test_a_handler_that_fails_keeps_nothing_from_others(caplog: pytest.LogCaptureFixture) -> None:
    def fail(sender: str, body: str) -> None:
        raise RuntimeError(body)

    async def flow() -> None:
        async with channels(2) as (one, two):
            two.on("news", fail)
            received = heard_by(two, "news")
            end = two.on("news", fail)
            end()
            one.send("news", "first")
            one.send("news", "second")
            await until(lambda: len(received) == 2)
        assert [record.message for record in caplog.records].count(
            f"topic=news: a message of {one.process} could not be taken"
        ) == 2

    run(flow())


def test_it_connects_again_when_its_connections_are_cut() -> None:
    async def flow() -> None:
        async with channels(2) as (one, two):
            received = heard_by(two, "news")
            with psycopg.connect(URL, autocommit=True) as control:
                control.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                    " WHERE pid <> pg_backend_pid() AND query LIKE 'LISTEN \"agents:%'"
                )
            await until(lambda: one.last_error and two.last_error)
            one.send("news", "nobody hears it")
            await until(lambda: one.is_working and two.is_working)
            one.send("news", "again")
            await until(lambda: received)
            assert received == [(one.process, "again")]
            await until(lambda: one.last_error is None)

    run(flow())


def test_without_a_server_it_tells_so_and_takes_messages_all_the_same() -> None:
    async def flow() -> None:
        async with channel(port=free_port()) as one:
            await until(lambda: one.last_error)
            assert not one.is_working
            one.send("news", "into the void")

    run(flow())


def test_a_process_that_has_another_name_is_reached_by_it() -> None:
    async def flow() -> None:
        async with channels(2) as (one, two):
            received = heard_by(two, "news")
            former, new = two.process, name()
            two.rename(new)
            await until(lambda: two.is_working and not two._renamed.is_set())

            def is_heard() -> bool:
                one.send("news", "for the new one", to=new)
                return bool(received)

            await until(is_heard)
            one.send("news", "for nobody", to=former)
            one.send("news", "last")
            await until(lambda: received[-1][1] == "last")
            assert {body for _, body in received} == {"for the new one", "last"}

    run(flow())

"""Whose writes come next: callers take turns, and no group takes long."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from contextvars import copy_context
from typing import Any

import pytest
from django.db import connection

from agents.base import shares
from agents.base.store import writer as writers
from agents.base.store.writer import Writer

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def writer() -> Iterator[Writer]:
    one = Writer()
    one.start()
    yield one
    one.stop()


@pytest.mark.parametrize("slice_s", [60.0, 0.0])
def test_callers_take_turns(slice_s: float, writer: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writers, "MAX_GROUP_S", slice_s)
    done: list[tuple[str, int]] = []
    begins = threading.Event()
    first: Future[Any] = writer.submit(lambda: begins.wait(30))

    def submitted(caller: str) -> None:
        shares.caller.set(caller)
        jobs.append(writer.submit(lambda: done.append((caller, writer.commits))))

    jobs = [first]
    for caller in ("ann", "ann", "ann", "ben", "cleo", "ben"):
        copy_context().run(submitted, caller)
    begins.set()
    for job in jobs:
        job.result(30)
    assert [caller for caller, _ in done] == ["ann", "ben", "cleo", "ann", "ben", "ann"]
    commits = [number for _, number in done]
    assert len(set(commits)) == (1 if slice_s else 6)


def test_without_its_thread_the_jobs_of_several_threads_run_one_after_the_other() -> None:
    """What a transaction has interned, and the changes it has noted, are nobody else's before its commit."""
    writer = Writer()
    meeting = threading.Barrier(2, timeout=0.2)
    met: list[bool] = []

    def job() -> None:
        with suppress(threading.BrokenBarrierError):  # nobody came, as it should be
            meeting.wait()
        met.append(not meeting.broken)

    threads = [threading.Thread(target=_write_and_close, args=(writer, job)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert met == [False, False]


def _write_and_close(writer: Writer, job: Callable[[], None]) -> None:
    writer.write(job)
    connection.close()

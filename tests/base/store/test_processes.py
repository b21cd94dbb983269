"""Who lives and who is gone: told from signs of life, by an observer that may itself be paused or blind."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from django.db import connection

from agents.base.models.processes import Process
from agents.base.store import processes
from agents.base.store.processes import (
    BEAT_S,
    GRACE_S,
    LONGEST_GAP_S,
    AlreadyServed,
    Observer,
    ServingProcess,
    SignOfLife,
)
from tests.support.depth import deep

LEASE_S = 20.0


def sign(beat: int, *, holds_lock: bool = True, same_server: bool = True, process: str = "other") -> SignOfLife:
    return SignOfLife(process, beat, holds_lock, same_server)


def looks(observer: Observer, *seen: tuple[float, SignOfLife]) -> list[bool]:
    """Whether the process is gone, at each look."""
    return [bool(observer.look(at, [what])) for at, what in seen]


def test_a_beat_that_stands_still_means_death_after_the_lease() -> None:
    still = [(float(second), sign(7)) for second in range(22)]
    assert looks(Observer(LEASE_S), *still) == [False] * 20 + [True] * 2


def test_a_free_lock_means_death_at_once() -> None:
    still = [(tenth / 10, sign(7, holds_lock=False)) for tenth in range(16)]
    first = looks(Observer(LEASE_S), *still).index(True)
    assert still[first][0] == pytest.approx(GRACE_S)


def test_a_free_lock_of_another_start_of_the_server_means_nothing() -> None:
    still = [(float(second), sign(7, holds_lock=False, same_server=False)) for second in range(21)]
    assert looks(Observer(LEASE_S), *still) == [False] * 20 + [True]


def test_a_beat_that_goes_on_begins_a_new_lease() -> None:
    seen = [(float(second), sign(second // 19)) for second in range(100)]
    assert not any(looks(Observer(LEASE_S), *seen))


def test_what_an_observer_did_not_see_does_not_count() -> None:
    observer = Observer(LEASE_S)
    assert not observer.look(0.0, [sign(1)])
    assert not observer.look(1000.0, [sign(1)])
    assert not any(looks(observer, *((1000.0 + second, sign(1)) for second in range(20))))
    assert observer.look(1020.0, [sign(1)])


def test_it_looks_again_when_the_next_one_may_be_gone() -> None:
    observer = Observer(LEASE_S)
    silent, lively = sign(7, holds_lock=False), sign(1, process="lively")
    observer.look(0.0, [silent, lively])
    assert observer.wait_s == BEAT_S
    observer.look(BEAT_S, [silent, sign(2, process="lively")])
    assert observer.wait_s == pytest.approx(GRACE_S - BEAT_S)
    assert observer.look(GRACE_S, [silent]) == [silent]
    assert observer.wait_s == BEAT_S


@pytest.mark.parametrize("seed", range(deep(3, 20)))
def test_a_process_that_beats_in_time_is_never_taken_for_gone(seed: int) -> None:
    """Whatever the observer does meanwhile, and whenever locks are lost and servers replaced."""
    choose = random.Random(seed)
    for _ in range(2000):
        observer, now, beat, beat_at = Observer(LEASE_S), 0.0, 0, 0.0
        for _ in range(60):
            now += choose.choice([0.1, 0.75, 1.0, LONGEST_GAP_S + choose.random() * 50])
            if now - beat_at > choose.choice([0.5, 1.0, GRACE_S - 0.01]) or choose.random() < 0.3:
                beat, beat_at = beat + 1, now
            seen = sign(beat, holds_lock=choose.random() < 0.5, same_server=choose.random() < 0.8)
            assert not observer.look(now, [seen])


@pytest.mark.django_db
def test_who_was_declared_gone_too_late_lives_on() -> None:
    """The beat has gone on since it was looked at."""
    process = ServingProcess(lambda _: None, lambda: None, LEASE_S)
    process._register()
    Process.objects.filter(pk=process.id).update(beat=2)
    assert not processes.declare_gone(sign(1, process=process.id))
    assert processes.living([process.id]) == {process.id}
    assert processes.declare_gone(sign(2, process=process.id))
    assert not processes.declare_gone(sign(2, process=process.id))
    assert processes.living([process.id]) == frozenset()


@pytest.mark.skipif(bool(os.environ.get("TEST_DATABASE_URL")), reason="a file has one process, a PostgreSQL many")
def test_a_file_has_one_serving_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = tmp_path / "agents.sqlite3"
    monkeypatch.setitem(connection.settings_dict, "NAME", str(name))
    program = (
        "import fcntl, os, sys; file = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT); fcntl.flock(file, fcntl.LOCK_EX);"
        "os.write(file, b'4711'); print('locked', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", program, f"{name}-serving"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None  # a pipe
        assert other.stdout.readline() == b"locked\n"
        with pytest.raises(AlreadyServed, match="Process 4711 serves this SQLite file"):
            processes._lock_file()
        other.communicate()
    file = processes._lock_file()
    assert file is not None
    os.close(file)

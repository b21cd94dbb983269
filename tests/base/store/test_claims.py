"""Claims: one worker has a piece of work at a time, and what it had is free when it ends, in whatever way."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator

import pytest
from django.db import connection

from agents.base.store import claims
from agents.base.store.claims import ClaimKind, Claims
from tests import ROOT

pytestmark = pytest.mark.django_db(transaction=True)

HOLDER = """
    import sys
    import django
    from django.conf import settings
    from django.db import connection
    django.setup()
    connection.settings_dict["NAME"] = settings.DATABASES["default"]["NAME"] = {name!r}
    from agents.base.store.claims import ClaimKind, Claims
    claims = Claims(ClaimKind.SENDER)
    print(claims.take([1, 2]), flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def make() -> Iterator[Callable[..., Claims]]:
    made: list[Claims] = []

    def new(kind: ClaimKind = ClaimKind.SENDER) -> Claims:
        made.append(Claims(kind))
        return made[-1]

    yield new
    for each in made:
        each.close()


def test_nobody_gets_what_another_has(make: Callable[..., Claims]) -> None:
    one, other = make(), make()
    assert one.take([1, 2]) == [1, 2]
    assert other.take([3, 2, 4, 1]) == [3, 4]
    assert one.take([1, 2, 3]) == []
    one.release()
    assert other.take([1, 2, 3]) == [1, 2]
    assert one.take([]) == []
    other.close()
    assert one.take([4, 1]) == [4, 1]


def test_kinds_are_apart(make: Callable[..., Claims]) -> None:
    assert make(ClaimKind.SENDER).take([7]) == make(ClaimKind.IMPORT).take([7]) == [7]


def test_a_worker_knows_whether_it_has_still_what_it_claimed(make: Callable[..., Claims]) -> None:
    one = make()
    assert not one.is_held()
    one.take([1])
    assert one.is_held()
    if connection.vendor == "postgresql":
        end_other_connections()
        assert not one.is_held()
        assert make().take([1]) == [1]


def test_a_lost_connection_is_made_anew(make: Callable[..., Claims]) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("a file is not lost")
    one = make()
    one.take([1])
    end_other_connections()
    one.release()
    assert one.take([1]) == [1]


def end_other_connections() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


def test_what_a_dead_process_had_is_free(make: Callable[..., Claims]) -> None:
    program = textwrap.dedent(HOLDER).format(name=str(connection.settings_dict["NAME"]))
    command, pipe = [sys.executable, "-c", program], subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True) as holder:
        assert holder.stdout is not None  # a pipe
        assert holder.stdout.readline() == "[1, 2]\n"
        one = make()
        assert one.take([1, 2, 3]) == [3]
        holder.kill()
        holder.wait()
        with claims.claimed(ClaimKind.SENDER, 1):
            assert one.take([1]) == []


def test_who_waits_begins_when_the_other_has_ended() -> None:
    done: list[str] = []

    def work() -> None:
        with claims.claimed(ClaimKind.START):
            done.append("second")

    waiting = threading.Thread(target=work)
    with claims.claimed(ClaimKind.START):
        waiting.start()
        waiting.join(3 * claims.WAIT_S)
        done.append("first")
    waiting.join(30)
    connection.close()
    assert done == ["first", "second"]

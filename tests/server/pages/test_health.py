"""The page of the server's health: what is wrong comes first, with what to do; the same as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.test import Client

from agents.base import ids, rounds
from agents.base.access import Actor
from agents.base.store import failures, keys, readiness
from agents.base.store.writer import writer
from agents.base.timestamps import to_datetime
from agents.record.models.choices import TurnStatus
from agents.record.models.turns import Turn
from tests.support.builders import make_turn
from tests.support.pages.markup import words

pytestmark = pytest.mark.usefixtures("_served", "_quiet", "_no_failed_rounds")


@pytest.fixture
def _no_failed_rounds() -> Iterator[None]:
    rounds.forget()
    yield
    rounds.forget()


@pytest.fixture
def me() -> Actor:
    return keys.local()


def page(**headers: str) -> str:
    response = Client().get("/health/", headers=headers)
    assert response.status_code == 200
    return str(response.content.decode())


def details() -> Any:
    return Client().get("/v1/health/details").json()


def check(name: str) -> dict[str, Any]:
    [found] = [one for one in details()["checks"] if one["name"] == name]
    return dict(found)


def change(turn: int, **columns: Any) -> None:
    Turn.objects.unscoped("test").filter(pk=turn).update(**columns)


def test_a_server_that_is_well_says_so(me: Actor) -> None:
    told = words(page())
    assert "Everything is healthy." in told
    found = details()
    assert found["status"] == "ok"
    assert {one["problem"] for one in found["checks"]} == {None}
    assert {one["name"] for one in found["checks"]} >= {"database", "migrations", "writer", "queue", "disk", "ingest"}
    assert ("messages" in {one["name"] for one in found["checks"]}) == (connection.vendor == "postgresql")
    assert found["rounds"] == []
    assert {"python", "django", connection.vendor} <= set(found["versions"])
    assert check("database")["facts"]["bytes"] > 0
    assert check("migrations")["facts"]["last"] >= "0024"


def test_a_database_that_fails_is_told_with_what_to_do(me: Actor) -> None:
    def refuse(execute: Any, sql: str, *args: Any) -> Any:
        if "agents_turn" in sql or sql.startswith(("BEGIN", "SHOW transaction")):
            raise OperationalError('connection to server at "10.0.0.5" failed: password=hunter2')
        return execute(sql, *args)

    with connection.execute_wrapper(refuse):
        readiness.forget()
        found = details()
        readiness.forget()
        told = page()
    states = {one["name"]: (one["status"], one["problem"]) for one in found["checks"]}
    assert found["status"] == "bad"
    assert states["database"][0] == states["queue"][0] == "bad"
    assert states["queue"][1] == "unknown"
    assert "Fix the database first." in told
    assert "10.0.0.5" not in told
    assert told.index('data-check="database"') < told.index('data-check="disk"')


def test_turns_that_wait_long_or_that_nobody_runs_are_counted(me: Actor) -> None:
    queued, lost = make_turn(me).turn, make_turn(me).turn
    long_ago = to_datetime(ids.now_us() - 600_000_000)
    change(queued, status=TurnStatus.QUEUED, started_at=long_ago)
    change(lost, status=TurnStatus.IN_PROGRESS, doubt_at=None)
    assert (check("queue")["problem"], check("queue")["facts"]["waiting"]) == ("long", 1)
    assert (check("turns")["problem"], check("turns")["facts"]["without_process"]) == ("abandoned", 2)
    told = words(page())
    assert "2 parts need attention." in told
    assert "Raise MAX_RUNNING" in told


def test_failures_of_the_last_minutes_are_told() -> None:
    failures.failure_log.record(failures.FULL, OSError("no space"))
    rounds.failed("expire", ValueError("a row\nof two lines"))
    assert (check("store")["problem"], check("store")["facts"]["last"]) == ("failed", "full")
    assert check("rounds")["problem"] == "failed"
    assert [(one["name"], one["error"]) for one in details()["rounds"]] == [("expire", "ValueError: a row")]
    assert "ValueError: a row" in words(page())


def test_a_slow_disk_is_a_slow_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "last_commit_s", 2.5)
    assert (check("writer")["status"], check("writer")["problem"]) == ("warn", "slow")


@pytest.mark.parametrize(("language", "expected"), [("de", "Zustand des Servers"), ("fr", "État du serveur")])
def test_it_speaks_the_language_of_its_reader(language: str, expected: str) -> None:
    assert expected in page(**{"Accept-Language": language})


def test_its_link_is_for_administrators() -> None:
    assert 'href="/health/"' in page()

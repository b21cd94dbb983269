"""What every test may lean on: actors, ids, a clock, a loop of our own, and no network."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import socket
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from asgiref.sync import AsyncSingleThreadContext
from django.db import connection, connections
from django.test import TransactionTestCase
from django.test.utils import setup_databases, teardown_databases
from django.utils import translation
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings

from agents.base import ids, reading
from agents.base.access import ACTIONS, Actor
from agents.base.store import failures, keys, readiness, scopes, terms
from agents.knowledge.store import vectors
from agents.record.store import costs, spending
from agents.telemetry.store.external.batch_reader import batch_reader
from agents.telemetry.store.external.refused_reports import refusals
from tests import deadline, kept, lengthy, second_database
from tests.support import tables
from tests.support.inprocess import empty_database

# a machine that is busy makes examples slowly: what is promised about them is not their pace
hypothesis_settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
hypothesis_settings.load_profile("any machine")
# as manage.py does: the tests' own garbage is little beside what is imported
gc.set_threshold(50_000, 20, 100)
# a shell that starts a command behind itself lets it ignore SIGINT, and every server we start would inherit that
signal.signal(signal.SIGINT, signal.default_int_handler)

pytest_plugins = [f"tests.fixtures.{name}" for name in ("admin", "api", "live", "pages", "tools")]


def pytest_configure(config: pytest.Config) -> None:
    """Workers of a run share what it makes: the process that starts them names it."""
    if not hasattr(config, "workerinput"):
        kept.name_run()


@pytest.hookimpl(tryfirst=True)  # before they are put in an order by chance
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of many cases some are tried, fewer on PostgreSQL, the second database; whoever names a test has all of it."""
    lengthy.mark(items)
    if not any("::" in chosen for chosen in config.args):
        choose = second_database.select if os.environ.get("TEST_DATABASE_URL") else second_database.sample
        choose(config, items)


@pytest.hookimpl(tryfirst=True)  # before anything is set up for it
def pytest_runtest_setup() -> None:
    """A slow machine begins no further test once the time of its run is over."""
    deadline.skip_if_over()


def pytest_unconfigure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput") and os.environ.get("TEST_DATABASE_URL"):
        kept.drop_postgresql_template(os.environ["TEST_DATABASE_URL"])


LOOPBACK = {"127.0.0.1", "::1", "localhost"}
START_US = 1_795_000_000_000_000
"""A moment in November 2026, where the clock of a test stands."""


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests talk to this machine only."""
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: Any) -> Any:
        if self.family != socket.AF_UNIX and address[0] not in LOOPBACK:
            raise AssertionError(f"a test wanted to reach {address}")
        return connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", guarded)


@pytest.fixture(scope="session", autouse=True)
def _one_thread_for_loops() -> Iterator[None]:
    """Each request of Django's client runs on a loop of its own. A new thread for each of these loops
    would take longer than many of the requests."""
    with AsyncSingleThreadContext():  # type: ignore[no-untyped-call]  # asgiref leaves it without types
        yield


@pytest.fixture(autouse=True)
def _fresh_caches() -> Iterator[None]:
    """What the process remembers of one test's database is wrong in the next."""
    for module in (keys, costs, spending, readiness, scopes, terms, failures, vectors):
        module.forget()
    refusals.clear()
    yield
    ids.use_clock(None)
    batch_reader.stop()


@pytest.fixture(autouse=True)
def _no_language() -> Iterator[None]:
    """A request of the test client leaves its language behind; one to a server is in a context of its own."""
    translation.deactivate()
    yield
    translation.deactivate()


@pytest.fixture
def inline_turns(db: None) -> Iterator[None]:
    """Turns run in the test's own process, each while its request waits."""
    from tests.support.inprocess import inline_service  # loads the loop and its endpoints, which few tests need

    with inline_service():
        yield


class Clock:
    """A clock that moves when it is told to. Microseconds since 1970."""

    def __init__(self, now_us: int = START_US) -> None:
        self.now_us = now_us

    def __call__(self) -> int:
        return self.now_us

    def pass_s(self, seconds: float) -> None:
        self.now_us += round(seconds * 1_000_000)


@pytest.fixture
def clock() -> Iterator[Clock]:
    """A frozen wall clock for everything that reads `ids.now_us`."""
    frozen = Clock()
    ids.use_clock(frozen)
    yield frozen
    ids.use_clock(None)


def actor(name: str, user_id: int | None = None, **attributes: list[str]) -> Actor:
    """An actor who may do everything with what it sees."""
    given = {category: frozenset(values) for category, values in attributes.items()}
    return Actor(name, user_id=user_id, attributes=given, actions=ACTIONS)


@pytest.fixture
def make_user(db: None) -> Callable[..., Actor]:
    """Make a user with attributes through a group of its own; returns its actor."""
    from django.contrib.auth.models import Group

    from agents.base.models.people import GroupAttributes, User

    def make(name: str, **attributes: list[str]) -> Actor:
        user = User.objects.create_user(name, password="correct horse battery")
        if attributes:
            group = Group.objects.create(name=f"group of {name}")
            GroupAttributes.objects.create(group=group, attributes=attributes)
            user.groups.add(group)
        return keys.of_user(user)

    return make


@pytest.fixture
def admin(make_user: Callable[..., Actor]) -> Actor:
    """An actor with the admin role."""
    return make_user("root", roles=["admin"])


@pytest.fixture
def run_async(transactional_db: None) -> Iterator[Callable[[Any], Any]]:
    """Run a coroutine on a loop of its own, with the reader threads' connections closed after."""

    def run(coroutine: Any) -> Any:
        return asyncio.run(coroutine)

    yield run
    waits = [reading._readers.submit(connections.close_all) for _ in range(reading._readers._max_workers)]
    for wait in waits:
        wait.result()


@pytest.fixture(scope="session")
def django_db_setup(
    django_test_environment: None, django_db_blocker: Any, django_db_modify_db_settings: None
) -> Iterator[None]:
    """The database of the tests, always: pytest-django makes one only where a test of the run asks
    for its own kind of access, and some of ours open the database by themselves. It is copied from one that
    the migrations made."""
    with django_db_blocker.unblock():
        if connection.vendor == "sqlite":
            tables.copy()
            yield
            return
        connection.settings_dict["TEST"]["TEMPLATE"] = kept.postgresql_template(os.environ["TEST_DATABASE_URL"])
        made = setup_databases(verbosity=0, interactive=False)
    yield
    with django_db_blocker.unblock():
        teardown_databases(made, verbosity=0)


@pytest.fixture(scope="session", autouse=True)
def _emptied_between_tests() -> Iterator[None]:
    """Empty the tables after a test without a transaction the fast way: Django's own truncates all of them and
    makes the permissions anew, which takes longer than most tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", lambda self: empty_database())
        yield


@pytest.fixture(scope="session", autouse=True)
def _let_go_of_the_database(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """Threads that read for sockets and streams keep their connections; PostgreSQL drops no
    database that is in use."""
    yield
    with django_db_blocker.unblock():
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                    "WHERE datname = current_database() AND pid <> pg_backend_pid()"
                )

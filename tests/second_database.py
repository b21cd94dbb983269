"""Which tests are run again on the second database, PostgreSQL.

* A test is run again if it reaches a database: it is marked ``django_db`` or ``server``, a fixture of it opens the
  database, or its module names ``connection`` or ``psycopg``. For all others pytest-django refuses every query, so
  they cannot tell databases apart.
* A test that takes its time is left out if it is about pages, files, secrets or clients: what it asks of a database,
  others ask there too (`ON_ONE`).
* Of the corpus, the many cases beside the few, each test takes every fourth case, in the order of their ids; so does
  each test that takes its time.
* Of the other tests, those that are not of a store and need no several servers, a file takes every second one: what
  they ask of a database is asked again and again.
  ``python -m tests.run long`` takes all of them on both databases.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest

from tests.support.depth import LONG

EVERY, EVERY_OF_A_FILE = 4, 2
EVERY_ON_THE_FIRST = 2
"""On the first database each test of the corpus takes every second case."""
ON_ONE = (
    "tests/access/test_managers.py",
    "tests/access/test_matrix.py",
    "tests/access/test_pages.py",
    "tests/access/test_tokens.py",
    "tests/access/test_trouble.py",
    "tests/agentsite/live/test_backup.py::test_a_backup_of_an_older_version_is_brought_to_the_present_one",
    "tests/agentsite/live/test_backup.py::test_a_damaged_backup_is_refused",
    "tests/agentsite/live/test_backup.py::test_a_secret_of_the_environment_is_told_and_not_written",
    "tests/agentsite/live/test_start.py::test_a_database_of_before_takes_the_secret_of_its_next_start",
    "tests/agentsite/live/test_start.py::test_a_server_with_another_secret_is_refused",
    "tests/agentsite/live/test_start.py::test_a_store_that_takes_nothing_ends_the_start_with_the_reason",
    "tests/agentsite/live/test_start.py::test_an_upgrade_leaves_every_reference_its_row",
    "tests/batches/live/test_kill.py::test_",  # those of several servers are in a class
    "tests/examples",
    "tests/knowledge/api/test_document_bombs.py",
    "tests/log_tools/live",
    "tests/pages/test_external.py",
    "tests/pages/test_hostile_text.py",
    "tests/server/live/test_client_suites.py",
)
"""Beginnings of the ids of tests that need a second database only when all there is to try is tried."""

OPENING = {"db", "transactional_db", "django_db_blocker"}
"""Whoever has one of these fixtures by its own wish can reach the database."""
ALWAYS = {"django_db_setup", "_let_go_of_the_database", "_django_setup_unittest"}
"""Every test has these, and they let none of them reach it."""


def select(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the tests that are run on the second database."""
    chosen = [item for item in items if _reaches_a_database(item)]
    if not LONG:
        spared = _spared(chosen, EVERY, "corpus", "lengthy") | _repeated(chosen)
        chosen = [item for item in chosen if item.nodeid not in spared and not item.nodeid.startswith(ON_ONE)]
    if len(chosen) < len(items):
        config.hook.pytest_deselected(items=list(set(items) - set(chosen)))
        items[:] = chosen


def sample(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the tests that are run on the first database."""
    spared = set() if LONG else _spared(items, EVERY_ON_THE_FIRST, "corpus")
    if spared:
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid in spared])
        items[:] = [item for item in items if item.nodeid not in spared]


def _spared(items: list[pytest.Item], every: int, *marks: str) -> set[str]:
    """The ids of the cases that are left out, whatever order they come in."""
    cases: dict[str, list[str]] = defaultdict(list)
    for item in items:
        if any(map(item.get_closest_marker, marks)):
            cases[item.nodeid.partition("[")[0]].append(item.nodeid)
    return {each for ids in cases.values() for each in set(ids) - set(sorted(ids)[::every])}


def _repeated(items: list[pytest.Item]) -> set[str]:
    """The ids of quick tests of which others of the file ask the same of a database."""
    files: dict[str, list[str]] = defaultdict(list)
    for item in items:
        path = item.nodeid.partition("::")[0]
        is_chosen_otherwise = any(map(item.get_closest_marker, ("several", "slow", "lengthy", "corpus")))
        if not is_chosen_otherwise and "/store/" not in path:
            files[path].append(item.nodeid)
    return {each for ids in files.values() for each in set(ids) - set(sorted(ids)[::EVERY_OF_A_FILE])}


def _reaches_a_database(item: pytest.Item) -> bool:
    if any(item.get_closest_marker(name) for name in ("django_db", "server", "several", "browser")):
        return True
    if {"connection", "connections", "psycopg"} & vars(getattr(item, "module", item)).keys():
        return True
    known: dict[str, Any] = getattr(item, "_fixtureinfo").name2fixturedefs  # noqa: B009 - of no type
    return any(
        OPENING & {name, *definition.argnames}
        for name, definitions in known.items()
        if name not in ALWAYS | {"django_db_blocker"}
        for definition in definitions
    )

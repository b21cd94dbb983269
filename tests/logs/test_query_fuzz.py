"""Thousands of queries by chance, good and bad, asked of every face there is: the pages, ``/v1/logs``, the
socket, the command. None answers with 5xx, all refuse the same ones, and where one is good all find the
rows that the oracle chooses."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client

from agents.base import ids
from agents.base.access import Actor
from agents.base.errors import QuerySyntax
from agents.base.store import changes, feed_cursor, keys
from agents.logs.pages.lists import url_of_id
from agents.logs.schemas import row_ids
from agents.logs.store import changed_rows, listing
from agents.query.fields import FIELDS
from agents.query.parser import read
from agents.query.tree import Level, Query
from agents.server.socket import lists, topics
from agents.server.socket.lists import ListFormat
from tests.conftest import Clock
from tests.logs.store import oracle
from tests.logs.store.test_query import terms_of
from tests.query.oracle import matches
from tests.query.records import Row
from tests.query.texts import TERMS, Texts
from tests.support.cases import sparing
from tests.support.depth import deep
from tests.support.inprocess import collect_static, open_database
from tests.support.sample_turns import sample

LISTS: dict[str, Level] = {"turns": "turn", "sessions": "session", "steps": "step", "responses": "response"}
PAGES = {"turns": "/logs/", "sessions": "/sessions/", "steps": "/steps/", "responses": "/responses/"}
HERE = [text for field in FIELDS.values() for text in terms_of(field)]
"""Terms with values of the sample, so that many choose some of its rows."""
_ROW = re.compile(r'<tr[^>]* data-id="([^"]+)"')
_KINDS = row_ids._KINDS


@dataclass(frozen=True)
class Store:
    """What is asked: the rows of each list by the ids that it shows, and all that has changed."""

    actor: Actor
    clock: Clock
    rows: dict[str, dict[str, Row]]
    records: list[tuple[int, int]]
    client: Client


@pytest.fixture
def store(clock: Clock, django_db_setup: None, django_db_blocker: Any) -> Iterator[Store]:
    collect_static()
    logger = logging.getLogger("django.request")
    logger.setLevel(logging.CRITICAL)  # many are refused, as they should be
    with open_database(django_db_blocker):
        actor, client = keys.local(), Client(raise_request_exception=False)
        client.cookies["tz"] = "UTC"  # a browser with JavaScript: it fetches the numbers by itself
        sample(actor, clock)
        kinds = frozenset(kind for level in LISTS.values() for kind in changed_rows.kinds(level))
        told = changes.after(0, limit=100_000)
        records = [record for record in told.records if record[0] in kinds] if told else []
        yield Store(actor, clock, {level: shown(level) for level in LISTS}, records, client)
    logger.setLevel(logging.NOTSET)


def shown(name: str) -> dict[str, Row]:
    """The rows of a list: of responses those of OpenAI's API."""
    level = LISTS[name]
    rows = oracle.rows(level)
    if level == "response":
        rows = {key: row for key, row in rows.items() if row.response and row.response.api == "responses"}
    return {row_ids.public(level, ids.parse(_KINDS[level], key) or 0): row for key, row in rows.items()}


# ------------------------------------------------------------------------------------------ the faces


def by_oracle(store: Store, name: str, query: Query) -> list[str]:
    return sorted((key for key, row in store.rows[name].items() if matches(query, row)), reverse=True)


def by_rest(store: Store, name: str, text: str) -> tuple[int, list[str]]:
    answer = store.client.get(f"/v1/logs/{name}", {"q": text, "limit": "1000"})
    return answer.status_code, [row["id"] for row in answer.json()["data"]] if answer.status_code == 200 else []


def by_page(store: Store, name: str, text: str) -> tuple[int, list[str]]:
    answer = store.client.get(PAGES[name], {"q": text})
    return answer.status_code, _ROW.findall(answer.content.decode()) if answer.status_code == 200 else []


def by_store(store: Store, query: Query) -> list[str]:
    found = listing.page(store.actor, query, limit=1000)
    return [row_ids.public(query.level, key) for key in found.keys]


def by_socket(store: Store, name: str, query: Query) -> list[str]:
    """What an open list is told when all that is stored has just changed."""
    events = lists.list_events(store.actor, query, store.records, ListFormat(name, html=False))
    return sorted((event["id"] for event in events if event["type"] == "row"), reverse=True)


def by_subscription(store: Store, name: str, text: str) -> tuple[int, list[str]]:
    """What a page is told that was rendered before anything was stored."""

    async def replayed() -> list[dict[str, Any]]:
        wanted = topics.Subscription(store.actor, "logs", name, text, feed_cursor.at(store.actor, 0), "json")
        async with aclosing(topics.follow(wanted)) as frames:  # type: ignore[type-var]  # it is a generator
            async for frame in frames:
                events: list[dict[str, Any]] = json.loads(b'{"op":' + frame)["events"]
                return events
        return []

    try:
        events = asyncio.run(replayed())
    except QuerySyntax:
        return 400, []
    return 200, sorted((event["id"] for event in events if event["type"] == "row"), reverse=True)


def by_command(store: Store, name: str, text: str) -> tuple[int, list[str]]:
    said = io.StringIO()
    try:
        call_command("logs", "list", text, level=LISTS[name], limit=1000, format="jsonl", stdout=said)
    except CommandError:
        return 400, []
    return 200, [json.loads(line)["id"] for line in said.getvalue().splitlines()]


FACES: dict[str, Callable[[Store, str, str], tuple[int, list[str]]]] = {
    "REST": by_rest,
    "page": by_page,
    "subscription": by_subscription,
    "command": by_command,
}

# ------------------------------------------------------------------------------------------ the test


SHARES = {"store": 1, "socket": 3, "REST": 6, "page": 10, "subscription": 30, "command": 30}
"""Of how many queries one is asked of a face: what only passes on what the store says takes longer."""
ALL = dict.fromkeys(SHARES, 1)


def complaint(store: Store, name: str, text: str, faces: set[str]) -> str | None:
    """What is wrong with the answers to a query, if anything is."""
    expected: tuple[int, list[str]] = 400, []
    found: dict[str, tuple[int, list[str]]] = {}
    with suppress(QuerySyntax):
        query = read(text.strip(), now_us=store.clock.now_us, level=LISTS[name])
        found["store"] = 200, by_store(store, query)  # SQLite may find it nested too deeply
        expected = 200, by_oracle(store, name, query)
        found |= {"socket": (200, by_socket(store, name, query))} if "socket" in faces else {}
    for face, ask in FACES.items():
        if face in faces and not (face == "page" and url_of_id(text.strip())):
            found[face] = ask(store, name, text)
    wrong = {face: answer for face, answer in found.items() if answer != expected}
    return f"{wrong}, not {expected}" if wrong else None


def complaints(store: Store, name: str, texts: Texts, count: int, shares: Mapping[str, int]) -> dict[str, str]:
    """By text."""
    found = {}
    for number in range(count):
        text = texts.any()
        wrong = complaint(store, name, text, {face for face, share in shares.items() if number % share == 0})
        if wrong:
            found[text] = wrong
    return found


def test_the_texts_are_good_and_bad_and_tell_rows_apart(store: Store) -> None:
    """Guards the tests below: queries that choose everything or nothing prove little."""
    texts, good, telling = Texts(0, HERE), 0, 0
    for _ in range(400):
        with suppress(QuerySyntax):
            query = read(texts.any(), now_us=store.clock.now_us)
            good += 1
            telling += 0 < len(by_oracle(store, "turns", query)) < len(store.rows["turns"])
    assert 200 < good < 330
    assert telling > good * 0.25


@pytest.mark.parametrize("name", sparing(LISTS, "turns"))
def test_queries_by_chance_find_the_same_rows_everywhere(store: Store, name: str) -> None:
    assert complaints(store, name, Texts(7, [*HERE, *TERMS]), 60, ALL) == {}


def test_a_query_that_a_database_cannot_read_is_refused_everywhere(store: Store) -> None:
    nested = "no(session)(all(response)(count(agent: -meta.nowhere:!=g*)<=2) -has:meta.list)"
    assert complaint(store, "responses", nested, set(ALL)) is None
    deeper = f"count(agent: -key:!=dev count(step: in:re* -error:re*)=2 count(session: no(turn)({nested}))=0)!=1"
    assert complaint(store, "responses", deeper, set(ALL)) is None
    if connection.vendor == "sqlite":
        answer = store.client.get("/v1/logs/responses", {"q": deeper})
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "query_syntax")
        assert "nested too deeply" in store.client.get("/responses/", {"q": deeper}).content.decode()


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", LISTS)
def test_thousands_of_queries_find_the_same_rows_everywhere(store: Store, name: str) -> None:
    """20,000 in all where everything is tried, 8,000 in a check."""
    assert complaints(store, name, Texts(len(name), [*HERE, *TERMS]), deep(800, 5_000), SHARES) == {}

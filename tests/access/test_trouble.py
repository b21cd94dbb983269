"""Trouble of the store's: every route says 503 and when to come again, whoever asks for what.

The troubles are real ones: a database that is not there, one that somebody else holds, one that may
only be read, one that has no more room. Which routes there are is read from the URL tables.
"""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

import psycopg
import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.db import connection
from django.test import Client

from agents.base.models.people import User
from agents.base.store import keys
from tests.access import asking, test_matrix, test_pages
from tests.access.asking import Cell
from tests.access.matrix import Who, World
from tests.access.test_matrix import every_route
from tests.access.test_sockets import headers, page_headers, said, socket
from tests.identity.test_admin import group
from tests.support.inprocess import close_readers
from tests.support.postgresql import free_port

Trouble = Callable[[], Any]


@contextmanager
def away() -> Iterator[None]:
    """Nothing answers where the database was."""
    lite = connection.vendor == "sqlite"
    with _changed(**({"NAME": "/no/such/folder/agents.sqlite3"} if lite else {"PORT": str(free_port())})):
        yield


@contextmanager
def held() -> Iterator[None]:
    """Somebody else writes, and does not end."""
    lite = connection.vendor == "sqlite"
    options = {"timeout": 0.01} if lite else {"options": "-c lock_timeout=10"}
    with _holding(), _changed(OPTIONS={**connection.settings_dict["OPTIONS"], **options}):
        yield


@contextmanager
def _holding() -> Iterator[None]:
    if connection.vendor == "sqlite":
        with closing(sqlite3.connect(connection.settings_dict["NAME"], isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            yield
        return
    tables = ", ".join(f'"{name}"' for name in connection.introspection.table_names())
    with psycopg.connect(**_connection_params()) as other:
        other.execute(f"LOCK TABLE {tables} IN EXCLUSIVE MODE")
        yield
        other.rollback()


def _connection_params() -> dict[str, Any]:
    named = {"dbname": "NAME", "user": "USER", "password": "PASSWORD", "host": "HOST", "port": "PORT"}
    return {name: connection.settings_dict[key] for name, key in named.items() if connection.settings_dict[key]}


@contextmanager
def read_only() -> Iterator[None]:
    """What is there can be read, and nothing be written."""
    options = dict(connection.settings_dict["OPTIONS"])
    if connection.vendor == "sqlite":
        options["init_command"] += ";PRAGMA query_only=ON"
    else:
        options["options"] = "-c default_transaction_read_only=on"
    with _changed(OPTIONS=options):
        yield


@contextmanager
def full() -> Iterator[None]:
    """No page is free, and none may be added."""
    with connection.cursor() as cursor:
        cursor.execute("VACUUM")  # what others deleted left pages free
    options = dict(connection.settings_dict["OPTIONS"])
    options["init_command"] += ";PRAGMA max_page_count=1"  # it takes the number of pages there are
    with _changed(OPTIONS=options):
        yield


@contextmanager
def _changed(**settings: Any) -> Iterator[None]:
    """All connections are made anew, with other settings, and once more at the end."""
    where = connection.settings_dict
    kept = dict(where)
    _let_go()
    where.update(settings)
    try:
        yield
    finally:
        _let_go()
        where.update(kept)


def _let_go() -> None:
    connection.close()
    close_readers()
    keys.forget()


def is_told(answer: Any) -> bool:
    """Whether it says to come again."""
    return answer.status_code == 503 and int(answer.headers["Retry-After"]) > 0


TROUBLES = [away, held, read_only]
OWN = {"all", "red", "fresh"}
"""Targets that are there."""

NEEDS_NO_STORE = {"/v1/health", "/v1/version", "/langsmith/info", "/healthz", "/docs/", "/language/", "/logout/"}
"""What is answered all the same."""


@pytest.mark.parametrize("trouble", TROUBLES)
def test_every_route_of_the_api_says_to_come_again(trouble: Trouble, world: World) -> None:
    catalogue = {"tool_name": "lookup_order", "toolgroup_id": "builtin::demo", "provider_id": "scripted", "run_id": "x"}
    catalogue |= {"rest": "of what is not there", "subagent_id": "nobody", "score_id": "nobody's"}
    who, client = world.who["owner"], Client(raise_request_exception=False)
    cells = [cell for cell in test_matrix.api_cells(world, who, catalogue) if cell.target.name in OWN]

    def ask(cell: Cell) -> Any:
        keys.forget()
        return asking.ask(client, cell, **who.headers)

    with trouble():
        assert _told(trouble, cells, ask) >= (130 if trouble is away else 35)


def _told(trouble: Trouble, cells: list[Cell], ask: Callable[[Cell], Any]) -> int:
    """How many are told to come again; all others are answered as ever."""
    told, wrong = 0, []
    for cell in cells:
        answer = ask(cell)
        if is_told(answer):
            told += 1
        elif answer.status_code != cell.expected or (trouble is away and cell.path not in NEEDS_NO_STORE):
            wrong.append(f"{cell} was answered {answer.status_code}")
    assert not wrong, "\n".join(wrong)
    return told


@pytest.mark.parametrize("trouble", TROUBLES)
def test_every_page_says_to_come_again(trouble: Trouble, world: World) -> None:
    who = world.who["owner"]
    client = test_pages.login(world, who)
    cells = [
        cell
        for page, cell in test_pages.cells(world, who)
        if cell.target.name in OWN and page not in {"login", "logout"}
    ]
    with trouble():
        assert _told(trouble, cells, lambda cell: test_pages.ask(client, cell)) >= (60 if trouble is away else 5)


@pytest.mark.parametrize("trouble", TROUBLES)
def test_the_admin_says_to_come_again(trouble: Trouble, world: World) -> None:
    admin = world.who["admin"]
    assert admin.login is not None
    User.objects.filter(pk=admin.login).update(is_staff=True, is_superuser=True)
    client = test_pages.login(world, admin)
    paths = [f"/{route}" for route, _ in every_route() if route.startswith("admin/") and "<" not in route]
    before = {path: client.get(path).status_code for path in paths if "autocomplete" not in path}
    with trouble():
        after = {path: client.get(path) for path in before}
        added = client.post("/admin/auth/group/add/", group("{}"))
    assert is_told(added)
    assert [path for path, answer in after.items() if not is_told(answer) and answer.status_code != before[path]] == []
    assert trouble is not away or len([path for path, answer in after.items() if is_told(answer)]) > 20


@pytest.mark.parametrize("trouble", TROUBLES)
def test_nobody_is_let_in_meanwhile(trouble: Trouble, world: World) -> None:
    client, form = Client(raise_request_exception=False), {"username": "owner", "password": "correct horse battery"}
    with trouble():
        assert is_told(client.post("/login/", form))
    assert client.post("/login/", form).status_code == 302


def test_the_page_says_so_in_words_of_its_reader(world: World) -> None:
    client = test_pages.login(world, world.who["owner"])
    with away():
        answer = client.get("/logs/?q=zebra", headers={"Accept": "text/html", "Accept-Language": "de"})
    assert is_told(answer)
    assert "Das geht gerade nicht" in answer.content.decode()
    assert 'href="/logs/?q=zebra"' in answer.content.decode()


@pytest.mark.parametrize("by", [headers, page_headers])
def test_a_socket_is_closed_with_the_code_for_later(by: Callable[[Who], Any], world: World) -> None:
    handshake = by(world.who["owner"])

    async def opened() -> tuple[bool, dict[str, Any]]:
        async with socket(handshake) as ws:
            connected, _ = await ws.connect(timeout=10)
            return connected, await ws.receive_output(timeout=10)

    with away():
        assert async_to_sync(opened)() == (True, {"type": "websocket.close", "code": 1013})


def test_a_subscription_is_told_when_to_come_again(world: World) -> None:
    handshake, turn = headers(world.who["owner"]), world.red.ids["turn_id"]

    async def asked() -> list[dict[str, Any]]:
        async with socket(handshake) as ws:
            await ws.connect(timeout=10)
            kept = await sync_to_async(_close_and_change)()
            try:
                return [(await said(ws, topic))[-1] for topic in (f"turn:{turn}", "logs")]
            finally:
                await sync_to_async(kept.__exit__)(None, None, None)

    for frame in async_to_sync(asked)():
        assert (frame["op"], frame["error"]["code"]) == ("error", "store_unavailable")
        assert frame["error"]["retry_after_s"] > 0


def _close_and_change() -> Any:
    trouble = away()
    trouble.__enter__()
    return trouble


def test_what_finds_no_room_says_to_come_again(world: World) -> None:
    """Senders of telemetry drop what they are answered 500 for."""
    if connection.vendor != "sqlite":
        pytest.skip("a disk of PostgreSQL's cannot be filled here")
    who, client = world.who["owner"], Client(raise_request_exception=False)
    words = secrets.token_hex(500_000)  # as nothing packs
    span = {"traceId": "5b8aa5a2d2c872e8321cf37308d69df2", "spanId": "051581bf3cb55c13", "name": words}
    trace = {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}
    agent = {"agent_config": {"model": "scripted/fast", "instructions": words}}
    with full():
        for path, body in (("/v1/agents", agent), ("/v1/traces", trace)):
            assert is_told(client.post(path, body, "application/json", headers=who.headers)), path
        assert client.get("/v1/agents", headers=who.headers).status_code == 200
    assert client.post("/v1/agents", agent, "application/json", headers=who.headers).status_code == 200

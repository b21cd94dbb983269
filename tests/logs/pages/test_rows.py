"""What rows of the lists show of a search, and where they lead."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from agents.base.access import Actor
from agents.base.store import keys
from tests.loop.test_loop import tool
from tests.support.builders import make_session, make_turn
from tests.support.pages.markup import unsafe, words


@pytest.fixture
def me(db: None) -> Actor:
    return keys.local()


def page(client: Client, path: str, **query: str) -> str:
    answer = client.get(path, query)
    assert answer.status_code == 200
    text = answer.content.decode()
    assert unsafe(text) == []
    return text


def test_a_word_inside_a_step_is_shown_with_the_step(client: Client, me: Actor) -> None:
    content = '{"state": "a <b>purple</b> parcel", "n": 3}'
    make_turn(me, "call web_search {}\nthen\nsay Found it.", server_tools=tool("web_search", content=content))
    make_turn(me, "say Nothing of it.")
    rows = re.findall(r'<tr class="log-row".*?</tr>', page(client, "/logs/", q="purple parcel"), re.DOTALL)
    assert len(rows) == 1
    assert "web_search" in words(rows[0])
    assert "&lt;b&gt;<mark>purple</mark>&lt;/b&gt; <mark>parcel</mark>" in rows[0]


def test_rows_take_their_list_along(client: Client, me: Actor) -> None:
    make_turn(me, "say Of apples.")
    turn = make_turn(me, "say Of pears and apples.")
    [link] = re.findall(r'<a class="cut" href="([^"]+)"', page(client, "/logs/", q="pears"))
    assert link == f"/turns/{turn.public_id}/?q=pears&amp;find=pears"
    turn_page = page(client, f"/turns/{turn.public_id}/", q="apples", find="pears")
    assert "older" in words(turn_page), "the turn before it in the list"


def test_a_turn_is_looked_at_beside_its_list(client: Client, me: Actor) -> None:
    session = make_session(me, None, "a <i>shop</i>")
    turn = make_turn(me, "call web_search {}\nthen\nsay Found it.", server_tools=tool("web_search"), session=session)
    peek = page(client, f"/turns/{turn.public_id}/peek/")
    assert "web_search" in words(peek)
    assert "Found it." in words(peek)
    assert f'href="/turns/{turn.public_id}/"' in peek
    assert client.get("/turns/00000000-0000-8000-8000-000000000000/peek/").status_code == 404


def test_a_long_turn_is_looked_at_near_its_first_failure(client: Client, me: Actor) -> None:
    calls = "\nthen\n".join(["call web_search {}"] * 7)
    turn = make_turn(me, f"{calls}\nthen\nfail 504 gone", server_tools=tool("web_search"), max_infer_iters=50)
    peek = words(page(client, f"/turns/{turn.public_id}/peek/"))
    assert "gone" in peek


def test_rows_are_chosen_without_scripts(client: Client, me: Actor) -> None:
    turn = make_turn(me, "say Hello.")
    list_page = page(client, "/logs/", select="1")
    assert f'<input type="checkbox" name="ids" value="{turn.public_id}" form="acts">' in list_page
    assert 'name="ids"' not in re.sub(r"<template.*?</template>", "", page(client, "/logs/"), flags=re.DOTALL)

"""What rows of the lists show of a search, and where they lead."""

from __future__ import annotations

import re
from html import unescape
from urllib.parse import parse_qs, urlsplit

import pytest
from django.test import Client

from agents.base import ids
from agents.base.access import Actor
from agents.base.store import keys
from agents.record.schemas.content import UserMessage
from tests.loop.test_loop import tool
from tests.support.builders import make_agent, make_session, make_turn
from tests.support.pages.markup import elements, unsafe, words


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


def row_of(list_page: str) -> str:
    row: str
    [row] = re.findall(r'<tr class="log-row".*?</tr>', list_page, re.DOTALL)
    return row


def test_every_word_of_a_search_is_shown_and_carried_on(client: Client, me: Actor) -> None:
    """Also those that are in different places: here one in the question, one in the answer of a tool."""
    lookup = tool("lookup", content='{"state": "it waits for the courier"}')
    turn = make_turn(me, "call lookup {}\nthen\nsay A blue kettle.", server_tools=lookup)
    row = row_of(page(client, "/logs/", q="kettle courier"))
    assert "it waits for the <mark>courier</mark>" in row
    assert "lookup ›" in words(row)
    assert f'href="/turns/{turn.public_id}/?q=kettle+courier&amp;find=kettle+courier"' in row
    for path in (f"/turns/{turn.public_id}/", f"/turns/{turn.public_id}/peek/"):
        found = page(client, path, find="kettle courier")
        assert "<mark>kettle</mark>" in found
        assert "<mark>courier</mark>" in found


def test_a_turn_whose_steps_have_some_of_the_words_each_says_so(client: Client, me: Actor) -> None:
    lookup = tool("lookup", content="the courier")
    turn = make_turn(me, "call lookup {}\nthen\nsay A blue kettle.", server_tools=lookup)
    found = page(client, f"/turns/{turn.public_id}/", find="kettle courier")
    assert "some of it in 2 steps, this is number 1" in words(found)


def test_words_of_the_question_are_carried_on(client: Client, me: Actor) -> None:
    question = f"{'Where is it? ' * 60} My blue kettle!"
    turn = make_turn(me, input_messages=[UserMessage(content=question)])
    row = row_of(page(client, "/logs/", q='in:"blue kettle"'))
    assert "asked › … " in words(row)
    assert "My <mark>blue kettle</mark>!" in row
    [peek_url] = re.findall(r'data-peek="([^"]+)"', row)
    assert "<mark>blue kettle</mark>" in page(client, unescape(peek_url))
    assert "in what was asked" in words(page(client, f"/turns/{turn.public_id}/", find='"blue kettle"'))


def test_a_line_begins_near_what_was_searched_for(client: Client, me: Actor) -> None:
    make_turn(me, f"say {'It was handed over in the morning. ' * 3} We wait for the courier.")
    assert "… We wait for the <mark>courier</mark>." in row_of(page(client, "/logs/", q="courier"))


def test_a_word_of_an_earlier_turn_is_shown_in_its_session(client: Client, me: Actor) -> None:
    agent = make_agent(me)
    session = make_session(me, agent, "a shop")
    earlier = make_turn(
        me,
        "call lookup {}\nthen\nsay Ready.",
        agent=agent,
        session=session,
        server_tools=tool("lookup", content="the courier"),
    )
    make_turn(me, "say Good bye.", agent=agent, session=session)
    row = row_of(page(client, "/sessions/", q="courier"))
    assert "earlier turn, lookup › the courier" in words(row)
    [peek_url] = re.findall(r'data-peek="([^"]+)"', row)
    panel = page(client, unescape(peek_url))
    assert "lookup › the <mark>courier</mark>" in panel.replace("</bdi>", "").replace("<bdi>", "")
    assert earlier.public_id in panel
    assert "Good bye." not in panel, "only turns that have it"


def test_the_panel_of_a_session_shows_its_thread(client: Client, me: Actor) -> None:
    agent = make_agent(me)
    session = make_session(me, agent, "a <i>shop</i>")
    for said in ("Good morning.", "Good bye."):
        make_turn(me, f"say {said}", agent=agent, session=session)
    [peek_url] = re.findall(r'data-peek="([^"]+)"', row_of(page(client, "/sessions/")))
    panel = page(client, unescape(peek_url))
    assert words(panel).index("Good morning.") < words(panel).index("Good bye.")
    session_url = f"/sessions/{ids.public(ids.Kind.SESSION, session)}/"
    assert [link["href"] for link in elements(panel, "a") if "data-peek-open" in link] == [session_url]
    assert client.get("/sessions/00000000-0000-8000-8000-000000000000/peek/").status_code == 404


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


def test_the_panel_leads_on_with_the_query_of_its_list(client: Client, me: Actor) -> None:
    turn = make_turn(me, "say Of pears.")
    [peek_url] = re.findall(r'data-peek="([^"]+)"', page(client, "/logs/", q="pears"))
    buttons = [link for link in elements(page(client, unescape(peek_url)), "a") if "button" in link.get("class", "")]
    *hrefs, fork_url = [link["href"] for link in buttons]
    assert fork_url.startswith(f"/turns/{turn.public_id}/fork/?step=")
    assert [parse_qs(urlsplit(href).query) for href in hrefs] == [
        {"q": ["pears"], "find": ["pears"], **view} for view in ({}, {"view": ["timeline"]}, {"view": ["raw"]})
    ]
    assert {urlsplit(href).path for href in hrefs} == {f"/turns/{turn.public_id}/"}


def test_the_panel_of_a_step_leads_to_the_step(client: Client, me: Actor) -> None:
    turn = make_turn(me, "say Of pears.")
    [peek_url] = re.findall(r'data-peek="([^"]+)"', page(client, "/steps/", q="pears"))
    panel = elements(page(client, unescape(peek_url).partition("#")[0]), "a")
    assert [link["href"] for link in panel if "data-peek-open" in link] == [
        f"/turns/{turn.public_id}/?find=pears#step-0"
    ]


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


def test_tokens_that_nobody_counted_are_no_zero(client: Client, db: None) -> None:
    """An endpoint counts at the end of an answer: one that was cut has none."""
    me = keys.local()
    make_turn(me, "say Hello.")
    make_turn(me, "fail 500 gone")
    counted = {
        row["data-status"]: "not reported" in html
        for html in re.findall(r'<tr class="log-row".*?</tr>', client.get("/logs/").content.decode(), re.DOTALL)
        for row in elements(html, "tr")
    }
    assert counted == {"completed": False, "failed": True}

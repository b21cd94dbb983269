"""The page of a session: the thread of its turns."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from agents.base import ids
from agents.base.access import Actor
from agents.base.store import keys
from agents.pages import sessions
from agents.record.schemas.content import UserMessage
from agents.record.store import agents
from tests.loop.play import LOOKUP
from tests.loop.test_loop import tool
from tests.support.builders import Recorded, make_agent, make_session, make_turn
from tests.support.pages.markup import elements, unsafe, words

pytestmark = pytest.mark.django_db

HOSTILE = "</script><img src=x onerror=alert(1)>\"'&\u202e"


@pytest.fixture
def me(db: None) -> Actor:
    return keys.local()


def url(session: int) -> str:
    return f"/sessions/{ids.public(ids.Kind.SESSION, session)}/"


def get(client: Client, path: str) -> str:
    answer = client.get(path)
    assert answer.status_code == 200
    text: str = answer.content.decode()
    return text


def said(me: Actor, *questions: str, script: str = "say Yes, **{0}**.", **run: Any) -> list[Recorded]:
    """Turns of one session, oldest first; their questions are shown after the script."""
    agent = make_agent(me, name="support")
    session = make_session(me, agent, "refund-8836")
    more = {"agent": agent, "session": session, **run}
    return [make_turn(me, f"{script.format(each)}\n# {each}", **more) for each in questions]


def test_it_shows_what_was_said_in_order(client: Client, me: Actor) -> None:
    made = said(me, "first", "second")
    page = get(client, url(made[0].session))
    read = words(page)
    assert read.index("Yes, first") < read.index("Yes, second")
    assert "refund-8836" in read
    assert "<strong>second</strong>" in page
    assert unsafe(page) == []


def test_it_folds_the_steps_into_a_line_that_leads_to_the_turn(client: Client, me: Actor) -> None:
    (made,) = said(me, "x", script='call lookup {{"a": 1}}\nthen\nsay {0}', server_tools=tool())
    page = get(client, url(made.session))
    assert "3 steps: inference ×2, lookup" in words(page)
    assert f"/turns/{ids.public(ids.Kind.TURN, made.turn)}/" in [link["href"] for link in elements(page, "a")]


def test_it_counts_steps_of_a_name(client: Client, me: Actor) -> None:
    (made,) = said(me, "x", script="call lookup {{}}\nthen\n" * 20 + "say {0}", server_tools=tool(), max_infer_iters=50)
    read = words(get(client, url(made.session)))
    assert "41 steps: inference ×21, lookup ×20" in read


def test_it_shows_failures_and_waiting_in_their_place(client: Client, me: Actor) -> None:
    failed = said(me, "x", script="fail 504 too slow {0}")
    assert "too slow" in words(get(client, url(failed[0].session)))
    waiting = said(me, "x", script="call lookup {{}}\n# {0}", client_tools=[LOOKUP])
    page = get(client, url(waiting[0].session))
    assert "The agent waits for an answer." in words(page)
    turn = ids.public(ids.Kind.TURN, waiting[0].turn)
    assert f"/turns/{turn}/#step-1" in [link.get("href") for link in elements(page, "a")]


def test_it_shows_its_sums_and_its_turns_beside(client: Client, me: Actor) -> None:
    made = said(me, "first", "second")
    page = get(client, url(made[0].session))
    side = words(page[page.index("<aside") : page.index("</aside>")])
    assert "turns 2" in side
    assert side.count("completed") == 2


def test_it_takes_the_next_word_where_that_is_possible(client: Client, me: Actor) -> None:
    made = said(me, "first")[0]
    say = f"{url(made.session)}say/"
    assert say in [form["action"] for form in elements(get(client, url(made.session)), "form")]
    agents.set_disabled(me, made.agent.key, True)
    assert say not in [form.get("action") for form in elements(get(client, url(made.session)), "form")]


def test_it_takes_no_word_from_elsewhere(me: Actor) -> None:
    strict = Client(enforce_csrf_checks=True)
    assert strict.post(f"{url(said(me, 'a')[0].session)}say/", {"text": "x"}).status_code == 403


def test_an_empty_word_is_refused_with_a_reason(client: Client, me: Actor) -> None:
    answer = client.post(f"{url(said(me, 'a')[0].session)}say/", {"text": "  "}, headers={"accept": "application/json"})
    assert answer.status_code == 400
    assert answer.json()["error"]["message"] == "Say something first."


def test_an_empty_session_says_what_to_do(client: Client, me: Actor) -> None:
    page = get(client, url(make_session(me)))
    assert "Nothing has been said yet" in words(page)
    assert unsafe(page) == []


def test_it_pages_through_a_long_session(client: Client, me: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "PAGE_SIZE", 2)
    made = said(me, "one", "two", "three", "four", "five")
    page, seen = get(client, url(made[0].session)), []
    while True:
        seen.append([each["data-id"] for each in elements(page, "section") if "data-id" in each])
        earlier = [link["href"] for link in elements(page, "a") if link.get("rel") == "prev"]
        if not earlier:
            break
        page = get(client, url(made[0].session) + earlier[0])
    turns = [ids.public(ids.Kind.TURN, each.turn) for each in made]
    assert seen == [turns[3:], turns[1:3], turns[:1]]
    assert "data-live" not in next(each for each in elements(page) if "data-session" in each)


def test_its_parts_are_those_of_the_page(client: Client, me: Actor) -> None:
    made = said(me, "first", "second")
    page, parts = (get(client, url(made[0].session) + path) for path in ("", "parts/"))
    assert {each["data-part"] for each in elements(parts) if "data-part" in each} >= {"thread", "side", "metrics"}
    start = parts.index("<section")
    assert parts[start : parts.index("</section>")] in page


def test_nothing_hostile_becomes_markup(client: Client, me: Actor) -> None:
    agent = make_agent(me, name=HOSTILE)
    session = make_session(me, agent, HOSTILE)
    make_turn(me, f"say {HOSTILE}", agent=agent, session=session)
    make_turn(me, agent=agent, session=session, input_messages=[UserMessage(content=HOSTILE)])
    for path in ("", "parts/"):
        assert unsafe(get(client, url(session) + path)) == []


@pytest.mark.parametrize("path", ["", "parts/"])
def test_another_users_session_is_not_found(client: Client, make_user: Any, path: str) -> None:
    from agents.base.models.people import User

    owner, stranger = make_user("owner"), make_user("stranger")
    session = make_session(owner)
    client.force_login(User.objects.get(pk=stranger.user_id or 0))
    assert client.get(url(session) + path).status_code == 404


@pytest.mark.parametrize("query", ["?after=nonsense", "?before=%00"])
def test_a_place_that_is_none_is_not_found(client: Client, me: Actor, query: str) -> None:
    assert client.get(url(make_session(me)) + query).status_code == 404

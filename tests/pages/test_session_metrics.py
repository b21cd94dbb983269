"""What a session comes to, and searching in it."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from agents.base import ids
from agents.base.access import Actor
from agents.base.store import keys
from agents.base.timestamps import to_datetime
from agents.pages import session_metrics, sessions
from agents.record.models.choices import TurnStatus
from agents.record.models.prices import Price
from agents.record.store import costs
from agents.record.store.session_sums import TurnDuration
from agents.uikit import format
from tests.conftest import Clock
from tests.support.pages.api_numbers import get, links, part, said, stats
from tests.support.pages.logged_turns import Worked, log_turn, make_session
from tests.support.pages.markup import elements

pytestmark = pytest.mark.django_db

HOSTILE = "</script><img src=x onerror=alert(1)>\"'&\u202e"


@pytest.fixture
def me(db: None) -> Actor:
    return keys.local()


@pytest.fixture
def session(me: Actor, clock: Clock) -> int:
    """A session of four turns, of which one failed and one has no price."""
    session = make_session(me)
    log_turn(me, session, "before there was a price")
    Price.objects.create(model="llama*", starts_at=to_datetime(clock.now_us), input_nano=500, output_nano=1500)
    costs.forget()
    clock.pass_s(60)
    steps = [Worked(), Worked("lookup", ms=900), Worked()]
    log_turn(me, session, "where is the kettle", "It is on its way", steps=steps)
    clock.pass_s(60)
    log_turn(me, session, "and the teapot", status="failed", error="It broke")
    clock.pass_s(60)
    log_turn(me, session, "the kettle again", "Still on its way")
    return session


def url(session: int) -> str:
    return f"/sessions/{ids.public(ids.Kind.SESSION, session)}/"


def test_every_figure_is_that_of_the_turns_it_leads_to(client: Client, session: int) -> None:
    metrics = part(get(client, url(session)), 'data-part="metrics"', "</dl>")
    figures = dict(zip(("turns", "failed", "duration", "in", "out", "cost", "without"), links(metrics), strict=True))
    for name, (where, text) in figures.items():
        data: dict[str, Any] = stats(client, where)
        told = {
            "turns": format.count(data["count"]),
            "failed": format.count(data["count"]),
            "duration": "1.4 s",
            "in": format.count(data["tokens"]["input_tokens"]),
            "out": format.count(data["tokens"]["output_tokens"]),
            "cost": format.cost(data["cost_usd"]),
            "without": format.count(data["count"]),
        }
        assert text == told[name], name
    assert [figures[name][1] for name in ("turns", "failed", "without")] == ["4", "1", "1"]


def test_every_turn_has_a_bar_that_leads_to_it(client: Client, session: int) -> None:
    page = get(client, url(session))
    bars = part(page, 'class="turn-bars"', "</svg>")
    assert [href.startswith("/turns/") for href, _ in links(bars)] == [True] * 4
    assert "turn 2: completed, 1.1 s, 2,408 tokens" in bars
    assert [each["aria-label"] for each in elements(page, "svg") if "turn-bars" in each.get("class", "")] == [
        "How long 4 turns took, 1 failed"
    ]


def test_bars_are_as_tall_as_turns_were_long() -> None:
    lengths = [
        TurnDuration(ids.new_key(), n, TurnStatus.COMPLETED, 0, us, 0) for n, us in enumerate([1000, 500, 1, None])
    ]
    found = session_metrics.turn_bars(lengths)
    assert [(bar.x, bar.y, bar.height) for bar in found] == [(0, 0, 28), (8, 14, 14), (16, 25, 3), (24, 25, 3)]


def test_a_session_without_turns_has_nothing_to_count(client: Client, me: Actor) -> None:
    page = get(client, url(make_session(me)))
    assert links(part(page, 'data-part="metrics"', "</div>")) == []


def test_a_search_shows_the_turns_that_say_it_with_the_words_marked(client: Client, session: int) -> None:
    page = get(client, f"{url(session)}?find=kettle")
    thread = part(page, 'data-part="thread"', 'class="turn-side"')
    assert thread.count("session-turn") == 2
    assert thread.count("<mark>kettle</mark>") == 2
    assert "teapot" not in thread
    [(where, text), *_] = links(part(page, 'class="found"', "</p>"))
    assert (text, stats(client, where)["count"]) == ("2 turns", 2)
    assert all("?find=kettle" in href for href, text in links(thread) if "step" in text)


def test_a_search_finds_phrases_and_beginnings(client: Client, session: int) -> None:
    def hits(text: str) -> int:
        page = client.get(url(session), {"find": text}).content.decode()
        return part(page, 'data-part="thread"', 'class="turn-side"').count('class="session-turn"')

    assert [hits(text) for text in ('"on its way"', "kett", "kettle again", '"again kettle"', "nothing")] == [
        2,
        2,
        1,
        0,
        0,
    ]


def test_a_search_without_a_hit_says_so(client: Client, session: int) -> None:
    page = get(client, f"{url(session)}?find=zebra")
    assert "No turn of this session has these words." in said(page)
    assert "0 turns have it" in said(page)
    assert "Type a word to search for." in said(get(client, f"{url(session)}?find=%22%22"))


def test_a_search_pages_and_is_kept(client: Client, session: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "PAGE_SIZE", 1)
    page = get(client, f"{url(session)}?find=kettle")
    [earlier] = [href for href, text in links(page) if text == "Earlier turns"]
    assert "where is the" in said(get(client, url(session) + earlier))


@pytest.mark.parametrize("text", [HOSTILE, "status:failed OR", '"', "(" * 300, "a AND", "-", "\x00"])
def test_whatever_is_searched_for_is_only_words(client: Client, session: int, text: str) -> None:
    answer = client.get(url(session), {"find": text})
    assert answer.status_code == 200
    assert "onerror=alert" not in answer.content.decode().replace("onerror=alert(1)&gt;", "")

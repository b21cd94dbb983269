"""The dashboard: what is going on now, how a period went; and every number leads to its rows."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from agents.base.access import Actor
from agents.base.store import keys
from agents.base.timestamps import to_datetime
from agents.pages import period_metrics
from agents.record.models.prices import Price
from agents.record.store import costs
from agents.uikit import format
from tests.conftest import Clock
from tests.support.cases import sparing
from tests.support.pages.api_numbers import check_figures, check_table, get, links, part, said, stats
from tests.support.pages.logged_turns import Worked, log_turn, make_session
from tests.support.pages.markup import elements, words
from tests.support.sample_turns import sample

pytestmark = pytest.mark.django_db

HOSTILE = "</script><img src=x onerror=alert(1)>\"'&\u202e"


@pytest.fixture
def me(db: None) -> Actor:
    return keys.local()


@pytest.fixture
def busy(me: Actor, clock: Clock) -> Clock:
    """Turns of every outcome over some hours, and a few of the day before."""
    sample(me, clock)
    clock.pass_s(20 * 3600)
    sample_more(me, clock)
    return clock


def sample_more(me: Actor, clock: Clock) -> None:
    Price.objects.create(model="llama*", starts_at=to_datetime(0), input_nano=500, output_nano=1500)
    costs.forget()
    for number in range(9):
        session = make_session(me, agent=f"agent {number % 3}", name=f"s{number}")
        steps = [Worked(), Worked("web_search", ms=900 * number, failed=number == 4), Worked()]
        failed: Any = {"status": "failed", "error": "It broke"} if number % 4 == 1 else {}
        log_turn(me, session, f"question {number}", steps=steps, **failed)
        clock.pass_s(600)
    log_turn(me, session, "still at it", status=None)
    clock.pass_s(5)


def test_nobody_has_done_anything_yet(client: Client, me: Actor) -> None:
    page = get(client, "/")
    assert "No turns yet" in words(page)
    assert "curl" in page
    assert "data-dashboard" not in page


def test_what_runs_and_waits_is_named(client: Client, busy: Clock) -> None:
    now = part(get(client, "/"), 'data-part="now"', "</div>")
    told = {text: href for href, text in links(now)}
    running, waiting = (next(href for text, href in told.items() if name in text) for name in ("Running", "Waiting"))
    assert stats(client, running)["count"] == 3
    assert stats(client, waiting)["count"] == 1
    assert "3 Running" in said(now)
    assert "1 Waiting for an answer" in said(now)
    assert "still at it" in said(now)


def test_the_rest_of_a_table_is_a_link_away(client: Client, me: Actor, clock: Clock) -> None:
    log_turn(me, make_session(me), "Look", steps=[Worked(f"tool_{number}") for number in range(12)])
    clock.pass_s(60)
    [url] = [href for href, text in links(get(client, "/?numbers=1")) if re.fullmatch(r"and \d more", text)]
    values = [text for _, text in links(get(client, url)) if text.startswith("tool_")]
    assert sorted(values) == sorted(f"tool_{number}" for number in range(12))


@pytest.mark.parametrize("period", sparing(["1h", "24h", "7d", "30d"], "1h", "7d"))
def test_every_figure_is_that_of_the_list_it_leads_to(client: Client, busy: Clock, period: str) -> None:
    assert check_figures(client, get(client, f"/?period={period}")) == 8


def test_the_list_says_the_same(client: Client, busy: Clock) -> None:
    figures = links(part(get(client, "/"), '<dl class="figures">', "</dl>"))
    here, count = figures[0]
    sums = part(get(client, here), '<dl class="sums"', "</dl>")
    assert f"turns {count}" in words(sums)
    for _, text in figures:
        if text.startswith("$"):
            assert text in words(sums)
            break


@pytest.mark.parametrize("period", sparing(["1h", "24h", "30d"], "24h"))
def test_every_number_of_every_table_is_that_of_its_list(client: Client, busy: Clock, period: str) -> None:
    page = get(client, f"/?period={period}")
    assert check_table(client, part(page, 'id="tables"', 'id="slowest-head"')) > 10


def test_every_bar_and_row_of_a_chart_is_that_of_its_list(client: Client, busy: Clock) -> None:
    page = get(client, "/?period=24h")
    charts = page.split('<figure class="chart">')[1:]
    titles = [said(part(each, "<h3>", "</h3>")) for each in charts]
    assert titles == ["Turns by outcome", "Failure rate", "Duration", "Tokens", "Cost by model"]
    total = 0
    for row in part(charts[0], "<tbody>", "</tbody>").split("<tr>")[1:]:
        for url, text in links(row)[1:]:
            assert format.count(stats(client, url)["count"]) == text
            total += int(text)
    here = links(part(page, '<dl class="figures">', "</dl>"))[0]
    assert format.count(total) == here[1]
    for row in part(charts[4], "<tbody>", "</tbody>").split("<tr>")[1:]:
        for url, text in links(row)[1:]:
            assert period_metrics.cost_label(stats(client, url)["cost_usd"]) == text


def test_bars_of_a_period_hold_all_of_it_once(client: Client, busy: Clock) -> None:
    for period in ("1h", "24h", "7d", "30d"):
        page = get(client, f"/?period={period}")
        rows = part(page.split('<figure class="chart">')[1], "<tbody>", "</tbody>").split("<tr>")[1:]
        told = sum(int(text.replace(",", "")) for row in rows for _, text in links(row)[1:])
        [(_, count), *_] = links(part(page, '<dl class="figures">', "</dl>"))
        assert format.count(told) == count


def test_failures_are_grouped_by_error_with_the_newest_of_each(client: Client, busy: Clock) -> None:
    failures = part(get(client, "/"), 'aria-labelledby="failures-head"', "</section>")
    told = [(url, text) for url, text in links(failures) if url.startswith("/logs/")]
    (_, _), (by_message, _), *groups = told
    assert "by=error.message" in by_message
    assert client.get(by_message).status_code == 200
    assert sum(int(text.split(" ")[0]) for _, text in groups) == stats(client, told[0][0])["count"]
    for url, text in groups:
        assert stats(client, url)["count"] == int(text.split(" ")[0])
    assert "It broke" in said(failures)


def test_the_slowest_comes_first(client: Client, busy: Clock) -> None:
    slow = part(get(client, "/"), 'id="slowest-head"', "</section>")
    assert next(text for _, text in links(slow)).endswith("question 8")


def test_tables_are_sorted_as_the_url_says(client: Client, busy: Clock) -> None:
    def first(sort: str) -> str:
        table = part(get(client, f"/?sort={sort}"), 'id="top-tool"', "</section>")
        return links(table)[0][1]

    assert first("count") == first("nonsense") == first("failed") == "web_search"
    assert 'aria-current="true">cost' in get(client, "/?sort=cost")


def test_a_browser_with_javascript_gets_the_numbers_behind_the_page(client: Client, busy: Clock) -> None:
    client.cookies["tz"] = "Asia/Kolkata"
    page = get(client, "/?period=7d&sort=cost")
    assert "counting…" in words(page)
    assert '<figure class="chart">' not in page
    url = next(each["data-dashboard"] for each in elements(page, "div") if "data-dashboard" in each)
    parts = get(client, url)
    assert len([each for each in elements(parts) if each.get("data-part") in ("now", "numbers")]) == 2
    assert '<figure class="chart">' in parts
    assert 'data-part="numbers"' not in get(client, f"{url}&only=now")


def test_words_of_others_are_only_words(client: Client, me: Actor) -> None:
    session = make_session(me, agent=HOSTILE, name=HOSTILE)
    log_turn(me, session, HOSTILE, steps=[Worked(HOSTILE)], status="failed", error=HOSTILE)
    log_turn(me, session, HOSTILE, status=None)
    get(client, "/")


def test_it_counts_nothing_of_what_is_not_theirs(client: Client, me: Actor, make_user: Callable[..., Actor]) -> None:
    log_turn(me, make_session(me), "A secret of mine")
    make_user("mallory", teams=["other"])
    client.login(username="mallory", password="correct horse battery")
    page = get(client, "/")
    assert "secret" not in page
    assert "No turns yet" in page


@pytest.mark.parametrize("query", ["period=1y", "period=", "sort=%00", "period=24h&sort=count&tz=nowhere"])
def test_what_is_no_choice_is_the_usual_one(client: Client, me: Actor, query: str) -> None:
    log_turn(me, make_session(me), "hello")
    assert 'aria-current="page">24 hours' in get(client, f"/?{query}")

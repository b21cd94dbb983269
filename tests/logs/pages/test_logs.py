"""The logs list, as a browser without JavaScript gets it."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import unescape
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from agents.base.access import Actor
from agents.base.store import changes, feed_cursor, keys
from agents.logs.pages import logs
from agents.record.models.turns import Turn
from tests.conftest import Clock
from tests.support.builders import make_response
from tests.support.pages.logged_turns import Worked, log_turn, make_session

pytestmark = pytest.mark.django_db


@pytest.fixture
def me(db: None) -> Actor:
    """The local user, as whom pages act where no login is asked for."""
    return keys.local()


@pytest.fixture
def session(me: Actor, clock: Clock) -> int:
    return make_session(me)


def get(client: Client, query: str = "", **more: str) -> str:
    """The page of a query, which must be a good one."""
    answer = client.get("/logs/", {"q": query, **more} if query else more)
    assert answer.status_code == 200
    return page_of(answer)


def page_of(answer: Any) -> str:
    text: str = answer.content.decode()
    return text


def rows(page: str) -> list[str]:
    """The public ids of the rows, in their order."""
    return re.findall(r'<tr class="log-row"[^>]* data-id="([^"]+)"', page)


def links(page: str, pattern: str) -> list[str]:
    """The queries of the links whose opening tag has ``pattern`` in it."""
    tags = [tag for tag in re.findall(r"<a [^>]+>", page) if re.search(pattern, tag)]
    hrefs = [unescape(match[1]) for tag in tags if (match := re.search(r'href="([^"]*)"', tag))]
    return [parse_qs(urlsplit(href).query).get("q", [""])[0] for href in hrefs]


def words_of(page: str) -> str:
    """What is read on a page."""
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", page)).split())


# ---------------------------------------------------------------------------------------------- rows


def test_it_shows_a_turn_as_a_row(client: Client, me: Actor, session: int) -> None:
    turn = log_turn(
        me, session, "Where is my refund?", "It is **on its way**.", steps=[Worked(ms=1_500), Worked("lookup", 400)]
    )
    page = get(client)
    row = words_of(page[page.index("data-rows") :].split("</tbody>")[0])
    for text in ("support", "refund-8841", "Where is my refund?", "It is on its way.", "1.9 s", "1,204", "completed"):
        assert text in row
    assert f'href="/turns/{turn}/"' in page
    assert "2 steps: 1 inference, 1 tool" in row
    assert page.count("<rect class=") == 2


def test_it_shows_the_error_as_the_last_words_of_a_failure(client: Client, me: Actor, session: int) -> None:
    log_turn(me, session, "Compare the vendors", status="failed", error="504 from provider", steps=[Worked("web", 9)])
    page = get(client)
    assert re.search(r'class="cut bad"><bdi>504 from provider', page)


def test_it_counts_on_while_a_turn_runs(client: Client, me: Actor, session: int, clock: Clock) -> None:
    log_turn(me, session, "Take your time", status=None, steps=())
    clock.pass_s(2.5)
    assert 'data-elapsed="2500">2.5 s' in get(client)


def test_it_shows_hostile_text_as_text(client: Client, me: Actor) -> None:
    hostile = "</td></tr><script>alert(1)</script><img src=x onerror=alert(2)>"
    log_turn(me, make_session(me, agent=hostile, name=hostile), hostile, hostile)
    page = get(client, '"td tr script alert"')
    assert rows(page)
    assert "<script>alert" not in page
    assert "<img" not in page
    row = page[page.index("data-rows") :].split("</tbody>")[0]
    assert unescape(re.sub(r"</?mark>", "", row)).count(hostile) == 4


def test_it_marks_what_was_searched_for(client: Client, me: Actor, session: int) -> None:
    log_turn(me, session, "Where is my <b>Refund</b>?")
    assert "&lt;b&gt;<mark>Refund</mark>&lt;/b&gt;" in get(client, "refund")


def test_it_has_no_script_or_style_inside(client: Client, me: Actor, session: int) -> None:
    log_turn(me, session, "Hello")
    for page in (get(client), page_of(client.get("/logs/?q=status:faled")), page_of(client.get("/nothing/"))):
        assert not re.search(r"<script(?![^>]* src=)", page)
        assert not re.search(r"<style|\sstyle=|\son[a-z]+=", page)


# --------------------------------------------------------------------------------------------- query


def test_it_lists_what_the_query_accepts(client: Client, me: Actor, session: int) -> None:
    log_turn(me, session, "Hello")
    failed = log_turn(me, session, "Compare the vendors", status="failed", error="504")
    page = get(client, "status:failed vendors")
    assert rows(page) == [failed]
    assert 'value="status:failed vendors"' in page


def test_it_offers_each_condition_to_be_taken_away(client: Client, session: int) -> None:
    page = get(client, "status:failed -agent:support refund")
    assert links(page, "Remove") == ["-agent:support refund", "status:failed refund", "status:failed -agent:support"]


def test_it_says_where_a_query_is_wrong(client: Client, me: Actor, session: int) -> None:
    log_turn(me, session, "Hello")
    answer = client.get("/logs/", {"q": "agent:support status:faled"})
    page = page_of(answer)
    assert answer.status_code == 400
    assert rows(page) == []
    assert 'aria-invalid="true"' in page
    assert 'value="agent:support status:faled"' in page
    assert "agent:support status:<mark>faled</mark>" in page
    assert "At character 22." in words_of(page)
    assert "agent:support status:failed" in links(page, "href")


def test_it_keeps_a_wrong_query_harmless(client: Client, me: Actor) -> None:
    for query in ('"><script>alert(1)</script>', "x" * 2_001, "a\x00b", "(" * 50, "status:", "\ud800"):
        answer = client.get("/logs/?" + urlencode({"q": query}, errors="surrogatepass"))
        assert answer.status_code == 400, query[:20]
        assert "<script>alert" not in page_of(answer)


def test_it_offers_the_same_step(client: Client, session: int) -> None:
    page = get(client, "tool:web type:tool_execution")
    assert "step(tool:web type:tool_execution)" in links(page, "href")


def test_it_narrows_to_a_range_of_times(client: Client, me: Actor) -> None:
    wanted = {"q": "status:failed", "from": "2026-11-20T10:00", "to": "2026-11-20T11:00"}
    answer = client.get("/logs/", wanted)
    assert answer.status_code == 302
    assert links(f'<a href="{answer["Location"]}">', "href") == [
        "status:failed started:2026-11-20T10:00..2026-11-20T11:00"
    ]
    assert client.get("/logs/", {"from": "soon"}).status_code == 400


def test_it_reads_days_in_the_readers_zone(client: Client, me: Actor, session: int, clock: Clock) -> None:
    clock.now_us = 1_795_217_400_000_000  # 2026-11-20 23:30 UTC: the 21st in Berlin
    turn = log_turn(me, session, "Hello")
    assert rows(get(client, "started:2026-11-20")) == [turn]
    client.cookies["tz"] = "Europe/Berlin"
    assert rows(get(client, "started:2026-11-20")) == []
    assert rows(get(client, "started:2026-11-21")) == [turn]
    client.cookies["tz"] = "../../etc/passwd"
    assert rows(get(client, "started:2026-11-20")) == [turn]


def test_it_offers_relative_times_fixed(client: Client, session: int, clock: Clock) -> None:
    page = get(client, "started:-24h")
    assert any(re.fullmatch(r"started:>=\d{4}-\d\d-\d\dT.*", query) for query in links(page, "href"))


def test_relative_times_stay_so_in_filters_that_come_late(client: Client, me: Actor, session: int) -> None:
    log_turn(me, session, "Compare", status="failed", error="504")
    client.cookies["tz"] = "UTC"  # as a browser with JavaScript sets it: it fetches the numbers
    page = get(client, "started:-24h")
    [numbers_url] = re.findall(r'data-numbers="([^"]+)"', page)
    late = page_of(client.get(unescape(numbers_url)))
    assert "started:-24h status:failed" in links(late, "facet-pick")
    assert 'data-state="in"' in page, "the time that was chosen is marked"
    assert "in the last 24 hours" in words_of(page)
    assert '<input type="hidden" name="q" value="started:-24h">' in page, "of a view that is saved"


@pytest.mark.parametrize(
    ("language", "labels"),
    [
        (
            "de",
            (
                "Status: gescheitert",
                "von Agent support",
                "in den letzten 24 Stunden",
                "außer: mit einem Schritt: des Tools web",
            ),
        ),
        ("fr", ("statut : en échec", "de l’agent support", "dans les 24 dernières heures", "sauf : ")),
    ],
)
def test_conditions_are_in_the_readers_language(
    client: Client, session: int, language: str, labels: tuple[str, ...]
) -> None:
    client.cookies["language"] = language
    page = words_of(get(client, "status:failed agent:support started:-24h -tool:web"))
    for label in labels:
        assert label in page


# -------------------------------------------------------------------------------------------- facets


def test_it_includes_and_excludes_by_links(client: Client, me: Actor, session: int) -> None:
    log_turn(me, session, "Refund me", steps=[Worked("lookup")])
    log_turn(me, session, "Where is my refund?", status="failed", error="504")
    page = get(client, "refund")
    for query in ("refund status:failed", "refund agent:support", "refund model:llama-3.3-70b", "refund tool:lookup"):
        assert query in links(page, "facet-pick")
    assert "refund started:-1h" in links(page, "facet-pick")
    assert "refund -status:failed" in links(page, "facet-less")


def test_it_takes_back_what_was_chosen(client: Client, me: Actor, session: int) -> None:
    log_turn(me, session, "Compare", status="failed", error="504")
    chosen, excluded = get(client, "x status:failed"), get(client, "x -status:failed")
    assert 'data-state="in"' in chosen
    assert 'data-state="out"' in excluded
    assert "x" in links(chosen, 'aria-current="true"')
    assert "x" in links(excluded, "facet-pick")


def test_a_response_that_a_limit_cut_is_incomplete_everywhere(client: Client, me: Actor) -> None:
    whole, cut = make_response(me, said="one"), make_response(me, said="two")
    Turn.objects.unscoped("test").filter(pk=cut.turn).update(stop_reason="out_of_tokens")
    page = page_of(client.get("/responses/"))
    assert rows(page) == [cut.public_id, whole.public_id]
    assert {"status:incomplete", "status:completed"} <= set(links(page, "facet-pick"))
    assert "completed 1 incomplete 1" in re.sub(r" Exclude \w+", "", words_of(page))
    assert rows(page_of(client.get("/responses/?q=status:incomplete"))) == [cut.public_id]
    assert rows(page_of(client.get("/responses/?q=status:completed"))) == [whole.public_id]
    assert rows(page_of(client.get("/responses/?q=status:!=incomplete"))) == [whole.public_id]
    assert "response 1" in words_of(page_of(client.get("/logs/numbers/?level=response&q=status:incomplete")))
    assert "write is:truncated" in words_of(get(client, "status:incomplete"))


def test_every_value_is_reached_however_many_there_are(client: Client, me: Actor, session: int) -> None:
    log_turn(me, session, "Refund me", steps=[Worked(f"tool_{number:02}") for number in range(40)])
    page = get(client, "refund")
    assert "32 more" in words_of(page), "those included that are not on the page"
    assert "refund tool:tool_39" not in links(page, "facet-pick")
    [url] = [unescape(url) for url in re.findall(r'<a class="facet-note" href="([^"]+)"', page)]
    everything = page_of(client.get(url))
    assert [f"refund tool:tool_{number:02}" for number in range(40)] == links(everything, "facet-pick")
    assert links(page_of(client.get(f"{url}&find=_39")), "facet-pick") == ["refund tool:tool_39"]
    assert "No values match." in words_of(page_of(client.get(f"{url}&find=zebra")))
    assert client.get("/logs/values/?field=nothing").status_code == 400
    assert client.get("/logs/values/?field=tool&q=status:faled").status_code == 400


def test_it_offers_no_value_for_which_the_query_has_no_room(client: Client, me: Actor) -> None:
    log_turn(me, make_session(me, agent="support"), "x" * 1_995)
    page = get(client, "x" * 1_995)
    assert not any("agent:" in query for query in links(page, "facet-"))
    assert '<span class="facet-pick"><span class="cut"><bdi>support</bdi>' in page


# ----------------------------------------------------------------------------------- sums and paging


def test_it_sums_what_is_listed(client: Client, me: Actor, session: int) -> None:
    log_turn(me, session, "One", steps=[Worked(ms=2_000)])
    log_turn(me, session, "Two", status="failed", error="504", steps=[Worked(ms=4_000)])
    for page in (words_of(get(client)), words_of(page_of(client.get("/logs/numbers/")))):
        assert "turns 2 failed 50 % p50" in page
        assert "tokens 2,408" in page
    assert "turn 1 failed 100 %" in words_of(page_of(client.get("/logs/numbers/?q=status:failed")))


def test_it_pages_both_ways_by_key(
    client: Client, me: Actor, session: int, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs, "PAGE", 2)
    turns: list[str] = []
    for number in range(5):
        turns.insert(0, log_turn(me, session, f"Number {number}"))
        clock.pass_s(60)
    seen, url = [], "/logs/?q=number"
    while url:
        page = page_of(client.get(url))
        seen.append(rows(page))
        url = next(iter(re.findall(r'<a class="button" href="([^"]+)" rel="next"[^>]*data-older>', page)), "")
        url = unescape(url)
    assert seen == [turns[0:2], turns[2:4], turns[4:5]]
    back = page_of(client.get("/logs/", {"q": "number", "before": turns[4]}))
    assert rows(back) == turns[2:4]
    newest = client.get("/logs/", {"q": "number", "before": turns[2]})
    assert (newest.status_code, newest["Location"]) == (302, "/logs/?q=number")


def test_it_knows_no_page_beside_what_is_no_turn(client: Client, me: Actor) -> None:
    assert client.get("/logs/?after=nonsense").status_code == 404


def test_it_asks_the_database_as_often_for_many_rows_as_for_one(client: Client, me: Actor, session: int) -> None:
    def count() -> int:
        with CaptureQueriesContext(connection) as queries:
            get(client)
        return len(queries)

    log_turn(me, session, "Hello", steps=[Worked(), Worked("lookup")])
    get(client)  # what is cached for the process is read now
    one = count()
    for _ in range(5):
        log_turn(me, session, "Hello again", steps=[Worked(), Worked("lookup")])
    assert count() == one


# ------------------------------------------------------------------------------------ empty and live


def test_it_teaches_where_there_is_nothing_yet(client: Client, me: Actor) -> None:
    page = words_of(get(client))
    assert "No turns yet" in page
    assert "API=http://testserver/v1" in page
    assert 'LlamaStackClient(base_url="http://testserver")' in page


def test_it_says_that_nothing_matches(client: Client, me: Actor, session: int) -> None:
    log_turn(me, session, "Hello")
    page = get(client, "status:failed refund")
    assert "No turn matches" in words_of(page)
    assert {"refund", "status:failed", ""} <= set(links(page, "href"))


def test_it_tells_the_page_where_to_follow_from(client: Client, me: Actor, session: int, clock: Clock) -> None:
    turn = log_turn(me, session, "Hello")
    page = get(client, "started:-24h")
    (table,) = re.findall(r"<table [^>]+>", page)
    [cursor] = re.findall(r'data-cursor="([^"]+)"', table)
    assert feed_cursor.seq_of(keys.local(), cursor) == changes.latest()
    assert f'data-newest="{turn}"' in table
    assert "data-at-top" in table
    assert "-24h" not in re.findall(r'data-q="([^"]*)"', table)[0]
    assert "data-at-top" not in re.findall(r"<table [^>]+>", get(client, after=turn))[0]


# -------------------------------------------------------------------------------------------- access


def test_it_leads_strangers_to_the_login(client: Client, settings: Settings) -> None:
    settings.REQUIRE_LOGIN = True
    answer = client.get("/logs/?q=refund")
    assert answer.status_code == 302
    assert answer["Location"] == "/login/?next=/logs/%3Fq%3Drefund"


def test_it_shows_nobody_what_is_not_theirs(
    client: Client, me: Actor, make_user: Callable[..., Actor], session: int
) -> None:
    log_turn(me, session, "A secret of mine")
    make_user("mallory", teams=["other"])
    client.login(username="mallory", password="correct horse battery")
    page = get(client)
    assert rows(page) == []
    assert "secret" not in page
    assert "refund-8841" not in page
    assert "No turns yet" in page


@pytest.mark.parametrize("path", ["/logs/", "/sessions/", "/steps/", "/responses/"])
def test_every_list_is_among_the_logs(client: Client, me: Actor, path: str) -> None:
    rail = client.get(path).content.decode().partition("</nav>")[0]
    assert re.findall(r'href="([^"]+)" aria-current="(\w+)"', rail) == [("/logs/", "page")]


def test_files_are_imported_where_agents_are_connected(client: Client, me: Actor) -> None:
    rail = client.get("/import/").content.decode().partition("</nav>")[0]
    assert re.findall(r'href="([^"]+)" aria-current="(\w+)"', rail) == [("/connect/", "true")]

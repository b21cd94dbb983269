"""How agents are doing: the numbers on an agent's page and in the list of agents, and an agent's revisions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from agents.base import ids
from agents.base.access import Actor
from agents.base.store import keys
from agents.base.timestamps import to_datetime
from agents.record.models.agents import Agent, Session
from agents.record.models.prices import Price
from agents.record.store import agents, costs
from agents.uikit import format
from tests.conftest import Clock
from tests.support.builders import make_agent
from tests.support.pages.api_numbers import check_figures, check_table, get, links, part, said, stats
from tests.support.pages.external_turns import tell
from tests.support.pages.logged_turns import Worked, log_turn, make_session
from tests.support.pages.markup import elements, words
from tests.telemetry.reading import reports

pytestmark = pytest.mark.django_db

HOSTILE = "</script><img src=x onerror=alert(1)>\"'&\u202e"


@pytest.fixture
def me(db: None) -> Actor:
    return keys.local()


@pytest.fixture
def busy(me: Actor, clock: Clock) -> str:
    """An agent with turns over some hours, beside another; its public id."""
    Price.objects.create(model="llama*", starts_at=to_datetime(0), input_nano=500, output_nano=1500)
    costs.forget()
    mine, other = make_session(me, agent="support"), make_session(me, agent="support")
    for number in range(8):
        steps = [Worked(ms=100 * number + 1), Worked("web_search", failed=number == 4)]
        failed: Any = {"status": "failed", "error": "It broke"} if number in (1, 5) else {}
        log_turn(me, mine, f"question {number}", steps=steps, **failed)
        log_turn(me, other, "of another")
        clock.pass_s(2400)
    return agent_of(mine)


def agent_of(session: int) -> str:
    return ids.public(ids.Kind.AGENT, Session.objects.unscoped("a test's").get(pk=session).agent_id or 0)


# ----------------------------------------------------------------------------------------- one agent


@pytest.mark.parametrize("period", ["1h", "24h", "7d", "30d"])
def test_its_figures_are_those_of_its_turns(client: Client, busy: str, period: str) -> None:
    page = get(client, f"/agents/{busy}/?period={period}")
    assert check_figures(client, page) == 8
    turns = links(part(page, '<dl class="figures">', "</dl>"))[0]
    assert turns[1] == {"1h": "1", "24h": "8", "7d": "8", "30d": "8"}[period]


def test_its_charts_and_tools_are_of_it_alone(client: Client, busy: str) -> None:
    page = get(client, f"/agents/{busy}/")
    titles = [said(part(each, "<h3>", "</h3>")) for each in page.split('<figure class="chart">')[1:]]
    assert titles == ["Turns by outcome", "Failure rate", "Duration", "Tokens", "Cost by model"]
    tools = part(page, 'id="top-tool"', "</section>")
    assert check_table(client, tools) == 3
    assert "web_search 8 1 12.5 % 100 ms" in said(tools)
    rows = part(page.split('<figure class="chart">')[1], "<tbody>", "</tbody>").split("<tr>")[1:]
    told = [(url, int(text)) for row in rows for url, text in links(row)[1:]]
    assert sum(count for _, count in told) == 8
    assert all(stats(client, url)["count"] == count for url, count in told)


def test_its_failures_are_named(client: Client, busy: str) -> None:
    failures = part(get(client, f"/agents/{busy}/"), 'aria-labelledby="failures-head"', "</section>")
    assert "2 provider_error" in said(failures)
    assert "It broke" in said(failures)


def test_its_numbers_come_behind_the_page_to_a_browser_with_javascript(client: Client, busy: str) -> None:
    client.cookies["tz"] = "UTC"
    page = get(client, f"/agents/{busy}/?period=7d")
    assert '<figure class="chart">' not in page
    [late] = [each for each in elements(page, "section") if "data-late" in each]
    assert (late["data-topic"], "data-late-now" in late) == (f"agent:{busy}", True)
    assert check_figures(client, get(client, late["data-late"])) == 8


def test_numbers_of_an_agent_are_for_those_who_may_see_it(
    client: Client, busy: str, make_user: Callable[..., Actor]
) -> None:
    make_user("mallory", teams=["other"])
    client.login(username="mallory", password="correct horse battery")
    for path in ("", "numbers/", "revisions/"):
        assert client.get(f"/agents/{busy}/{path}").status_code == 404


@pytest.fixture
def helper(me: Actor, clock: Clock) -> str:
    """The public id of an agent elsewhere that does all it does in turns of another."""
    Price.objects.create(model="*", starts_at=to_datetime(0), input_nano=500, output_nano=1500)
    costs.forget()
    tell(me, *reports.delegated(1, "<b>finder"))
    clock.pass_s(60)
    return ids.public(ids.Kind.AGENT, Agent.objects.unscoped("test").get(name="<b>finder").pk)


def test_what_it_did_in_turns_of_others_is_counted(client: Client, helper: str) -> None:
    page = get(client, f"/agents/{helper}/")
    others = part(page, 'aria-labelledby="elsewhere-head"', "</section>")
    assert check_figures(client, others) == 6
    of_turns = page[page.index(others) + len(others) :]  # of which there are none: they come behind
    assert check_figures(client, of_turns) == 8
    assert "tokens in 20" in said(others)
    assert "tokens out 5" in said(others)
    where, title = links(others)[0]
    assert (title, stats(client, where)["tools"]) == ("In turns of other agents", 1)
    assert "search 1 1 100 %" in said(part(page, 'id="top-tool"', "</section>"))


def test_an_agent_with_turns_of_its_own_alone_says_nothing_of_others(client: Client, busy: str) -> None:
    assert "In turns of other agents" not in get(client, f"/agents/{busy}/")


# ------------------------------------------------------------------------------------------- the list


def test_an_agent_that_works_for_others_is_not_idle_in_the_list(client: Client, helper: str) -> None:
    page = get(client, "/agents/?period=24h")
    rows = part(page, "<tbody>", "</tbody>").split("<tr")[1:]
    [row] = [each for each in rows if f"/agents/{helper}/" in each]
    [where] = [url for url, text in links(row) if text == "3 steps in turns of others"]
    assert stats(client, where)["count"] == 3
    failed = f"{stats(client, where)['failed']} 33"
    assert failed in said(row)
    assert [("in turns of others" in each) for each in rows].count(True) == 1


def test_the_list_tells_agents_of_one_name_apart(client: Client, me: Actor, busy: str) -> None:
    make_agent(me, name="idle")
    page = get(client, "/agents/?period=24h")
    rows = {
        words(row.split("</th>")[0]).split(" ")[-1]: row for row in part(page, "<tbody>", "</tbody>").split("<tr")[1:]
    }
    assert "turns, at most" not in rows["idle"]
    mine = next(row for row in page.split("<tr")[1:] if f"/agents/{busy}/" in row)
    (_, _), (_, _), (_, _), *numbers = links(mine)
    for (url, text), title in zip(numbers, ("count", "failed", "p95", "cost"), strict=True):
        data = stats(client, url)
        told = {
            "count": format.count(data["count"]),
            "failed": f"{data['count']} 25 %",
            "p95": format.duration(data["duration_ms"]["p95"]),
            "cost": format.cost(data["cost_usd"]),
        }
        assert text == told[title]
    assert [text for _, text in numbers][:2] == ["8", "2 25 %"]


def test_the_list_leads_to_all_sessions_of_an_agent(client: Client, busy: str) -> None:
    row = next(row for row in get(client, "/agents/").split("<tr")[1:] if f"/agents/{busy}/" in row)
    url, text = links(row)[1]
    assert str(stats(client, url)["count"]) == text == "1"


def test_the_lists_numbers_come_behind_it_to_a_browser_with_javascript(client: Client, busy: str) -> None:
    client.cookies["tz"] = "UTC"
    page = get(client, "/agents/?period=7d")
    assert "…" in said(part(page, "<tbody>", "</tbody>"))
    [late] = [each["data-late"] for each in elements(page, "div") if "data-late" in each]
    assert late == "/agents/numbers/?start=0&period=7d"
    assert "8 turns, at most" in get(client, late)


# ------------------------------------------------------------------------------------------ revisions


def revised(actor: Actor) -> str:
    record = make_agent(actor, name="support", instructions="You help with orders. Be brief and kind.")
    config = record.config
    for update in ({"instructions": "You help with orders. Be brief."}, {"toolgroups": ["builtin::demo"]}):
        config = config.model_copy(update=update)
        agents.revise(actor, record.key, config)
    return record.public_id


def test_it_says_who_changed_what_and_when(client: Client, me: Actor, admin: Actor) -> None:
    page = get(client, f"/agents/{revised(admin)}/revisions/")
    rows = [said(row) for row in part(page, "<tbody>", "</tbody>").split("<tr>")[1:]]
    assert [row.split(" ")[0] for row in rows] == ["3", "2", "1"]
    assert rows[0].endswith("root tools of the server")
    assert rows[1].endswith("root instructions Restore…")
    assert rows[2].endswith("as created Restore…")
    assert "now" in rows[0]


def test_it_compares_the_last_with_the_one_before(client: Client, me: Actor) -> None:
    page = get(client, f"/agents/{revised(me)}/revisions/")
    assert "From revision 2 (A) to revision 3 (B)" in words(page)
    assert "builtin::demo" in said(part(page, 'id="changes-head"', "</section>"))


def test_it_compares_any_two(client: Client, me: Actor) -> None:
    page = get(client, f"/agents/{revised(me)}/revisions/?a=1&b=3")
    changed = part(page, 'id="changes-head"', "</section>")
    assert "<del>" in changed
    assert "and kind." in said(changed)
    checked = [each["value"] for each in elements(page, "input") if "checked" in each]
    assert checked == ["3", "1"]


@pytest.mark.parametrize("query", ["a=9", "b=x", "a=&b=1", "a=1&b=%00"])
def test_a_revision_that_is_none_is_not_found(client: Client, me: Actor, query: str) -> None:
    assert client.get(f"/agents/{revised(me)}/revisions/?{query}").status_code == 404


def test_an_agent_that_never_changed_has_nothing_to_compare(client: Client, me: Actor) -> None:
    page = get(client, f"/agents/{make_agent(me, name='first').public_id}/revisions/")
    assert "Never changed." in words(page)
    assert [each for each in elements(page, "input") if each.get("type") == "radio"] == []


def test_what_revisions_say_is_only_words(client: Client, me: Actor) -> None:
    record = make_agent(me, name=HOSTILE, instructions=HOSTILE * 100)
    agents.revise(me, record.key, record.config.model_copy(update={"instructions": HOSTILE * 100 + "more"}))
    page = get(client, f"/agents/{record.public_id}/revisions/")
    assert "characters, the same" in words(page)

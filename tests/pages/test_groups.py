"""A list in groups: each number is that of the list it leads to, and the CSV has the same."""

from __future__ import annotations

import csv
import io
import re

import pytest
from django.test import Client

from agents.base.access import Actor
from agents.base.store import keys
from agents.base.store.writer import writer
from agents.record.models.turns import Turn
from agents.record.store import tags, turns
from tests.conftest import Clock
from tests.support.pages.api_numbers import links, stats
from tests.support.pages.logged_turns import Worked, log_turn, make_session
from tests.support.pages.markup import unsafe

pytestmark = pytest.mark.django_db

DAY_S = 86_400


@pytest.fixture
def me(db: None) -> Actor:
    return keys.local()


@pytest.fixture
def days(me: Actor, clock: Clock) -> Clock:
    """Two agents over three days; one has a name that is a formula and HTML."""
    support, hostile = make_session(me, "support"), make_session(me, '=<b>"1"+2</b>')
    for day in range(3):
        for number in range(day + 1):
            log_turn(me, support, "Look", steps=[Worked(f"tool_{number}", failed=number == 1)])
        log_turn(me, hostile, "Look", steps=[Worked("tool_0")])
        clock.pass_s(DAY_S)
    return clock


def page(client: Client, **params: str) -> str:
    answer = client.get("/logs/groups/", params)
    assert answer.status_code == 200, answer.content
    text = answer.content.decode()
    assert unsafe(text) == []
    return text


def counts(html: str) -> list[tuple[int, str]]:
    """The counts of the table's rows, with where they lead."""
    body = html.partition("<tbody>")[2].partition("</tbody>")[0] if "groups-rows" in html else ""
    body = html.rpartition("<tbody>")[2].partition("</tbody>")[0] or body
    rows = [links(row) for row in body.split("<tr>")[1:]]
    return [(int(row[0][1]), row[0][0]) for row in rows]


@pytest.mark.parametrize(
    ("level", "by", "groups"),
    [
        ("turn", "agent,day", 6),
        ("turn", "agent", 2),
        ("turn", "day", 3),
        ("turn", "week", 1),
        ("turn", "status", 1),
        ("turn", "user", 1),
        ("step", "tool", 3),
        ("step", "tool,status", 3),
        ("session", "agent", 2),
    ],
)
def test_each_number_is_that_of_its_list(client: Client, days: Clock, level: str, by: str, groups: int) -> None:
    query = "type:tool" if level == "step" else ""
    found = counts(page(client, level=level, by=by, q=query))
    assert len(found) == groups
    for count, url in found:
        assert stats(client, url)["count"] == count, url
    whole = client.get(f"/v1/logs/{level}s/stats", {"q": query}).json()["data"]["count"]
    assert sum(count for count, _ in found) == whole


def test_failures_are_grouped_by_their_messages(client: Client, me: Actor) -> None:
    session = make_session(me, "support")
    for error in ("order 7 is gone", "order 8 is gone", "HTTP 503", ""):
        log_turn(me, session, "Look", status="failed", error=error)
    found = counts(page(client, q="status:failed"))
    assert [count for count, _ in found] == [2, 1, 1]
    for count, url in found:
        assert stats(client, url)["count"] == count, url
    rows = csv.DictReader(
        io.StringIO(client.get("/logs/groups/", {"q": "status:failed", "format": "csv"}).content.decode(), newline="")
    )
    assert {row["error.message"] for row in rows} == {"order … is gone", "HTTP 503", ""}


@pytest.mark.parametrize(
    "by", ["tag", "tool", "tag,tool", "env", "meta.plan", "meta.first name", "meta.of=a", "meta.a.b"]
)
def test_a_turn_is_in_the_group_of_each_of_its_values(client: Client, me: Actor, by: str) -> None:
    session = make_session(me, "support")
    metadata = {"env": "prod", "plan": "pro", "first name": 'A "b" *', "of": "a=b", "a": {"b": 1}}
    turn_keys = [turns.key_of(log_turn(me, session, "Look", steps=[Worked("a"), Worked("b")])) for _ in range(3)]
    writer.write(lambda: tags.add(["vip", "slow"], turns=turn_keys[:2]))
    writer.write(lambda: tags.index_turns([(turn_keys[0], metadata)]))
    html = page(client, by=by)
    assert "counted in the group of each" in html
    found = counts(html)
    assert len(found) > 1
    for count, url in found:
        assert stats(client, url)["count"] == count, url


def test_the_fields_of_the_metadata_are_offered(client: Client, me: Actor) -> None:
    turn = turns.key_of(log_turn(me, make_session(me, "support"), "Look"))
    writer.write(lambda: tags.index_turns([(turn, {"plan": "pro"})]))
    assert '<option value="meta.plan">' in page(client)
    assert '<option value="meta.plan">' not in page(client, level="step", by="tool")


def test_the_query_holds_in_each_group(client: Client, days: Clock) -> None:
    for query in ("tool:tool_1", "agent:support OR tool:tool_1", "-tool:tool_1 tool:tool_0"):
        found = counts(page(client, level="turn", by="agent,day", q=query))
        assert found
        for count, url in found:
            assert stats(client, url)["count"] == count, url


def test_the_csv_has_the_same(client: Client, days: Clock) -> None:
    answer = client.get("/logs/groups/", {"level": "turn", "by": "agent,day", "format": "csv"})
    assert answer.headers["Content-Disposition"] == 'attachment; filename="turns-by-agent-day.csv"'
    rows = list(csv.DictReader(io.StringIO(answer.content.decode(), newline="")))
    assert sorted(int(row["count"]) for row in rows) == sorted(
        count for count, _ in counts(page(client, level="turn", by="agent,day"))
    )
    assert {row["agent"] for row in rows} == {"support", '\'=<b>"1"+2</b>'}
    assert {"duration_ms.p95", "waited_ms.p95", "tokens.total_tokens", "cost_usd", "failure_rate"} <= rows[0].keys()


def test_a_chart_has_a_series_for_each_value(client: Client, days: Clock) -> None:
    html = page(client, level="turn", by="agent,day", show="duration")
    assert re.search(r'class="line series-2', html)
    assert "chart-plot" in page(client, level="turn", by="day")
    assert "chart-plot" not in page(client, level="turn", by="agent")


def test_many_values_are_one_series(client: Client, me: Actor, clock: Clock) -> None:
    for number in range(7):
        log_turn(me, make_session(me, f"agent_{number}"), "Look", steps=[Worked("x")])
    html = page(client, level="turn", by="agent,day")
    assert "series-rest" in html
    assert "others" in html


def test_a_list_leads_to_its_groups(client: Client, days: Clock) -> None:
    [url] = {url for url, _ in links(client.get("/logs/?q=tool:tool_0").content.decode()) if "/logs/groups/" in url}
    assert counts(client.get(url).content.decode())


def test_nothing_is_said_to_match(client: Client, db: None) -> None:
    assert "Nothing matches." in page(client, q="status:failed")


@pytest.mark.parametrize(
    ("params", "param"),
    [
        ({"by": "colour"}, "by"),
        ({"by": "agent,day,model"}, "by"),
        ({"level": "session", "by": "tool"}, "by"),
        ({"level": "step", "by": "meta.plan"}, "by"),
        ({"by": "meta."}, "by"),
        ({"show": "colour"}, "show"),
        ({"level": "agent"}, "level"),
        ({"q": "status:"}, ""),
    ],
)
def test_what_makes_no_groups_is_said(client: Client, db: None, params: dict[str, str], param: str) -> None:
    answer = client.get("/logs/groups/", params)
    assert answer.status_code == 400
    assert param in answer.content.decode()


def test_those_that_take_too_long_are_said(client: Client, days: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agents.logs.store.numbers.snapshot.BUDGET_S", 0)
    answer = client.get("/logs/groups/")
    assert answer.status_code == 503
    assert "add a time range" in answer.content.decode()


def test_a_turn_of_nobody_is_in_a_group_of_its_own(client: Client, days: Clock) -> None:
    Turn.all_objects.update(end_user=None)
    [(count, url)] = counts(page(client, by="user"))
    assert "-has%3Auser" in url
    assert stats(client, url)["count"] == count

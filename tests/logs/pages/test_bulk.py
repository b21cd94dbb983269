"""What is done to the chosen rows of a list, and to all that match; saved views in its menu."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.template.loader import render_to_string
from django.test import Client, RequestFactory

from agents.base.access import Actor
from agents.base.models.people import User
from agents.base.store import keys
from agents.logs.pages import bulk, saved_views
from agents.logs.pages.lists import LOGS
from agents.logs.store import rows
from agents.logs.store import saved_views as views
from agents.logs.store.saved_views import StoredView
from tests.support.builders import Recorded, make_agent, make_session, make_turn
from tests.support.inprocess import body_of, idle_service, open_database
from tests.support.pages.markup import elements, unsafe, words


@pytest.fixture
def me(db: None) -> Actor:
    return keys.local()


@pytest.fixture
def turns(me: Actor) -> list[Recorded]:
    """Two turns of a session that succeeded, and one that failed."""
    agent = make_agent(me, name="support")
    session = make_session(me, agent)
    scripts = ("say one", "say two", "fail 504 upstream timed out")
    return [make_turn(me, script, agent=agent, session=session) for script in scripts]


def act(client: Client, action: str, *chosen: Recorded, level: str = "turn", **more: str) -> Any:
    given = {"action": action, "level": level, "ids": [each.public_id for each in chosen], **more}
    return client.post("/logs/act/", given)


def listed(client: Client, q: str = "") -> list[str]:
    return [row["id"] for row in client.get("/v1/logs/turns", {"q": q}).json()["data"]]


def notices(client: Client) -> str:
    return words(client.get("/logs/?q=status:cancelled").content.decode())


def test_chosen_rows_are_tagged_and_untagged(client: Client, turns: list[Recorded]) -> None:
    answer = act(client, "tag", *turns[:2], tag="vip, old", q="status:completed")
    assert (answer.status_code, answer.headers["Location"]) == (302, "/logs/?q=status%3Acompleted")
    assert "The tags of 2 rows are changed." in notices(client)
    assert listed(client, "tag:(vip AND old)") == [turns[1].public_id, turns[0].public_id]
    act(client, "untag", turns[0], tag="vip")
    assert listed(client, "tag:vip") == [turns[1].public_id]


def test_the_first_tags_of_a_turn_stand_in_its_row(client: Client, turns: list[Recorded]) -> None:
    act(client, "tag", turns[0], tag="<b>vip</b>, blue, old, zoo")
    page = client.get("/logs/", {"q": "tag:blue"}).content.decode()
    shown = page.split('<span class="row-tags">')[1].split("</td>")[0]
    assert "&lt;b&gt;vip&lt;/b&gt;" in shown
    assert shown.count('class="tag"') == 3


def test_deleting_asks_first(client: Client, turns: list[Recorded]) -> None:
    confirmation = act(client, "delete", turns[0]).content.decode()
    assert unsafe(confirmation) == []
    assert "Delete 1 row?" in words(confirmation)
    assert len(listed(client)) == 3
    fields = {
        field["name"]: field["value"]
        for field in elements(confirmation, "input")
        if field["name"] != "csrfmiddlewaretoken"
    }
    assert client.post("/logs/act/", fields).status_code == 302
    assert "1 row is deleted." in notices(client)
    assert listed(client) == [turns[2].public_id, turns[1].public_id]


def test_all_that_match_are_counted_and_worked_through(client: Client, turns: list[Recorded]) -> None:
    confirmation = act(client, "tag", q="status:completed", all="true", tag="ok").content.decode()
    assert "Tag 2 rows with “ok”?" in words(confirmation)
    assert listed(client, "tag:ok") == []
    act(client, "tag", q="status:completed", all="true", tag="ok", sure="true")
    assert len(listed(client, "tag:ok")) == 2
    act(client, "delete", q="", all="true", sure="true", level="session")
    assert listed(client) == []


def test_what_runs_is_left_alone(client: Client, me: Actor, turns: list[Recorded]) -> None:
    running = make_turn(me, upto=1)
    act(client, "delete", turns[0], running, sure="true")
    assert "1 row is deleted." in (notice := notices(client))
    assert "1 row is still running: skipped." in notice
    assert running.public_id in listed(client)
    act(client, "delete", level="session", all="true", sure="true")
    assert listed(client) == [running.public_id]


def test_a_session_goes_on_from_the_turn_before(client: Client, turns: list[Recorded]) -> None:
    act(client, "delete", turns[2], sure="true")
    [row] = rows.of("session", [turns[0].session])
    assert row.last_turn.id == turns[1].turn
    for turn in turns[:2]:
        act(client, "delete", turn, sure="true")
    [row] = rows.of("session", [turns[0].session])
    assert row.last_turn is None


def test_two_are_compared(client: Client, turns: list[Recorded]) -> None:
    comparison = urlsplit(act(client, "compare", turns[1], turns[0]).headers["Location"])
    assert comparison.path == "/turns/compare/"
    assert parse_qs(comparison.query) == {"a": [turns[0].public_id], "b": [turns[1].public_id]}
    assert act(client, "compare", turns[0]).status_code == 400


def test_chosen_rows_are_exported(client: Client, turns: list[Recorded]) -> None:
    answer = act(client, "export", turns[0], turns[2], format="csv")
    lines = body_of(answer).decode().splitlines()
    assert [line[:36] for line in lines[1:]] == [turns[2].public_id, turns[0].public_id]


@pytest.mark.parametrize(
    "given",
    [
        {"action": "explode"},
        {"action": "tag", "level": "agents"},
        {"action": "tag", "ids": "nonsense", "tag": "x"},
        {"action": "tag", "tag": "x"},
        {"action": "tag", "all": "true", "tag": " , "},
        {"action": "delete", "level": "step", "all": "true"},
        {"action": "tag", "all": "true", "tag": "x", "q": "nope:1"},
        {"action": "export", "all": "true", "format": "xls"},
    ],
)
def test_nonsense_is_refused(client: Client, me: Actor, given: dict[str, str]) -> None:
    assert client.post("/logs/act/", {"level": "turn", **given}).status_code == 400


def test_a_reader_changes_nothing(turns: list[Recorded], make_user: Callable[..., Actor], settings: Any) -> None:
    settings.REQUIRE_LOGIN = True
    theirs = make_turn(make_user("owner", teams=["red"]))
    client = Client()
    client.force_login(User.objects.get(username=make_user("reader", teams=["red"], roles=["reader"]).name))
    for action in ("tag", "untag", "delete"):
        assert act(client, action, theirs, tag="x", sure="true").status_code == 403
    assert act(client, "export", theirs, *turns, format="jsonl").content.count(b"\n") == 1


def test_what_may_not_be_seen_is_not_touched(make_user: Callable[..., Actor], settings: Any) -> None:
    settings.REQUIRE_LOGIN = True
    theirs, mine = make_turn(make_user("owner", teams=["red"])), make_turn(user := make_user("me", teams=["blue"]))
    client = Client()
    client.force_login(User.objects.get(username=user.name))
    act(client, "tag", theirs, mine, tag="x")
    act(client, "delete", theirs, sure="true")
    act(client, "delete", all="true", sure="true")
    assert rows.of("turn", [theirs.turn])[0].tags == []
    assert rows.of("turn", [mine.turn]) == []


@pytest.fixture
def _open(django_db_setup: None, django_db_blocker: Any) -> Any:
    with open_database(django_db_blocker), idle_service():
        yield


@pytest.mark.usefixtures("_open")
def test_many_are_worked_through_behind_the_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk, "MAX_IN_REQUEST", 1)
    turns = [make_turn(keys.local()) for _ in range(3)]
    client = Client()
    act(client, "tag", all="true", q="status:completed", tag="ok", sure="true")
    assert "3 rows are being changed in the background" in notices(client)
    assert len(listed(client, "tag:ok")) == len(turns)


@pytest.mark.usefixtures("_open")
def test_all_that_match_are_exported() -> None:
    for script in ("say one", "fail 504 upstream timed out"):
        make_turn(keys.local(), script)
    client = Client()
    export = act(client, "export", all="true", q="status:failed", format="jsonl").headers["Location"]
    [line] = body_of(client.get(export)).splitlines()
    assert json.loads(line)["status"] == "failed"


# ------------------------------------------------------------------------------------------ saved views


def test_a_view_is_saved_opened_changed_and_deleted(client: Client, me: Actor) -> None:
    answer = client.post("/logs/views/", {"name": "Broken", "q": "status:failed", "level": "step", "col": ["model"]})
    assert answer.headers["Location"] == "/steps/?q=status%3Afailed&col=model"
    [view] = views.listing(me)
    url = f"/logs/views/{view.public_id}/"
    assert client.post(url, {"act": "rename", "name": " Still  broken "}).status_code == 302
    assert client.post(url, {"act": "share"}).status_code == 302
    assert client.post(url, {"act": "update", "q": "tool:x"}).status_code == 302
    [view] = views.listing(me)
    assert (view.name, view.shared, view.query) == ("Still broken", True, "tool:x")
    assert client.post(url, {"act": "delete"}).status_code == 302
    assert views.listing(me) == []


@pytest.mark.parametrize("given", [{}, {"name": ""}, {"name": "x", "q": "nope:"}, {"name": "x", "level": "agents"}])
def test_a_view_that_is_none_is_refused(client: Client, me: Actor, given: dict[str, str]) -> None:
    assert client.post("/logs/views/", given).status_code == 400


def test_who_may_only_read_keeps_no_views_and_is_offered_no_form(
    client: Client, make_user: Callable[..., Actor], rf: RequestFactory
) -> None:
    reader = make_user("reader", roles=["reader"])
    client.force_login(User.objects.get(pk=reader.user_id or 0))
    assert client.post("/logs/views/", {"name": "Broken", "q": "status:failed"}).status_code == 403
    request = rf.get("/logs/")
    request.actor = reader  # type: ignore[attr-defined]  # as `page` does
    context = saved_views.menu(request, "turn", "")  # type: ignore[arg-type]  # one with its actor
    menu = render_to_string("logs/_saved_views.html", {**context, "place": LOGS, "text": ""}, request)
    assert "Waiting for input" in words(menu)
    assert elements(menu, "form") == []


def test_the_menu_shows_where_one_is(me: Actor, rf: RequestFactory) -> None:
    hostile = "</a><script>alert(1)</script>"
    view = views.create(me, StoredView("", hostile, "status:failed", "turn", shared=False))
    request = rf.get("/logs/", {"q": "status:failed", "col": "model"})
    request.actor = me  # type: ignore[attr-defined]  # as `page` does
    context = saved_views.menu(request, "turn", "status:failed")  # type: ignore[arg-type]  # one with its actor
    menu = render_to_string("logs/_saved_views.html", {**context, "place": LOGS, "text": "status:failed"}, request)
    assert unsafe(menu) == []
    assert hostile in words(menu)
    assert [one["href"] for one in elements(menu, "a") if one.get("aria-current")] == ["/logs/?q=status%3Afailed"]
    assert {"Waiting for input", "Rated down"} <= {each.name for each in context["views_built_in"]}
    assert f"/logs/views/{view.public_id}/" in {one["action"] for one in elements(menu, "form")}
    assert ("col", "model") in {(one.get("name"), one.get("value")) for one in elements(menu, "input")}


def test_the_bar_of_actions_is_a_form_without_scripts(me: Actor, rf: RequestFactory) -> None:
    context = {"place": LOGS, "text": "status:failed", "select_mode": True, "can_run": True}
    bar = render_to_string("logs/_bulk_actions.html", context, rf.get("/logs/"))
    assert unsafe(bar) == []
    assert {button["value"] for button in elements(bar, "button") if button.get("name") == "action"} == {
        *("tag", "untag", "compare", "export", "delete")
    }

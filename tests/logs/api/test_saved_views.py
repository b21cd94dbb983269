"""Saved views over the API: kept, shared, changed, refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from agents.base.access import Actor
from agents.base.store import keys
from agents.logs.store import saved_views
from agents.query.parser import parse
from tests.support.inprocess import collect_static

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("_quiet")]


@pytest.fixture(autouse=True)
def _static() -> None:
    collect_static()


def send(method: str, path: str = "", body: Any = None, expected: int = 200, actor: Actor | None = None) -> Any:
    secret = keys.create(actor, name="key", actions=["read", "run"])[1] if actor else ""
    headers = {"Authorization": f"Bearer {secret}"} if actor else {}
    data = "" if body is None else json.dumps(body)
    answer = Client().generic(method, f"/v1/logs/views{path}", data, "application/json", headers=headers)
    assert answer.status_code == expected, answer.content
    return answer.json() if answer.content else None


def names(actor: Actor | None = None) -> list[str]:
    return [view["name"] for view in send("GET", actor=actor)["data"] if not view["built_in"]]


def test_a_view_is_kept_changed_and_deleted() -> None:
    view = send(
        "POST", body={"name": "Mine", "q": "started:>-24h  status:failed", "columns": ["when", "model"]}, expected=201
    )
    assert (view["q"], view["level"], view["columns"]) == ("started:>-24h status:failed", "turn", ["when", "model"])
    assert (view["owner"], view["mine"], view["shared"], view["built_in"]) == ("local", True, False, False)
    assert send("GET", f"/{view['id']}") == view
    changed = send("PATCH", f"/{view['id']}", {"name": "Ours", "q": "tool:x", "level": "step", "shared": True})
    assert (changed["name"], changed["q"], changed["level"], changed["shared"]) == ("Ours", "tool:x", "step", True)
    assert changed["columns"] == ["when", "model"]
    assert names() == ["Ours"]
    send("DELETE", f"/{view['id']}", expected=204)
    send("GET", f"/{view['id']}", expected=404)


def test_the_built_in_ones_can_be_read_and_searched() -> None:
    for view in saved_views.BUILT_IN:
        assert parse(view.query, now_us=1_795_000_000_000_000, level=view.level).text == view.query
        answer = send("GET", f"/{view.public_id}")
        assert (answer["built_in"], answer["mine"], answer["owner"]) == (True, False, None)
        send("DELETE", f"/{view.public_id}", expected=404)


def test_it_is_shared_with_those_who_see_what_its_maker_makes(make_user: Callable[..., Actor]) -> None:
    owner, mate, stranger = (
        make_user(name, teams=[team]) for name, team in (("o", "red"), ("m", "red"), ("s", "blue"))
    )
    private = send("POST", body={"name": "private"}, expected=201, actor=owner)
    shared = send("POST", body={"name": "shared", "shared": True}, expected=201, actor=owner)
    assert [names(who) for who in (owner, mate, stranger)] == [["private", "shared"], ["shared"], []]
    send("GET", f"/{private['id']}", expected=404, actor=mate)
    assert send("GET", f"/{shared['id']}", actor=mate)["mine"] is False
    send("PATCH", f"/{shared['id']}", {"name": "x"}, expected=404, actor=mate)
    send("DELETE", f"/{shared['id']}", expected=404, actor=mate)
    send("PATCH", f"/{shared['id']}", {"shared": False}, actor=owner)
    assert names(mate) == []


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({}, "name"),
        ({"name": "  "}, "name"),
        ({"name": "x" * 101}, "name"),
        ({"name": "x", "q": "nope:1"}, "q"),
        ({"name": "x", "q": "x" * 3000}, "q"),
        ({"name": "x", "level": "agents"}, "level"),
        ({"name": "x", "columns": ["<b>"]}, "columns.0"),
    ],
)
def test_what_is_wrong_is_said_with_its_field(body: dict[str, Any], param: str) -> None:
    assert send("POST", body=body, expected=400)["error"]["param"] == param
    view = send("POST", body={"name": "fine"}, expected=201)
    if body and body["name"].strip():
        assert send("PATCH", f"/{view['id']}", body, expected=400)["error"]["param"] == param


def test_there_is_an_end_to_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saved_views, "MAX_VIEWS", 1)
    send("POST", body={"name": "one"}, expected=201)
    assert send("POST", body={"name": "two"}, expected=400)["error"]["code"] == "too_many_views"

"""Feedback and tags over the API: what is stored, what takes the place of what, what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from agents.base import ids
from agents.base.access import Actor
from agents.base.store import keys
from agents.record.store.targets import find
from tests.support.builders import Recorded, make_response, make_turn
from tests.support.inprocess import collect_static

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("_quiet")]

Send = Callable[..., Any]


@pytest.fixture(autouse=True)
def _static() -> None:
    collect_static()


@pytest.fixture
def turn() -> Recorded:
    return make_turn(keys.local(), "say Hello.", metadata={"tier": "gold"})


@pytest.fixture
def send(client: Client) -> Send:
    def _send(method: str, path: str, body: Any = None, *, expected: int = 200, **headers: str) -> Any:
        data = "" if body is None else json.dumps(body)
        answer = client.generic(method, f"/v1/{path}", data, "application/json", headers=headers)
        assert answer.status_code == expected, answer.content
        return answer.json() if answer.content else None

    return _send


def listed(client: Client, q: str) -> list[str]:
    return [row["id"] for row in client.get("/v1/logs/turns", {"q": q}).json()["data"]]


def step_of(turn: Recorded) -> str:
    return ids.public(ids.Kind.STEP, next(entry.step for entry in turn.entries if hasattr(entry, "step")))


def test_it_stores_thumb_comment_and_scores(send: Send, client: Client, turn: Recorded) -> None:
    body = {
        "turn_id": turn.public_id,
        "rating": "down",
        "comment": "The price is wrong.",
        "score": [{"name": "helpful", "value": 0.25}, {"name": "tone", "value": 1}],
        "user": "customer 17",
        "tags": ["vip", "refund"],
    }
    told = send("POST", "feedback", body, expected=201)
    thumb, helpful, tone = told["data"]
    assert (thumb["rating"], thumb["comment"], thumb["score"]) == ("down", "The price is wrong.", None)
    assert (helpful["score"], tone["score"]) == ({"name": "helpful", "value": 0.25}, {"name": "tone", "value": 1.0})
    assert {one["user"] for one in told["data"]} == {"customer 17"}
    assert {one["turn_id"] for one in told["data"]} == {turn.public_id}
    assert told["tags"] == ["refund", "vip"]
    for query in ("rating:down", "score.helpful:<0.5", 'comment:"price is"', "tag:vip", "has:rating"):
        assert listed(client, query) == [turn.public_id], query


def test_it_lists_what_was_said_newest_first(send: Send, turn: Recorded) -> None:
    for comment in ("first", "second", "third"):
        send("POST", "feedback", {"turn_id": turn.public_id, "comment": comment}, expected=201)
    page = send("GET", f"feedback?turn_id={turn.public_id}&limit=2")
    assert ([one["comment"] for one in page["data"]], page["has_more"]) == (["third", "second"], True)
    rest = send("GET", f"feedback?turn_id={turn.public_id}&limit=2&after={page['last_id']}")
    assert ([one["comment"] for one in rest["data"]], rest["has_more"]) == (["first"], False)


def test_a_later_thumb_takes_the_place_of_the_earlier(send: Send, client: Client, turn: Recorded) -> None:
    first = send("POST", "feedback", {"turn_id": turn.public_id, "rating": "up", "user": "a"}, expected=201)
    again = send("POST", "feedback", {"turn_id": turn.public_id, "rating": "down", "user": "a"}, expected=201)
    assert again["data"][0]["id"] == first["data"][0]["id"]
    send("POST", "feedback", {"turn_id": turn.public_id, "rating": "up", "user": "b"}, expected=201)
    found = send("GET", f"feedback?turn_id={turn.public_id}")["data"]
    assert sorted((one["user"], one["rating"]) for one in found) == [("a", "down"), ("b", "up")]


def test_comments_add_up_and_outlive_a_thumb(send: Send, turn: Recorded) -> None:
    about = {"turn_id": turn.public_id}
    send("POST", "feedback", {**about, "rating": "down", "comment": "wrong"}, expected=201)
    send("POST", "feedback", {**about, "rating": "up", "comment": "no, right"}, expected=201)
    send("POST", "feedback", {**about, "rating": "up", "comment": "no, right"}, expected=201)
    found = send("GET", f"feedback?turn_id={turn.public_id}")["data"]
    assert [(one["comment"], one["rating"]) for one in found] == [("no, right", "up"), ("wrong", None)]


def test_scores_of_one_name_are_one(send: Send, client: Client, turn: Recorded) -> None:
    for value in (0.1, 0.9):
        body = {"turn_id": turn.public_id, "score": {"name": "helpful", "value": value}}
        send("POST", "feedback", body, expected=201)
    found = send("GET", f"feedback?turn_id={turn.public_id}")["data"]
    assert [one["score"]["value"] for one in found] == [0.9]
    assert listed(client, "score.helpful:<0.5") == []


def test_steps_sessions_and_responses_are_judged(send: Send, client: Client, turn: Recorded) -> None:
    session = ids.public(ids.Kind.SESSION, turn.session)
    send("POST", "feedback", {"step_id": step_of(turn), "rating": "down"}, expected=201)
    send("POST", "feedback", {"session_id": session, "rating": "up"}, expected=201)
    response = make_response(keys.local())
    [told] = send("POST", "feedback", {"response_id": response.public_id, "rating": "up"}, expected=201)["data"]
    assert told["turn_id"] == ids.public(ids.Kind.TURN, response.turn)
    assert len(send("GET", f"feedback?session_id={session}")["data"]) == 2
    assert len(send("GET", f"feedback?turn_id={turn.public_id}")["data"]) == 1
    assert len(send("GET", f"feedback?step_id={step_of(turn)}")["data"]) == 1
    assert listed(client, "step(rating:down)") == [turn.public_id]


def test_it_is_taken_back_by_its_maker_alone(
    send: Send, turn: Recorded, make_user: Callable[..., Actor], settings: Any
) -> None:
    owner, mate = make_user("owner", teams=["red"]), make_user("mate", teams=["red"])
    turn = make_turn(owner)
    secrets = [keys.create(actor, name="key", actions=["read"])[1] for actor in (owner, mate)]
    mine, other = ({"Authorization": f"Bearer {secret}"} for secret in secrets)
    [told] = send("POST", "feedback", {"turn_id": turn.public_id, "rating": "up"}, expected=201, **mine)["data"]
    [seen] = send("GET", f"feedback?turn_id={turn.public_id}", **other)["data"]
    assert (told["mine"], seen["mine"]) == (True, False)
    send("DELETE", f"feedback/{told['id']}", expected=404, **other)
    send("DELETE", f"feedback/{told['id']}", expected=204, **mine)
    send("DELETE", f"feedback/{told['id']}", expected=404, **mine)


REFUSED = [
    ({"rating": "sideways"}, "rating"),
    ({"score": {"name": "helpful"}}, "score.0.value"),
    ({"score": {"name": "", "value": 1}}, "score.0.name"),
    ({"score": [{"name": "x" * 101, "value": 1}]}, "score.0.name"),
    ({"score": {"name": "big", "value": "1e999"}}, "score.0.value"),
    ({"comment": "ä" * 4097}, "comment"),
    ({"comment": "  "}, "rating"),
    ({"tags": ["a\nb"]}, "tags.0"),
    ({"tags": ["x"] * 51}, "tags"),
    ({"user": "x" * 201, "rating": "up"}, "user"),
    ({}, "rating"),
]


@pytest.mark.parametrize(("body", "param"), REFUSED)
def test_what_is_wrong_is_said_with_its_field(send: Send, turn: Recorded, body: Any, param: str) -> None:
    told = send("POST", "feedback", {"turn_id": turn.public_id, **body}, expected=400)
    assert told["error"]["param"] == param


def test_it_is_about_exactly_one_thing(send: Send, turn: Recorded) -> None:
    assert send("POST", "feedback", {"rating": "up"}, expected=400)["error"]["param"] == "turn_id"
    both = {"turn_id": turn.public_id, "step_id": step_of(turn), "rating": "up"}
    assert send("POST", "feedback", both, expected=400)["error"]["param"] == "step_id"
    two = f"feedback?turn_id={turn.public_id}&step_id={step_of(turn)}"
    assert send("GET", two, expected=400)["error"]["param"] == "step_id"


def test_what_may_not_be_seen_is_not_there(send: Send, make_user: Callable[..., Actor]) -> None:
    turn = make_turn(make_user("owner", teams=["red"]))
    _, secret = keys.create(make_user("stranger", teams=["blue"]), name="key", actions=["read", "run"])
    headers = {"Authorization": f"Bearer {secret}"}
    for about in ({"turn_id": turn.public_id}, {"step_id": step_of(turn)}):
        send("POST", "feedback", {**about, "rating": "up"}, expected=404, **headers)
        send("POST", "feedback", {**about, "tags": ["x"]}, expected=404, **headers)
    send("GET", f"feedback?turn_id={turn.public_id}", expected=404, **headers)
    send("PUT", f"logs/turns/{turn.public_id}/tags", {"tags": ["x"]}, expected=404, **headers)


def test_a_reader_judges_but_does_not_tag(send: Send, make_user: Callable[..., Actor]) -> None:
    turn = make_turn(make_user("owner", teams=["red"]))
    _, secret = keys.create(make_user("reader", teams=["red"], roles=["reader"]), name="key", actions=["read"])
    headers = {"Authorization": f"Bearer {secret}"}
    send("POST", "feedback", {"turn_id": turn.public_id, "rating": "up"}, expected=201, **headers)
    send("POST", "feedback", {"turn_id": turn.public_id, "tags": ["x"]}, expected=403, **headers)
    send("PUT", f"logs/turns/{turn.public_id}/tags", {"tags": ["x"]}, expected=403, **headers)


# ---------------------------------------------------------------------------------------------- tags


def test_tags_are_put_on_and_taken_away(send: Send, client: Client, turn: Recorded) -> None:
    path = f"logs/turns/{turn.public_id}/tags"
    assert send("PUT", path, {"tags": ["vip", " slow "]}) == {"tags": ["slow", "vip"]}
    assert send("PUT", path, {"tags": ["vip", "a=b, c"]}) == {"tags": ["a=b, c", "slow", "vip"]}
    assert listed(client, 'tag:"a=b, c"') == [turn.public_id]
    assert send("DELETE", path, {"tags": ["slow", "never there"]}) == {"tags": ["a=b, c", "vip"]}
    assert send("DELETE", f"{path}?tag=vip&tag=a%3Db,%20c") == {"tags": []}
    assert send("DELETE", path, expected=400)["error"]["param"] == "tags"
    assert listed(client, "meta.tier:gold") == [turn.public_id]


def test_sessions_and_steps_are_tagged(send: Send, client: Client, turn: Recorded) -> None:
    session = ids.public(ids.Kind.SESSION, turn.session)
    assert send("PUT", f"logs/sessions/{session}/tags", {"tags": ["vip"]}) == {"tags": ["vip"]}
    assert send("PUT", f"logs/steps/{step_of(turn)}/tags", {"tags": ["odd"]}) == {"tags": ["odd"]}
    assert listed(client, "step(tag:odd) session(tag:vip)") == [turn.public_id]


def test_a_tag_with_an_equals_sign_outlives_a_change_of_the_metadata(send: Send) -> None:
    made = make_response(keys.local())
    session, conversation = ids.public(ids.Kind.SESSION, made.session), ids.openai(ids.Kind.SESSION, made.session)
    send("PUT", f"logs/sessions/{session}/tags", {"tags": ["tier=gold"]})
    send("POST", f"conversations/{conversation}", {"metadata": {"name": "x"}})
    [row] = send("GET", f"logs/sessions?q=session:{session}")["data"]
    assert row["tags"] == ["tier=gold"]


def test_what_is_said_of_a_turn_goes_with_it(send: Send, turn: Recorded) -> None:
    session = ids.public(ids.Kind.SESSION, turn.session)
    [told] = send("POST", "feedback", {"turn_id": turn.public_id, "rating": "up"}, expected=201)["data"]
    send("DELETE", f"agents/{ids.public(ids.Kind.AGENT, turn.agent.key)}/session/{session}", expected=204)
    send("DELETE", f"feedback/{told['id']}", expected=404)


def test_a_subject_is_found_by_its_own_kind_of_id(turn: Recorded) -> None:
    found = find(keys.local(), "turn", turn.public_id)
    assert (found.session, found.turn, found.step) == (turn.session, turn.turn, None)

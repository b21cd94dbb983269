"""Feedback on the pages: said with forms alone, by scripts, and seen by others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from agents.base import ids
from agents.base.access import Actor
from agents.base.models.people import User
from agents.base.store import keys
from agents.feedback.store import feedback
from agents.feedback.store.feedback import FeedbackContent
from agents.record.schemas.events import StepStarted
from agents.record.store.targets import RecordTarget
from tests.support.builders import Recorded, make_turn
from tests.support.pages.markup import elements, unsafe, words
from tests.support.pages.turn_page import get, url_of

pytestmark = pytest.mark.django_db

HOSTILE = "</script><img src=x onerror=alert(1)>\"'&"


@pytest.fixture
def turn() -> Recorded:
    return make_turn(keys.local(), 'call lookup {"query": "x"}\nthen\nsay Done.')


def step_of(turn: Recorded) -> tuple[int, str]:
    key = next(entry.step for entry in turn.entries if isinstance(entry, StepStarted))
    return key, f"{url_of(turn)}steps/{ids.public(ids.Kind.STEP, key)}/judged/"


def session_of(turn: Recorded) -> str:
    return f"/sessions/{ids.public(ids.Kind.SESSION, turn.session)}/"


def judge(client: Client, url: str, **fields: str) -> Any:
    return client.post(url, {name.replace("__", ":"): value for name, value in fields.items()})


def thumbs(page: str, url: str) -> dict[str, str]:
    """Which thumb of what is judged there is pressed."""
    buttons = [one for one in elements(page, "button") if one.get("formaction") == url and "data-thumb" in one]
    return {one["data-thumb"]: one["aria-pressed"] for one in buttons}


def test_a_thumb_is_pressed_and_taken_back(client: Client, turn: Recorded) -> None:
    url = f"{url_of(turn)}judged/"
    assert thumbs(get(client, turn), url) == {"up": "false", "down": "false"}
    answer = judge(client, url, act="up")
    assert (answer.status_code, answer.headers["Location"]) == (302, f"{url_of(turn)}#feedback")
    assert thumbs(get(client, turn), url) == {"up": "true", "down": "false"}
    judge(client, url, act="down")
    assert thumbs(get(client, turn), url) == {"up": "false", "down": "true"}
    judge(client, url, act="none")
    assert thumbs(get(client, turn), url) == {"up": "false", "down": "false"}


def test_comments_and_tags_are_said_and_taken_back(client: Client, turn: Recorded) -> None:
    url = f"{url_of(turn)}judged/"
    judge(client, url, act="comment", **{f"comment__{turn.public_id}": f"wrong {HOSTILE}"})
    judge(client, url, act="tag", **{f"tag__{turn.public_id}": "vip, refund"})
    page = get(client, turn)
    assert unsafe(page) == []
    assert f"wrong {HOSTILE}" in words(page)
    assert {"local", "vip", "refund"} <= set(words(page).split())
    [withdraw] = [one for one in elements(page, "button") if one.get("name") == "withdraw"]
    judge(client, url, withdraw=withdraw["value"])
    judge(client, url, untag="vip")
    page = get(client, turn)
    assert "onerror" not in words(page)
    assert [one["value"] for one in elements(page, "button") if one.get("name") == "untag"] == ["refund"]


def test_a_comment_goes_with_the_thumb_that_is_pressed(client: Client, turn: Recorded) -> None:
    judge(client, f"{url_of(turn)}judged/", act="down", **{f"comment__{turn.public_id}": "wrong"})
    [said] = feedback.of_turn(keys.local(), turn.turn)
    assert (said.content.rating, said.content.comment) == ("down", "wrong")


def test_a_step_is_judged_in_its_card(client: Client, turn: Recorded) -> None:
    step, url = step_of(turn)
    answer = judge(client, url, act="down", **{f"comment__{turn.public_id}": "of the turn, not sent yet"})
    assert answer.headers["Location"] == f"{url_of(turn)}#step-0"
    [said] = feedback.of_turn(keys.local(), turn.turn)
    assert (said.target.step, said.content.rating, said.content.comment) == (step, "down", "")
    page = get(client, turn)
    assert thumbs(page, url) == {"up": "false", "down": "true"}
    assert "on step 1" in words(page)
    assert words(get(client, url)).count("Feedback on step 1")


def test_a_session_is_judged(client: Client, turn: Recorded) -> None:
    url = f"{session_of(turn)}judged/"
    assert judge(client, url, act="up").headers["Location"] == f"{session_of(turn)}#feedback"
    assert thumbs(get(client, session_of(turn)), url) == {"up": "true", "down": "false"}
    assert unsafe(get(client, url)) == []


def test_a_script_gets_the_parts_that_changed(client: Client, turn: Recorded) -> None:
    _, url = step_of(turn)
    answer = client.post(url, {"act": "up"}, headers={"Accept": "application/json"})
    [part] = [part for part in answer.json()["parts"] if 'class="step-judged"' in part]
    assert thumbs(part, url) == {"up": "true", "down": "false"}
    answer = client.post(url, {"act": "none"}, headers={"Accept": "application/json"})
    [part] = [part for part in answer.json()["parts"] if 'class="step-judged"' in part]
    assert thumbs(part, url) == {"up": "false", "down": "false"}


def test_others_are_seen_with_their_names(client: Client, turn: Recorded, make_user: Callable[..., Actor]) -> None:
    mate = make_user("mate", roles=["admin"])
    about = RecordTarget(turn.session, turn.turn)
    feedback.add(mate, about, FeedbackContent(rating="up"))
    feedback.add(mate, about, FeedbackContent(name="helpful", value=0.25, author="customer 17"))
    page = get(client, f"{url_of(turn)}judged/?parts=1")
    assert {"mate", "customer", "helpful", "0.25"} <= set(words(page).split())
    assert thumbs(page, f"{url_of(turn)}judged/") == {"up": "false", "down": "false"}


@pytest.mark.parametrize(
    "fields",
    [{"act": "comment"}, {"act": "tag"}, {"act": "enter"}, {"act": "sideways"}, {}],
)
def test_nothing_said_is_refused(client: Client, turn: Recorded, fields: dict[str, str]) -> None:
    assert judge(client, f"{url_of(turn)}judged/", **fields).status_code == 400


def test_too_much_is_refused(client: Client, turn: Recorded) -> None:
    url = f"{url_of(turn)}judged/"
    assert judge(client, url, act="comment", **{f"comment__{turn.public_id}": "ä" * 5000}).status_code == 400
    assert judge(client, url, act="tag", **{f"tag__{turn.public_id}": "x" * 101}).status_code == 400


def test_a_reader_judges_but_does_not_tag(turn: Recorded, make_user: Callable[..., Actor], settings: Any) -> None:
    settings.REQUIRE_LOGIN = True
    made = make_turn(make_user("owner", teams=["red"]))
    client, url = Client(), f"{url_of(made)}judged/"
    client.force_login(User.objects.get(username=make_user("reader", teams=["red"], roles=["reader"]).name))
    assert judge(client, url, act="up").status_code == 302
    assert judge(client, url, act="tag", **{f"tag__{made.public_id}": "vip"}).status_code == 403
    assert not [one for one in elements(get(client, made), "input") if one.get("name", "").startswith("tag:")]


def test_what_may_not_be_seen_is_not_judged(make_user: Callable[..., Actor], settings: Any) -> None:
    settings.REQUIRE_LOGIN = True
    made, mine = make_turn(make_user("owner", teams=["red"])), make_turn(user := make_user("me", teams=["blue"]))
    client = Client()
    client.force_login(User.objects.get(username=user.name))
    for url in (f"{url_of(made)}judged/", step_of(made)[1], f"{session_of(made)}judged/"):
        assert judge(client, url, act="up").status_code == 404
    crossed = step_of(made)[1].replace(made.public_id, mine.public_id)
    assert judge(client, crossed, act="up").status_code == 404


def test_live_cards_can_be_judged_too(turn: Recorded, client: Client) -> None:
    """Each card of the page has its control, said of or not."""
    page = get(client, turn)
    urls = {one["formaction"] for one in elements(page, "button") if "/steps/" in one.get("formaction", "")}
    assert len(urls) == len([one for one in elements(page, "article") if "data-step" in one])

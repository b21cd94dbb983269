"""Ratings, scores, comments and metadata in the lists: as columns, as facets, in the API and in exports."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.test import Client

from agents.base.access import Actor
from agents.base.store import keys
from agents.feedback.store import feedback
from agents.feedback.store.feedback import FeedbackContent
from agents.logs.store import rows
from agents.logs.wire import export
from agents.record.store import targets
from tests.support.builders import Recorded, make_turn
from tests.support.pages.api_numbers import get, links
from tests.support.pages.markup import elements, unsafe, words

pytestmark = pytest.mark.django_db
Judge = Callable[..., None]


@pytest.fixture
def me(db: None) -> Actor:
    return keys.local()


@pytest.fixture
def turn(me: Actor) -> Recorded:
    return make_turn(me, "say Hello.", metadata={"plan": "pro", "env": "prod", "<b>": "<i>"})


@pytest.fixture
def judge(me: Actor, turn: Recorded) -> Judge:
    target = targets.find(me, "turn", turn.public_id)

    def _judge(rating: str | None = None, comment: str = "", author: str = "", **scores: float) -> None:
        given = [FeedbackContent(rating=rating, comment=comment, author=author)] if rating or comment else []
        given += [FeedbackContent(name=name, value=value, author=author) for name, value in scores.items()]
        feedback.submit(me, target, given)

    return _judge


def row(client: Client, level: str) -> dict[str, object]:
    [found] = client.get(f"/v1/logs/{level}").json()["data"]
    return dict(found)


def test_rows_say_what_people_said(client: Client, me: Actor, turn: Recorded, judge: Judge) -> None:
    judge("up", helpful=0.5)
    judge("down", "Wrong price", author="ana", helpful=1.0, tone=-1)
    assert row(client, "turns")["feedback"] == {
        "up": 1,
        "down": 1,
        "comments": 1,
        "scores": {"helpful": 0.75, "tone": -1.0},
    }
    assert row(client, "turns")["metadata"] == {"plan": "pro", "env": "prod", "<b>": "<i>"}
    nothing = {"up": 0, "down": 0, "comments": 0, "scores": {}}
    assert row(client, "sessions")["feedback"] == nothing  # it is on the turn alone
    assert client.get("/v1/logs/steps").json()["data"][0]["feedback"] == nothing


def test_a_table_has_them_in_columns(client: Client, me: Actor, turn: Recorded, judge: Judge) -> None:
    judge("down", "Wrong price", helpful=0.5)
    html = get(client, "/logs/?col=meta&col=feedback")
    assert unsafe(html) == []
    text = words(html)
    assert "plan: pro" in text
    assert "rated down 1" in text
    assert "helpful 0.5" in text
    [exported] = (export.flat(entry) for entry in rows.of("turn", [turn.turn]))
    assert (exported["feedback.down"], exported["feedback.comments"]) == (1, 1)
    assert exported["feedback.scores"] == {"helpful": 0.5}


def test_ratings_scores_and_metadata_are_facets(client: Client, me: Actor, turn: Recorded, judge: Judge) -> None:
    judge("down", helpful=0.5)
    html = get(client, "/logs/")
    assert any(url.endswith("q=rating%3Adown") for url, _ in links(html))
    assert {"score.helpful-from", "score.helpful-to"} <= {field.get("name") for field in elements(html, "input")}
    [values] = [url for url, text in links(html) if "field=meta.plan" in url]
    assert any("meta.plan%3Apro" in url for url, _ in links(get(client, values)))
    assert not any("meta." in url for url, _ in links(get(client, "/steps/")))


def test_a_rating_can_be_taken_away_again(client: Client, me: Actor, turn: Recorded, judge: Judge) -> None:
    judge("down")
    chosen = [link for link in elements(get(client, "/logs/?q=rating:down"), "a") if link.get("aria-current") == "true"]
    assert "/logs/" in [link["href"] for link in chosen]


def test_names_of_scores_are_of_rows_that_one_may_see(client: Client, me: Actor, turn: Recorded, judge: Judge) -> None:
    from agents.logs.store import row_feedback

    judge(helpful=0.5)
    assert row_feedback.reader.score_names("turn", me) == ["helpful"]
    assert row_feedback.reader.score_names("turn", Actor("somebody", user_id=7, actions=frozenset({"read"}))) == []
    assert row_feedback.reader.score_names("response", me) == []

"""The feedback on the turns that a query accepts, a page at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from agents.base import ids
from agents.base.access import Actor
from agents.base.store import keys
from agents.feedback.store import feedback, pages
from agents.feedback.store.feedback import FeedbackContent
from agents.record.store import targets
from tests.support.builders import Recorded, make_turn

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("_quiet")]


def judge(actor: Actor, turn: Recorded, comment: str, **scores: float) -> None:
    target = targets.find(actor, "turn", turn.public_id)
    given = [FeedbackContent(name=name, value=value) for name, value in scores.items()]
    feedback.submit(actor, target, [FeedbackContent(comment=comment), *given])


def listed(client: Client, *, expected: int = 200, secret: str = "", **params: Any) -> Any:
    headers = {"Authorization": f"Bearer {secret}"} if secret else {}
    answer = client.get("/v1/feedback", params, headers=headers)
    assert answer.status_code == expected, answer.content
    return answer.json()


def comments(page: Any) -> list[str]:
    return [entry["comment"] for entry in page["data"]]


@pytest.fixture
def judged() -> list[Recorded]:
    """Three turns of gold and tin customers, each with a comment."""
    turns = [make_turn(keys.local(), "say Hello.", metadata={"tier": tier}) for tier in ("gold", "tin", "gold")]
    for number, turn in enumerate(turns):
        judge(keys.local(), turn, f"comment {number}")
    return turns


def test_it_lists_what_was_said_of_the_turns_of_a_query(client: Client, judged: list[Recorded]) -> None:
    page = listed(client, q="meta.tier:gold")
    assert comments(page) == ["comment 2", "comment 0"]
    newest = page["data"][0]
    session = ids.public(ids.Kind.SESSION, judged[2].session)
    assert (newest["turn_id"], newest["session_id"], newest["step_id"]) == (judged[2].public_id, session, None)
    assert (page["has_more"], page["query"]["text"]) == (False, "meta.tier:gold")
    assert comments(listed(client)) == ["comment 2", "comment 1", "comment 0"]
    assert comments(listed(client, q="meta.tier:none")) == []


def test_it_names_the_steps_of_its_entries(client: Client, judged: list[Recorded]) -> None:
    key = next(entry.step for entry in judged[1].entries if hasattr(entry, "step"))
    step = ids.public(ids.Kind.STEP, key)
    feedback.submit(keys.local(), targets.find(keys.local(), "step", step), [FeedbackContent(rating="up")])
    [rated, _] = listed(client, q="meta.tier:tin")["data"]
    assert (rated["rating"], rated["step_id"], rated["turn_id"]) == ("up", step, judged[1].public_id)


def test_it_is_paged_in_either_direction(client: Client, judged: list[Recorded]) -> None:
    first = listed(client, q="meta.tier:gold", limit=1)
    assert (comments(first), first["has_more"]) == (["comment 2"], True)
    second = listed(client, q="meta.tier:gold", limit=1, after=first["last_id"])
    assert (comments(second), second["has_more"]) == (["comment 0"], False)
    oldest = listed(client, order="asc", limit=2)
    assert (comments(oldest), oldest["has_more"]) == (["comment 0", "comment 1"], True)
    assert comments(listed(client, order="asc", after=oldest["last_id"])) == ["comment 2"]
    assert comments(listed(client, turn_id=judged[0].public_id, order="asc")) == ["comment 0"]


def test_entries_behind_many_others_are_found(
    client: Client, judged: list[Recorded], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "WINDOWS", (1, 1))
    assert comments(listed(client, q="meta.tier:gold")) == ["comment 2", "comment 0"]
    assert comments(listed(client, q="meta.tier:gold", order="asc", limit=1)) == ["comment 0"]


def test_more_entries_take_no_more_queries(client: Client, judged: list[Recorded]) -> None:
    def count() -> int:
        with CaptureQueriesContext(connection) as queries:
            listed(client, q="meta.tier:gold")
        return len(queries)

    before = count()
    for number in range(20):
        judge(keys.local(), make_turn(keys.local(), metadata={"tier": "gold"}), f"more {number}", helpful=number)
    assert len(listed(client, q="meta.tier:gold")["data"]) == 42
    assert count() == before


def test_it_is_only_of_turns_that_one_may_see(
    client: Client, judged: list[Recorded], make_user: Callable[..., Actor]
) -> None:
    red, blue = make_user("red", teams=["red"]), make_user("blue", teams=["blue"])
    judge(red, make_turn(red), "of the red team")
    secrets = [keys.create(actor, name="key", actions=["read"])[1] for actor in (red, blue)]
    assert [comments(listed(client, secret=secret, q="")) for secret in secrets] == [["of the red team"], []]


@pytest.mark.parametrize(
    ("params", "param"),
    [
        ({"q": "agent:"}, "q"),
        ({"order": "up"}, "order"),
        ({"after": "turn_1"}, "after"),
        ({"limit": "0"}, "limit"),
        ({"q": "status:failed", "turn_id": "x"}, "q"),
        ({"tz": "Nowhere"}, "tz"),
    ],
)
def test_what_is_wrong_is_said(client: Client, params: dict[str, str], param: str) -> None:
    assert listed(client, expected=400, **params)["error"]["param"] == param

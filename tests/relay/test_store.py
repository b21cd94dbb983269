"""The log of chat completions: every row can be reached, by those who may see it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from agents.base import ids
from agents.base.access import Actor
from agents.base.errors import InvalidRequest, NotFound
from agents.base.store.writer import writer
from agents.record.schemas.content import Usage
from agents.relay import store as completions
from agents.relay.models import CompletionStatus
from agents.relay.store import CompletionRecord
from tests.conftest import Clock

MakeUser = Callable[..., Actor]


def log(actor: Actor, count: int = 1, model: str = "m", words: str = "hello") -> list[str]:
    """Log calls; returns their ids."""
    keys = [ids.new_key() for _ in range(count)]

    def job() -> None:
        for key in keys:
            body = json.dumps({"id": ids.openai(ids.Kind.COMPLETION, key), "words": words}).encode()
            completions.add(actor, CompletionRecord(key, model, CompletionStatus.COMPLETED, Usage(), body))

    writer.write(job)
    return [ids.openai(ids.Kind.COMPLETION, key) for key in sorted(keys)]


def walk(actor: Actor, limit: int, newest_first: bool, model: str = "") -> Iterator[str]:
    """The ids of all pages."""
    after = ""
    while True:
        page = completions.page(actor, after=after, limit=limit, newest_first=newest_first, model=model)
        found = [json.loads(body)["id"] for body in page.bodies()]
        yield from found
        assert page.public_ids == found
        if not page.has_more:
            return
        assert len(found) == limit
        after = found[-1]


@pytest.mark.parametrize("newest_first", [True, False])
def test_all_are_reached_that_share_a_moment(make_user: MakeUser, clock: Clock, newest_first: bool) -> None:
    me = make_user("me")
    logged = log(me, 1_500)
    assert list(walk(me, 100, newest_first)) == (logged[::-1] if newest_first else logged)


def test_a_model_has_a_list_of_its_own(make_user: MakeUser) -> None:
    me = make_user("me")
    log(me, 5, "other")
    mine = log(me, 5, "mine")
    log(me, 5, "other")
    assert list(walk(me, 2, False, "mine")) == mine


def test_a_page_takes_three_queries(make_user: MakeUser) -> None:
    me = make_user("me")
    log(me, 30)
    completions.page(me)
    with CaptureQueriesContext(connection) as seen:
        completions.page(me)
    assert len(seen) <= 3


def test_a_long_body_comes_back_as_it_was(make_user: MakeUser) -> None:
    me = make_user("me")
    [public] = log(me, words="long \U0001f980 " * 10_000)
    assert json.loads(b"".join(completions.get(me, public)[1]))["words"] == "long \U0001f980 " * 10_000


def test_others_see_nothing_of_it(make_user: MakeUser) -> None:
    me, mate, stranger = make_user("me", teams=["red"]), make_user("mate", teams=["red"]), make_user("stranger")
    [public] = log(me)
    assert completions.get(mate, public)
    assert list(walk(stranger, 10, True)) == []
    for ask in (completions.get, completions.delete):
        with pytest.raises(NotFound):
            ask(stranger, public)
    assert completions.page(stranger, after=public).sized == []
    completions.delete(mate, public)
    with pytest.raises(NotFound):
        completions.get(me, public)


@pytest.mark.parametrize("wrong", ["x", "chatcmpl-", "chatcmpl-" + "0" * 32, "chatcmpl-\u0661" * 3, "0" * 32])
def test_what_is_no_id_is_refused(make_user: MakeUser, wrong: str) -> None:
    me = make_user("me")
    with pytest.raises(InvalidRequest, match="after"):
        completions.page(me, after=wrong)
    with pytest.raises(NotFound):
        completions.get(me, wrong)

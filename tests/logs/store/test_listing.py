"""Pages find the same rows whichever way they look: all at once, or part by part."""

from __future__ import annotations

import pytest

from agents.base.access import Actor
from agents.logs.store import listing
from agents.logs.store.levels import index_candidates, related_keys
from agents.query.fields import FIELDS
from agents.query.parser import parse
from agents.query.tree import Level, Query
from tests.conftest import Clock
from tests.logs.store import oracle
from tests.logs.store.test_query import TOGETHER, terms_of
from tests.query.oracle import matches
from tests.support.builders import Recorded
from tests.support.cases import sparing
from tests.support.depth import deep
from tests.support.sample_turns import sample as make_sample

pytestmark = pytest.mark.django_db

LISTS: tuple[Level, ...] = ("session", "turn", "response", "step")
NESTED = [
    "session(refund)",
    "session(turn(refund))",
    "session(turn(step(kettle)))",
    "-session(step(args.query:kettle))",
    "session(turn(tag:vip)) way",
    "turn(session(turn(*ettl)))",
    "agent(session(turn(refund)))",
    "agent(step(args.query:kettle))",
    "step(agent:support)",
    "agent:support kind:handoff OR step(agent(step(kettle)))",
    "count(step: kettle)=0 session(turn(refund))",
    "step(args.query:kettle) OR session(step(result.state:shipped))",
]
"""What asks of rows that belong to no row in question."""


@pytest.fixture
def sample(admin: Actor, clock: Clock) -> list[Recorded]:
    return make_sample(admin, clock)


@pytest.fixture(params=["windows", "few"])
def in_parts(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sample in several parts."""
    monkeypatch.setattr(listing, "WINDOWS", (1, 2, 3))
    monkeypatch.setattr(listing, "SCAN_ROWS", 3)
    monkeypatch.setattr(listing, "CHUNK", 1)
    monkeypatch.setattr(related_keys, "MAX_KEYS", 2)
    if request.param == "windows":
        monkeypatch.setattr(index_candidates, "MAX_ROWS", -1)
        monkeypatch.setattr(index_candidates, "MAX_DOCUMENTS", -1)


def expected(query: Query) -> list[str]:
    rows = oracle.rows(query.level)
    of_api = {key for key, row in rows.items() if query.level != "response" or row.response.api == "responses"}  # type: ignore[union-attr]  # it has one
    return sorted((key for key in of_api if matches(query, rows[key])), reverse=True)


def found(actor: Actor, query: Query, *, newer: bool) -> list[str]:
    """All pages of four rows, one after the other."""
    keys: list[int] = []
    while True:
        last = keys[-1] if keys else None
        if newer:
            page = listing.page(actor, query, before=last, oldest_first=last is None, limit=4)
            keys += page.keys[::-1]
        else:
            page = listing.page(actor, query, after=last, limit=4)
            keys += page.keys
        if not (page.has_newer if newer else page.has_older):
            return [oracle.public(query.level, key) for key in (keys[::-1] if newer else keys)]


@pytest.mark.usefixtures("in_parts", "sample")
@pytest.mark.parametrize(
    ("level", "every"), [("turn", 4), *(pytest.param(level, deep(3, 1), marks=pytest.mark.slow) for level in LISTS)]
)
def test_pages_in_parts_hold_the_same_rows(admin: Actor, clock: Clock, level: Level, every: int) -> None:
    terms = [text for field in FIELDS.values() for text in terms_of(field)]
    texts = [*NESTED[::every], *TOGETHER[:: 4 * every], *terms[:: 25 * every]]
    wrong = {}
    for number, text in enumerate(texts):
        query = parse(text, now_us=clock.now_us, level=level)
        got, wanted = found(admin, query, newer=number % 2 == 0), expected(query)
        if got != wanted:
            wrong[text] = (got, wanted)
    assert wrong == {}


@pytest.mark.usefixtures("sample")
@pytest.mark.parametrize("level", sparing(LISTS, "turn"))
def test_rows_asked_about_one_by_one_are_those_of_the_page(admin: Actor, clock: Clock, level: Level) -> None:
    """As an open list asks about what has changed: what a row is in has more than that."""
    wrong = {}
    for text in [*NESTED, "session(text:seen) OR session(later)", "turn(session(text:later))"]:
        query = parse(text, now_us=clock.now_us, level=level)
        whole = listing.visible(level, admin).order_by("-pk").values_list("pk", flat=True)
        got = [key for key in whole if listing.accepted(admin, query, [key])]
        if [oracle.public(level, key) for key in got] != expected(query):
            wrong[text] = got
    assert wrong == {}

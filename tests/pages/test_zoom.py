"""A part of a turn's time: by URL, with the whole in little above it."""

from __future__ import annotations

import pytest
from django.test import Client

from agents.base.access import Actor
from agents.base.store import keys
from agents.pages import timeline_overview
from agents.record.models.turns import Step
from agents.record.store import read_turns
from agents.record.store.step_pages import StepBucket
from tests.loop.test_loop import tool
from tests.support.builders import Recorded, make_turn
from tests.support.pages.markup import elements, unsafe, words
from tests.support.pages.turn_page import get, url_of


@pytest.fixture
def me(db: None) -> Actor:
    return keys.local()


def run_of(me: Actor, rounds: int) -> Recorded:
    script = "\n".join(f'say Step {n}\ncall lookup {{"query": "{n}"}}\nthen' for n in range(rounds))
    return make_turn(me, f"{script}\nsay Done.", server_tools=tool(), max_infer_iters=1_000)


def bars(page: str) -> int:
    return len([each for each in elements(page, "li") if "data-outcome" in each])


def test_a_short_turn_needs_no_overview(client: Client, me: Actor) -> None:
    assert "The whole turn" not in get(client, run_of(me, 3), "?view=timeline")


def test_a_long_turn_is_also_shown_in_little(client: Client, me: Actor) -> None:
    page = get(client, run_of(me, 150), "?view=timeline")
    assert "Steps 1 to 200 of 301" in words(page)
    assert bars(page) == 200
    slices = [link["href"] for link in elements(page, "a") if "zoom=" in link.get("href", "")]
    assert slices
    assert unsafe(page) == []
    assert bars(get(client, url_of(run_of(me, 150)), slices[-1])) <= 200


def test_a_part_of_the_time_shows_what_was_under_way(client: Client, me: Actor) -> None:
    made = run_of(me, 20)
    turn = read_turns.turn(me, made.turn)
    start, end = (round((turn.steps[number].started_at - turn.started_at) / 1000, 3) for number in (10, 12))
    page = get(client, made, f"?view=timeline&zoom={start}..{end}")
    assert "steps in this time" in words(page)
    assert 3 <= bars(page) <= 4
    assert {"zoom in", "zoom out", "earlier", "later", "all of it"} <= {
        name for name in ("zoom in", "zoom out", "earlier", "later", "all of it") if name in words(page)
    }


def test_an_empty_part_says_so(client: Client, me: Actor) -> None:
    assert "No step was under way then." in words(get(client, run_of(me, 2), "?view=timeline&zoom=9000000..9000001"))


@pytest.mark.parametrize("text", ["", "1", "..", "a..b", "-1..5", "5..1", "nan..1", "inf..inf", "1e400..2", "0..1e30"])
def test_what_is_no_span_is_not_one(text: str) -> None:
    assert timeline_overview.parse_span(text) is None


def test_a_span_goes_there_and_back() -> None:
    assert timeline_overview.parse_span("1500..3000.5") == (1_500_000, 3_000_500)
    assert timeline_overview.span_query((1_500_000, 3_000_500)) == "?view=timeline&zoom=1500..3000.5"


def test_nested_and_parallel_steps_are_told(client: Client, me: Actor) -> None:
    made = run_of(me, 3)
    whole = read_turns.turn(me, made.turn).steps
    Step.all_objects.filter(pk=whole[1].key).update(parent_id=whole[0].key)
    Step.all_objects.filter(pk=whole[3].key).update(
        started_at=Step.all_objects.get(pk=whole[2].key).started_at,
        completed_at=Step.all_objects.get(pk=whole[6].key).completed_at,
    )
    page = get(client, made, "?view=timeline")
    assert 'aria-level="2"' in page
    assert "inside another step" in page
    assert "in parallel with" in page


def test_the_overview_tells_its_failures_and_where_it_leads() -> None:
    buckets = [StepBucket(0, (("inference", 3),), 0), StepBucket(199, (("inference", 1), ("tool_execution", 9)), 2)]
    found = timeline_overview.overview(buckets, 100_000_000, (50_000_000, 60_000_000), zoomed=True)
    assert [column.failed for column in found.columns] == [False, True, False]
    assert [each.title for each in found.slices] == ["0 to 5 s, 3 steps", "1 m 35 s to 1 m 40 s, 10 steps, 2 failed"]
    assert (found.x, found.width) == (50.0, 10.0)
    assert {move.name: bool(move.query) for move in found.moves} == dict.fromkeys(
        ("closer", "farther", "earlier", "later", "whole"), True
    )

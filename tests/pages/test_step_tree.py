"""The timeline as a tree with the chosen step beside it: what lies in what, what each took, and its detail by URL."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from django.test import Client

from agents.base import ids
from agents.base.access import Actor
from agents.base.store import keys
from agents.pages import chosen_step
from agents.record.models.turns import Step
from agents.record.schemas.content import Usage
from agents.record.store import step_pages
from agents.record.store.step_pages import StepSums
from tests.loop.test_loop import tool
from tests.pages.test_steps import START, step
from tests.support.builders import Recorded, make_turn
from tests.support.pages.external_turns import tell, url
from tests.support.pages.markup import elements, unsafe, words
from tests.support.pages.turn_page import get
from tests.telemetry.reading import reports

LOOK = 'think Hm.\nsay Let me look.\ncall lookup {"query": "kettle"}\nthen\nsay It is blue.'
USED: dict[str, Any] = {"gen_ai__usage__input_tokens": 1200, "gen_ai__usage__output_tokens": 45}
CHAT: dict[str, Any] = {"gen_ai__operation__name": "chat", "gen_ai__request__model": "gpt-4o", **USED}
AGENT: dict[str, Any] = {"gen_ai__operation__name": "invoke_agent"}


@pytest.fixture
def me(db: None) -> Actor:
    return keys.local()


@pytest.fixture
def made(me: Actor) -> Recorded:
    return make_turn(me, LOOK, server_tools=tool())


def rows(page: str) -> list[dict[str, str]]:
    return [each for each in elements(page, "a") if each.get("role") == "treeitem"]


def chosen(client: Client, made: Recorded, query: str = "") -> str:
    """The words of the chosen step, as the page's script asks for it."""
    return words(get(client, made, f"parts/?view=timeline&only=step{query}"))


def test_each_step_is_a_link_that_chooses_it(client: Client, made: Recorded) -> None:
    page = get(client, made, "?view=timeline")
    assert [row["id"] for row in rows(page)] == ["step-0", "step-1", "step-2"]
    assert [row["href"] for row in rows(page)] == [f"?view=timeline&step={n}#step-{n}" for n in range(3)]
    assert "Choose a step to see" in words(page)
    assert unsafe(page) == []


def test_the_chosen_step_is_shown_beside_the_tree(client: Client, made: Recorded) -> None:
    page = get(client, made, rows(get(client, made, "?view=timeline"))[1]["href"])
    assert [row.get("aria-current") for row in rows(page)] == [None, "true", None]
    shown = chosen(client, made, "&step=1")
    assert shown in words(page)
    assert shown.index("Input") < shown.index("kettle") < shown.index("Output")
    assert all(part in shown for part in ("In the reader", "Fork from here", "Raw"))
    raw = next(link["href"] for link in elements(page, "a") if link.get("href", "").endswith("/value/"))
    assert "kettle" in client.get(raw).content.decode()
    assert unsafe(page) == []


def test_an_inference_says_what_it_read_and_called(client: Client, made: Recorded) -> None:
    first = chosen(client, made, "&step=0")
    assert "user" in first
    assert "input tokens" in first
    assert "lookup" in first[first.index("Output") :]
    last = chosen(client, made, "&step=2")
    assert "2 · lookup" in last
    assert "and, before that, the input and output of step 1" in last


def test_the_part_alone_is_the_chosen_step(client: Client, made: Recorded) -> None:
    part = get(client, made, "parts/?view=timeline&step=2&only=step")
    assert elements(part)[0]["data-part"] == "chosen"
    assert "It is blue." in words(part)


@pytest.mark.parametrize("number", ["7", "x", "-1", "99999999999"])
def test_a_step_that_is_not_there(client: Client, made: Recorded, number: str) -> None:
    page = get(client, made, f"?view=timeline&step={number}")
    assert ("This turn has no such step." in words(page)) == (number == "7")


def test_the_first_failure_is_chosen_at_first(client: Client, me: Actor) -> None:
    assert "broken" in chosen(client, make_turn(me, "fail 500 broken"))


def test_the_other_views_open_at_the_chosen_step(client: Client, made: Recorded) -> None:
    page = get(client, made, "?view=timeline&step=1")
    assert "?view=reader&step=1#step-1" in [link.get("href") for link in elements(page, "a")]


def test_a_step_of_another_page_of_the_turn_is_found(client: Client, me: Actor) -> None:
    script = "\n".join(f'call lookup {{"query": "{n}"}}\nthen' for n in range(120))
    made = make_turn(me, f"{script}\nsay Done.", server_tools=tool(), max_infer_iters=1_000)
    page = get(client, made, "?view=timeline&step=230")
    assert rows(page)[0]["id"] == "step-200"
    assert [row["id"] for row in rows(page) if row.get("aria-current")] == ["step-230"]


# ------------------------------------------------------------------------------------- what lies inside


def nested() -> list[Any]:
    return [
        reports.span(1, 1, "invoke_agent desk", takes=9, **AGENT, gen_ai__agent__name="desk"),
        reports.span(1, 2, "invoke_agent finder", parent=1, takes=8, **AGENT, gen_ai__agent__name="finder"),
        reports.span(1, 3, "chat", parent=2, takes=3, **CHAT),
        reports.span(1, 4, "chat", parent=2, at=4, takes=2, **CHAT),
        reports.span(1, 5, "chat", parent=1, at=8, takes=1, **CHAT),
    ]


def test_what_lies_inside_is_nested_and_summed(client: Client, me: Actor) -> None:
    tell(me, *nested())
    page = get(client, url(me), "?view=timeline")
    held = [row for row in rows(page) if "data-holds" in row]
    assert held
    levels = [int(row["aria-level"]) for row in rows(page)]
    assert all(level <= before + 1 for before, level in itertools.pairwise(levels))
    assert max(levels) >= 2
    assert "Σ 2,490" in words(page)


def test_sums_count_the_steps_of_every_page(me: Actor) -> None:
    made = make_turn(me, LOOK, server_tools=tool())
    keys_ = list(Step.all_objects.filter(turn_id=made.turn).order_by("number").values_list("pk", flat=True))
    Step.all_objects.filter(pk=keys_[1]).update(parent=keys_[0], input_tokens=3, output_tokens=0, cost_nano=5)
    Step.all_objects.filter(pk=keys_[2]).update(parent=keys_[1], input_tokens=4, output_tokens=1, cost_nano=None)
    assert step_pages.sums_inside(made.turn) == {keys_[0]: StepSums(8, 5), keys_[1]: StepSums(5, None)}


def test_speed_is_without_the_wait_for_the_first_token() -> None:
    used = Usage(input_tokens=3, output_tokens=41)
    one = step("inference", completed_at=START + 1_500_000, usage=used, ttft_us=500_000)
    assert chosen_step.tokens_a_second(one) == "40.0 tokens a second"
    assert chosen_step.tokens_a_second(step("inference", usage=Usage(output_tokens=2))) == ""


def test_ids_of_rows_are_of_steps(client: Client, made: Recorded) -> None:
    page = get(client, made, "?view=timeline&step=0")
    named = [each["id"] for each in elements(page) if each.get("id", "").startswith("step-")]
    assert len(named) == len(set(named)) == 3
    assert ids.public(ids.Kind.TURN, made.turn) in page

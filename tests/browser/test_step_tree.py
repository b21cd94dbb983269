"""The timeline as a tree with the chosen step beside it, on the demo: by mouse, by keyboard, by URL, without
JavaScript, and while a turn runs."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.elsewhere import reported
from tests.browser.test_accessibility import DESK, LOOKS, found
from tests.support.live.caller import Caller, Talk
from tests.support.live.held_model import HeldModel
from tests.support.live.process import ServerProcess
from tests.telemetry.reading import reports

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(600)]

Open = Callable[..., Page]


def demo_turn(caller: Caller, words: str) -> str:
    """The path of a turn of the demo, by what it was asked."""
    rows = caller.get("/v1/logs/turns?limit=1000").json["data"]
    return next(f"/turns/{row['id']}/" for row in rows if words in (row["input_preview"] or ""))


@pytest.fixture(scope="module")
def nested(demo: ServerProcess) -> str:
    """The path of a turn of nested steps: an agent, in it another, in that two calls of a model."""
    caller = Caller(demo.port)
    agent: dict[str, Any] = {"gen_ai__operation__name": "invoke_agent"}
    chat: dict[str, Any] = {
        "gen_ai__operation__name": "chat",
        "gen_ai__request__model": "gpt-4o",
        "gen_ai__usage__input_tokens": 7,
    }
    spans = [
        reports.span(0x7EE, 1, "desk", takes=9, **agent, gen_ai__agent__name="desk", gen_ai__conversation__id="tree"),
        reports.span(0x7EE, 2, "finder", parent=1, takes=8, **agent, gen_ai__agent__name="finder"),
        reports.span(0x7EE, 3, "chat", parent=2, takes=3, **chat),
        reports.span(0x7EE, 4, "chat", parent=2, at=4, takes=2, **chat),
    ]
    assert caller.post("/v1/traces", reports.request(*spans)).status == 200
    return f"/turns/{reported(caller, 'tree')['id']}/"


def test_why_a_turn_was_slow_and_dear_takes_one_click(open_page: Open, caller: Caller) -> None:
    page = open_page(demo_turn(caller, "I want to return the blue kettle"), **DESK)
    page.get_by_role("link", name="Timeline").click()
    tree = page.get_by_role("tree")
    expect(tree.locator("[data-most]")).to_have_count(2)
    expect(tree.get_by_role("treeitem", name=re.compile("lookup_order.*the slowest step"))).to_be_visible()
    expect(
        tree.get_by_role("treeitem", name=re.compile(r"Inference.*\$0\.001.*the most expensive step"))
    ).to_be_visible()


def test_a_step_is_chosen_without_leaving_the_page(open_page: Open, caller: Caller) -> None:
    path = demo_turn(caller, "I want to return the blue kettle")
    page = open_page(f"{path}?view=timeline", **DESK)
    page.evaluate("document.body.dataset.same = 'yes'")
    page.get_by_role("treeitem", name=re.compile("lookup_order")).click()
    chosen = page.get_by_label("Chosen step")
    expect(chosen).to_contain_text("lookup_order")
    expect(chosen).to_contain_text("8839")
    expect(page).to_have_url(re.compile(r"step=3#step-3$"))
    expect(page.locator("body[data-same]")).to_have_count(1)
    page.get_by_role("treeitem", name=re.compile("Inference")).first.click()
    for fact in ("time to first token", "input tokens", "output tokens", "cost", "Parameters", "Fork from here", "Raw"):
        expect(chosen).to_contain_text(fact)
    expect(chosen.get_by_role("button", name="Good")).to_be_visible()
    page.reload()
    expect(page.get_by_role("treeitem", name=re.compile("Inference")).first).to_have_attribute("aria-current", "true")
    page.get_by_role("link", name="Reader R").click()
    page.wait_for_url(re.compile(r"view=reader.*#step-2$"))


def test_a_fragment_alone_chooses_too(open_page: Open, caller: Caller) -> None:
    page = open_page(f"{demo_turn(caller, 'I want to return the blue kettle')}?view=timeline#step-3", **DESK)
    expect(page.get_by_label("Chosen step")).to_contain_text("lookup_order")
    page.evaluate("location.hash = '#step-1'")
    expect(page.get_by_label("Chosen step")).to_contain_text("Retrieval")


def test_the_tree_is_walked_and_folded_by_keyboard(open_page: Open, nested: str) -> None:
    page = open_page(f"{nested}?view=timeline", **DESK)
    items, focused = page.get_by_role("treeitem"), page.locator(":focus")
    count = items.count()
    assert count == 3
    expect(page.locator("[role=treeitem][tabindex='0']")).to_have_count(1)
    items.first.focus()
    page.keyboard.press("ArrowLeft")
    expect(items.first).to_have_attribute("aria-expanded", "false")
    expect(page.get_by_role("treeitem")).to_have_count(1)
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("treeitem")).to_have_count(count)
    page.keyboard.press("ArrowRight")
    expect(focused).to_have_attribute("aria-level", "2")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowLeft")
    expect(focused).to_have_attribute("aria-level", "1")
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    expect(page.get_by_label("Chosen step")).to_contain_text("Inference")
    expect(focused).to_have_attribute("aria-current", "true")


def test_the_tree_is_filtered_with_what_holds_the_matches(open_page: Open, nested: str) -> None:
    page = open_page(f"{nested}?view=timeline", **DESK)
    page.locator(".fold").first.click()
    expect(page.get_by_role("treeitem")).to_have_count(1)
    page.get_by_label("Filter the steps").fill("gpt-4o")
    expect(page.get_by_role("treeitem", name=re.compile("gpt-4o"))).to_have_count(2)
    expect(page.get_by_role("treeitem", name=re.compile("finder"))).to_have_count(1)
    page.get_by_label("Filter the steps").fill("no such step")
    expect(page.get_by_role("treeitem")).to_have_count(0)
    expect(page.get_by_text("No step of this page")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("treeitem")).to_have_count(1)
    page.get_by_role("button", name="Unfold all").click()
    expect(page.get_by_role("treeitem", name=re.compile("gpt-4o"))).to_have_count(2)


def test_without_scripts_a_row_leads_to_its_step(open_page: Open, caller: Caller) -> None:
    page = open_page(
        f"{demo_turn(caller, 'I want to return the blue kettle')}?view=timeline", **DESK, java_script_enabled=False
    )
    page.get_by_role("treeitem", name=re.compile("lookup_order")).click()
    expect(page).to_have_url(re.compile(r"step=3#step-3$"))
    expect(page.get_by_label("Chosen step")).to_contain_text("8839")
    expect(page.get_by_label("Filter the steps")).to_be_hidden()


def test_a_folded_shield_opens_for_whoever_comes_for_it(open_page: Open, caller: Caller) -> None:
    path = demo_turn(caller, "I want to return the blue kettle")
    page = open_page(path, **DESK)
    expect(page.locator("#step-0 .card-step")).to_be_hidden()
    page.locator("#step-0 summary").click()
    expect(page.locator("#step-0 .card-step")).to_be_visible()
    for scripts in (True, False):
        page = open_page(f"{path}#step-0", **DESK, java_script_enabled=scripts)
        expect(page.locator("#step-0 .card-step")).to_be_visible()


@pytest.mark.parametrize("look", LOOKS)
def test_axe_has_nothing_against_the_tree(open_page: Open, caller: Caller, nested: str, look: str) -> None:
    page = open_page(f"{nested}?view=timeline", **LOOKS[look])
    base = page.url.partition("/turns/")[0]
    one = demo_turn(caller, "I want to return the blue kettle")
    bad = found(page)
    for path in (
        f"{nested}?view=timeline&step=2#step-2",
        *(f"{one}?view=timeline&step={n}#step-{n}" for n in (0, 2, 3)),
    ):
        page.goto(base + path)
        bad += [f"{path} {each}" for each in found(page)]
    assert not bad, "\n".join(bad)


def test_the_tree_of_a_running_turn_grows(open_page: Open, caller: Caller, held: HeldModel) -> None:
    talk, question = Talk(caller, model="held/held", toolgroups=["builtin::demo"]), held.hold()
    turn = talk.begin(question.question)
    page = open_page(f"/turns/{turn}/?view=timeline", **DESK)
    items = page.get_by_role("treeitem")
    expect(items).to_have_count(1)
    question.say("One ")
    question.end("two.")
    expect(items.first).to_contain_text(re.compile(r"\d ?m?s"))
    expect(page.locator("[data-turn-status=completed]")).to_be_visible()
    expect(page.get_by_role("tree")).to_be_visible()

"""The page of a long turn by mouse, by keyboard, and without JavaScript."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.test_accessibility import DESK, LOOKS, found
from tests.support.live.caller import Caller, script

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(600)]

Open = Callable[..., Page]
ROUNDS = 110
"""Of two steps each: more than a page shows."""


@pytest.fixture(scope="module")
def long_turn(demo: object) -> str:
    """The path of a turn of many steps, the last of which fails."""
    caller = Caller(demo.port)  # type: ignore[attr-defined]  # a ServerProcess
    agent = caller.post(
        "/v1/agents",
        {
            "agent_config": {
                "model": "scripted/fast",
                "instructions": "",
                "toolgroups": ["builtin::code_interpreter"],
                "max_infer_iters": 500,
            }
        },
    ).json["agent_id"]
    session = caller.post(f"/v1/agents/{agent}/session", {"session_name": "long"}).json["session_id"]
    lines = [line for n in range(ROUNDS) for line in (f"say Step **{n}**", f'call no_such_tool {{"n": {n}}}', "then")]
    messages = [{"role": "user", "content": script(*lines, "say The kettle is blue.")}]
    turn = caller.post(f"/v1/agents/{agent}/session/{session}/turn", {"messages": messages}).json["turn_id"]
    return f"/turns/{turn}/"


def test_it_is_read_by_keyboard(open_page: Open, long_turn: str) -> None:
    page = open_page(long_turn, **DESK)
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    page.keyboard.press("j")
    page.keyboard.press("j")
    expect(page.locator(":focus")).to_have_attribute("id", "step-0")
    page.keyboard.press("/")
    page.keyboard.type("kettle")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(f"find=kettle.*#step-{2 * ROUNDS}"))
    expect(page.locator(f"#step-{2 * ROUNDS} mark")).to_have_text("kettle")
    page.keyboard.press("2")
    page.wait_for_url(re.compile("view=timeline"))
    page.keyboard.press("+")
    page.wait_for_url(re.compile("zoom="))
    expect(page.locator(".timeline")).to_contain_text("in this time")
    page.keyboard.press("0")
    expect(page.locator(".timeline")).to_contain_text(re.compile("Steps 1 to 200 of"))
    page.keyboard.press("w")
    page.wait_for_url(re.compile("view=raw"))
    page.keyboard.press("f")
    page.wait_for_url(re.compile("#step-1$"))


def test_its_time_is_zoomed_by_mouse(open_page: Open, long_turn: str) -> None:
    page = open_page(f"{long_turn}?view=timeline", **DESK)
    box = page.locator("[data-zoom]").bounding_box()
    assert box is not None
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] * 0.25, y)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.5, y, steps=5)
    page.mouse.up()
    page.wait_for_url(re.compile("zoom="))
    expect(page.locator(".timeline")).to_contain_text("in this time")
    page.locator(".bars a").first.click()
    page.wait_for_url(re.compile("#step-"))


def test_a_drag_that_the_browser_takes_over_zooms_nothing(open_page: Open, long_turn: str) -> None:
    """A finger that scrolls the page began it."""
    page = open_page(f"{long_turn}?view=timeline", **DESK)
    little = page.locator("[data-zoom]")
    box = little.bounding_box()
    assert box is not None
    for kind, share in (("pointerdown", 0.2), ("pointercancel", 0.2), ("pointermove", 0.6), ("pointerup", 0.6)):
        where = {"clientX": box["x"] + box["width"] * share, "clientY": box["y"] + 2, "button": 0, "bubbles": True}
        little.dispatch_event(kind, where)
        expect(little.locator(".little-drag")).to_have_attribute("hidden", "")
    expect(page.locator(".timeline")).to_contain_text(re.compile("Steps 1 to 200 of"))
    assert "zoom=" not in page.url


def test_it_needs_no_script(open_page: Open, long_turn: str) -> None:
    page = open_page(f"{long_turn}?view=timeline", **DESK, java_script_enabled=False)
    page.get_by_role("link", name="zoom in").click()
    expect(page.locator(".timeline")).to_contain_text("in this time")
    page.get_by_role("link", name="Reader R").click()
    page.get_by_label("Search in this turn").fill("kettle")
    page.get_by_role("button", name="Search").click()
    expect(page.locator("mark").first).to_have_text("kettle")
    page.get_by_role("link", name="earlier steps").first.click()
    page.get_by_role("link", name="Jump to the failure").click()
    expect(page).to_have_url(re.compile("#step-1$"))


@pytest.mark.parametrize("look", LOOKS)
def test_axe_has_nothing_against_it(open_page: Open, long_turn: str, look: str) -> None:
    page = open_page(f"{long_turn}?find=kettle", **LOOKS[look])
    base = page.url.partition("/turns/")[0]
    bad = found(page)
    for path in ("?view=timeline", "?view=timeline&zoom=0..50", "?view=raw"):
        page.goto(f"{base}{long_turn}{path}")
        bad += [f"{path} {each}" for each in found(page)]
    assert not bad, "\n".join(bad)

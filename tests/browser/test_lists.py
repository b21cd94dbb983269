"""The lists and the panel beside them: what has room at which width, and the keys."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import FloatRect, Locator, Page, expect

from tests.browser.test_accessibility import DESK, PHONE

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(600)]

Open = Callable[..., Page]
LISTS = ("/logs/", "/sessions/", "/steps/", "/responses/")


def box(part: Locator) -> FloatRect:
    bounds = part.bounding_box()
    assert bounds is not None, "it is not shown"
    return bounds


def row_link(page: Page, number: int) -> Locator:
    return page.locator("[data-rows] .col-text a").nth(number)


def test_the_panel_goes_to_the_step_that_was_chosen(open_page: Open) -> None:
    """The button to close the panel stays in sight and lies on nothing."""
    page = open_page("/steps/?q=tool:web_search", viewport={"width": 1440, "height": 500})
    row_link(page, 0).click()
    panel = page.locator("[data-peek-panel]")
    step = panel.locator(".step[aria-current=true]")
    expect(step).to_have_count(1)
    expect(step).to_be_in_viewport()
    close = box(panel.locator("[data-peek-close]"))
    assert box(step)["x"] + box(step)["width"] <= close["x"] + 1


def test_the_panel_of_a_session_leaves_room_for_words(open_page: Open) -> None:
    page = open_page("/sessions/", **DESK)
    row_link(page, 0).click()
    expect(page.locator("[data-peek-panel] .session-turn").first).to_be_visible()
    assert box(page.locator("[data-rows] .col-text").first)["width"] > 180
    expect(page.locator("[data-rows] .col-name b + code").first).to_be_hidden()


def test_the_panel_goes_to_what_was_searched_for(open_page: Open) -> None:
    page = open_page("/logs/?q=delivered", viewport={"width": 1440, "height": 400})
    row_link(page, 0).click()
    expect(page.locator("[data-peek-panel] mark").first).to_be_in_viewport()


def test_the_list_is_used_with_the_keyboard_alone(open_page: Open) -> None:
    page = open_page("/logs/", viewport={"width": 1440, "height": 500})
    page.keyboard.press("j")
    expect(row_link(page, 0)).to_be_focused()
    page.evaluate("scrollTo(0, 600)")
    page.keyboard.press("j")
    focused = page.locator("[data-rows] tr:focus-within")
    expect(focused).to_be_in_viewport()
    assert page.evaluate("scrollY") == 600, "a row that is seen, not the first"
    page.keyboard.press("Enter")
    panel = page.locator("[data-peek-panel]")
    expect(panel.locator(".step").first).to_be_visible()
    page.keyboard.press("Tab")
    expect(panel).to_be_focused()
    page.keyboard.press("Tab")
    expect(panel.locator("a, button").first).to_be_focused()
    page.keyboard.press("Shift+Tab")
    expect(page.locator("[data-rows] [aria-selected] .col-text a")).to_be_focused()
    page.keyboard.press("Escape")
    expect(panel).to_be_hidden()
    link = page.locator("[data-rows] tr:focus-within .col-text a").get_attribute("href")
    page.keyboard.press("o")
    page.wait_for_url(f"**{link}")


def test_bar_and_heads_stay_on_top(open_page: Open) -> None:
    page = open_page("/logs/", viewport={"width": 1440, "height": 700})
    expect(page.locator("[data-rows] tr").nth(15)).to_be_attached()
    page.evaluate("scrollTo(0, 400)")
    bar, tabs, head = (box(page.locator(each)) for each in (".log-bar", ".log-tabs", ".log-table thead th >> nth=0"))
    assert bar["y"] == 0
    assert tabs["y"] == pytest.approx(bar["height"], abs=2)
    assert head["y"] == pytest.approx(tabs["y"] + tabs["height"], abs=2)
    expect(page.get_by_role("searchbox").or_(page.get_by_role("combobox", name="Query"))).to_be_in_viewport()


def test_a_time_range_is_chosen_in_the_bar(open_page: Open) -> None:
    page = open_page("/logs/?q=status:completed", **DESK)
    menu = page.locator(".time-menu")
    menu.locator("summary").click()
    page.keyboard.press("Escape")
    expect(menu.get_by_role("link", name="last hour")).to_be_hidden()
    expect(menu.locator("summary")).to_be_focused()
    menu.locator("summary").click()
    menu.get_by_role("link", name="last 24 hours").click()
    expect(menu.locator("summary")).to_contain_text("last 24 hours")
    expect(page.get_by_role("combobox", name="Query")).to_have_value("status:completed started:-24h")
    menu.locator("summary").click()
    menu.get_by_role("link", name="any time").click()
    expect(page.get_by_role("combobox", name="Query")).to_have_value("status:completed")


def test_all_rows_of_a_page_are_selected_at_once(open_page: Open) -> None:
    page = open_page("/logs/", **DESK)
    rows = page.locator("[data-rows] tr").count()
    page.locator("thead .pick").hover()
    page.get_by_label("Select all rows of this page").check()
    expect(page.locator("[data-acts-count]")).to_have_text(f"{rows} rows selected")
    page.locator("[data-rows] .pick input").first.uncheck()
    expect(page.locator("[data-acts-count]")).to_have_text(f"{rows - 1} rows selected")
    page.get_by_label("Select all rows of this page").check()
    page.get_by_label("Select all rows of this page").uncheck()
    expect(page.locator("[data-acts]")).to_be_hidden()


def test_an_empty_bar_offers_earlier_queries(open_page: Open) -> None:
    page = open_page("/logs/?q=status:failed", **DESK)
    page.get_by_role("link", name="Clear the query").click()
    bar = page.get_by_role("combobox", name="Query")
    bar.click()
    options = page.locator("#suggestions").get_by_role("option")
    expect(options.first).to_have_text(re.compile(r"status:failed\s*recent"))
    expect(options.filter(has_text="Failures of the last day")).to_be_visible()
    page.keyboard.press("Tab")
    expect(options.first).to_be_hidden()
    bar.click()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url("**/logs/?q=status%3Afailed")


def test_a_bar_of_the_histogram_says_what_it_stands_for(open_page: Open) -> None:
    page = open_page("/logs/", **DESK)
    caption = page.locator("[data-bar-said]")
    expect(caption).to_contain_text("a bar is")
    page.locator("[data-histogram] a g").first.hover()
    expect(caption).to_contain_text(re.compile(r"\d\d:\d\d:\d\d: \d+ "))


def test_a_clock_is_one_line_at_any_width(open_page: Open) -> None:
    page = open_page("/logs/", viewport={"width": 1024, "height": 700})
    clock = page.locator("[data-rows] .col-time time").first
    assert clock.evaluate("(time) => time.scrollWidth <= time.parentElement.clientWidth")
    assert clock.evaluate("(time) => getComputedStyle(time).whiteSpace") == "nowrap"
    expect(page.locator(".unseen")).to_contain_text("Tokens")


@pytest.mark.parametrize("path", LISTS)
def test_checkboxes_lie_on_no_text(open_page: Open, path: str) -> None:
    page = open_page(path, **PHONE)
    boxes = page.locator("[data-rows] .pick input")
    expect(boxes.first).to_be_attached()
    expect(boxes.locator("visible=true")).to_have_count(0)
    page.get_by_role("link", name="Select", exact=True).click()
    first = page.locator("[data-rows] tr").first
    right = box(first.locator(".pick"))
    for cell in first.locator("td:visible").all():
        assert box(cell)["x"] >= right["x"] + right["width"] - 1


@pytest.mark.parametrize("width", [1024, 1200, 1440])
def test_columns_that_are_added_leave_room_for_words(open_page: Open, width: int) -> None:
    shown = "&".join(f"col={name}" for name in ("who", "steps", "length", "tags", "feedback"))
    page = open_page(f"/logs/?{shown}", viewport={"width": width, "height": 800})
    assert box(page.locator("[data-rows] .col-text").first)["width"] > 150
    assert page.evaluate("document.documentElement.scrollWidth") <= width

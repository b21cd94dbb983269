"""What a reader has in hand, typed, chosen, scrolled to or in focus, stays while the page goes on."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.elsewhere import reported
from tests.browser.test_accessibility import DESK, PHONE
from tests.support.live.caller import Caller, Talk, script
from tests.support.live.held_model import HeldModel
from tests.telemetry.reading import reports

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(600)]

Open = Callable[..., Page]


def live(page: Page) -> Page:
    """The page of a list, once it is told what happens."""
    expect(page.locator("[data-live][data-state=live]")).to_be_visible()
    return page


def held_row(page: Page, caller: Caller, held: HeldModel) -> Callable[[], None]:
    """A running turn in the list of its agent; what ends it and waits until its row says so."""
    question, talk = held.hold(), Talk(caller, model="held/held")
    turn = talk.begin(question.question + "\n\nin many lines" * 40)
    page.goto(f"{page.url.split('/logs/')[0]}/logs/?q=agent:{talk.agent}")
    expect(live(page).locator(f"[data-id='{turn}']")).to_contain_text("in progress")

    def end() -> None:
        question.end("Done.")
        expect(page.locator(f"[data-id='{turn}']")).to_contain_text("completed")

    return end


def test_a_chosen_row_that_changes_keeps_the_focus(open_page: Open, caller: Caller, held: HeldModel) -> None:
    page = open_page("/logs/", **DESK)
    end = held_row(page, caller, held)
    page.locator("[data-rows] .pick input").check()
    end()
    expect(page.locator("[data-rows] .pick input")).to_be_checked()
    expect(page.locator("[data-rows] .pick input")).to_be_focused()


def test_a_chosen_row_that_is_gone_is_not_counted(open_page: Open, caller: Caller) -> None:
    talk = Talk(caller)
    talk.say("One")
    other = talk.aside()
    turn = other.say("Two").json["turn_id"]
    page = live(open_page(f"/logs/?q=agent:{talk.agent}", **DESK))
    for box in page.locator("[data-rows] .pick input").all():
        box.evaluate("(box) => box.click()")  # without a pointer over the rows, under which none goes away
    expect(page.locator("[data-acts-count]")).to_have_text("2 rows selected")
    caller.delete(other.path)
    expect(page.locator(f"[data-id='{turn}']")).to_have_count(0)
    expect(page.locator("[data-acts-count]")).to_have_text("1 row selected")


def test_the_panel_stays_where_it_was_scrolled_to(open_page: Open, caller: Caller, held: HeldModel) -> None:
    page = open_page("/logs/", viewport={"width": 1360, "height": 300})
    end = held_row(page, caller, held)
    page.locator("[data-rows] .col-text a").click()
    panel = page.locator("[data-peek-panel]")
    expect(panel).to_be_visible()
    panel.evaluate("(panel) => { panel.scrollTop = 40; }")
    end()
    expect(panel).to_contain_text("Done.")
    assert panel.evaluate("(panel) => panel.scrollTop") == 40


@pytest.mark.parametrize("window", [DESK, PHONE], ids=["desk", "phone"])
def test_hidden_columns_stay_hidden_in_rows_that_come(open_page: Open, caller: Caller, window: dict[str, Any]) -> None:
    """In their heads, in the rows that are there and in those that come, also when the page is opened again."""
    talk = Talk(caller)
    talk.say("One")
    page = live(open_page(f"/logs/?q=agent:{talk.agent}", **window))
    rows, duration = page.locator("[data-rows] tr"), page.locator("[data-log] .card-right")
    expect(page.locator("[data-rows] .card-right")).to_be_visible()
    page.locator("details.columns summary").click()
    page.get_by_role("checkbox", name="Duration").press("Space")  # the menu of a short list may reach above the window
    talk.say("Two")
    expect(rows).to_have_count(2)
    expect(duration.locator("visible=true")).to_have_count(0)
    expect(page.locator("[data-rows] .card-text").locator("visible=true")).to_have_count(2)
    page.reload()
    expect(live(page).locator("[data-rows] tr")).to_have_count(2)
    expect(duration).to_have_count(3)
    expect(duration.locator("visible=true")).to_have_count(0)


def test_a_time_that_is_being_written_stays(open_page: Open, caller: Caller) -> None:
    talk = Talk(caller)
    talk.say("One")
    page = live(open_page(f"/logs/?q=agent:{talk.agent}", **DESK))
    total = page.locator("[data-part=sums]").get_by_role("definition").first
    expect(total).to_have_text("1")
    page.locator(".time-menu summary").click()
    start = page.locator("#range-from")
    start.fill("2026-01-02T03:04")
    start.blur()
    talk.aside().say("Two")
    expect(total).to_have_text("2")
    expect(start).to_have_value("2026-01-02T03:04")


def test_a_filter_in_focus_stays_in_focus_where_others_come_before_it(open_page: Open, caller: Caller) -> None:
    talk = Talk(caller)
    talk.say("One")
    page = live(open_page(f"/logs/?q=agent:{talk.agent}", **DESK))
    total = page.locator("[data-part=sums]").get_by_role("definition").first
    expect(total).to_have_text("1")
    link = page.locator("[data-part=filters] a.facet-pick", has_text="completed")
    link.focus()
    for _ in range(2):  # so that there are more that failed: they are listed first
        talk.aside().say(script("fail"))
    expect(total).to_have_text("3")
    expect(page.locator("[data-part=filters] section:has-text('Status') a.facet-pick").first).to_contain_text("failed")
    expect(link).to_be_focused()


def test_values_that_come_late_stay_away_from_a_bar_that_was_left(open_page: Open) -> None:
    page = open_page("/logs/", **DESK)
    asked: list[Route] = []
    page.route("**/logs/complete/**", lambda route: asked.append(route))
    bar = page.get_by_label("Query", exact=True)
    with page.expect_request("**/logs/complete/**"):
        bar.press_sequentially("status:")
    page.locator("h1").evaluate("() => document.activeElement.blur()")
    with page.expect_response("**/logs/complete/**"):
        asked[0].continue_()
    page.evaluate("() => new Promise((done) => setTimeout(done))")
    expect(page.locator("[data-suggestions]")).to_be_hidden()


def test_values_that_come_late_stay_away_from_who_closed_them(open_page: Open) -> None:
    """They opened again under a second Escape, which then closed them and did not leave the bar."""
    page = open_page("/logs/", **DESK)
    asked: list[Route] = []
    page.route("**/logs/complete/**", lambda route: asked.append(route))
    bar = page.get_by_label("Query", exact=True)
    bar.press_sequentially("st")
    expect(page.get_by_role("option").first).to_be_visible()
    with page.expect_request("**/logs/complete/**"):
        bar.press_sequentially("atus:")
    bar.press("Escape")
    with page.expect_response("**/logs/complete/**"):
        asked[0].continue_()
    page.evaluate("() => new Promise((done) => setTimeout(done))")
    expect(page.get_by_role("option")).to_have_count(0)
    expect(bar).to_be_focused()
    bar.press("Escape")
    expect(bar).not_to_be_focused()


def test_a_button_that_copied_says_copy_again(open_page: Open) -> None:
    page = open_page("/keys/", permissions=["clipboard-read", "clipboard-write"])
    page.clock.install()
    button = page.locator("[data-copy]").first
    for _ in range(2):
        button.click()
        expect(button).to_have_text("Copied")
        page.clock.run_for(700)
    page.clock.run_for(5000)
    expect(button).to_have_text("Copy")


def test_a_branch_that_is_opened_twice_is_shown_once(open_page: Open, caller: Caller) -> None:
    talk = Talk(caller, model="scripted/demo", toolgroups=["builtin::demo"])
    given = json.dumps({"city": {"names": ["Oslo"]}})
    turn = talk.say(script(f"call get_weather {given}", "then", "say Cold.")).json["turn_id"]
    steps = talk.turn(turn)["steps"]
    step = next(each["step_id"] for each in steps if each["step_type"] == "tool_execution")
    page = open_page(f"/turns/{turn}/steps/{step}/read/?part=arguments")
    asked: list[Route] = []
    page.route("**only=part**", lambda route: asked.append(route))
    summary = page.locator(".tree-branch > summary").first
    with page.expect_request("**only=part**"):
        summary.click()
    summary.click()
    summary.click()
    for each in asked:
        each.continue_()
    expect(page.locator(".tree .tree").first).to_be_visible()
    expect(page.locator(".tree-branch[open] > .tree")).to_have_count(1)


def test_what_runs_for_days_says_days(open_page: Open, caller: Caller) -> None:
    """As the server writes it, and the script that counts on."""
    at = time.time() - reports.START / reports.SECOND - 200_000
    named: dict[str, Any] = {"gen_ai__operation__name": "chat", "gen_ai__conversation__id": "days"}
    assert caller.post("/v1/traces", reports.request(reports.span(0xDA75, 2, "chat", 1, at, **named))).status == 200
    page = open_page("/logs/")
    page.clock.install()
    page.goto(f"{page.url.removesuffix('/logs/')}/turns/{reported(caller, 'days')['id']}/")
    page.clock.run_for(2000)
    expect(page.locator("[data-elapsed]").first).to_have_text(re.compile(r"^[\d,]+ d \d\d h$"))


def test_a_page_that_waits_for_spans_offers_no_refresh(open_page: Open, caller: Caller) -> None:
    page = open_page("/connect/")
    expect(page.locator("[data-part=arrival][data-state=live]")).to_be_visible()
    with page.expect_response(lambda answer: "since=" in answer.url):  # it looks again by itself
        assert caller.post("/v1/traces", reports.request(reports.span(0xC0, 1, "GET /health"))).status == 200
    expect(page.locator("[data-part=arrival]")).to_contain_text("that contains no turn")
    expect(page.locator("[data-refresh]")).to_be_hidden()

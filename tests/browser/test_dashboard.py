"""The dashboard in a real browser: with scripts and without; and every page with charts on the way from it."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.test_accessibility import LOOKS, found
from tests.support.live.caller import Caller, Talk, script, tool

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(600)]

Open = Callable[..., Page]
WITH_NUMBERS = "/?period=30d&numbers=1"
"""The page with its numbers, also where counting them takes long; without this a browser without scripts then gets a
link to them."""
TITLES = ["Turns by outcome", "Failure rate", "Duration", "Tokens", "Cost by model"]


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without"])
def test_it_shows_the_period_and_leads_to_its_turns(open_page: Open, scripts: bool) -> None:
    page = open_page(WITH_NUMBERS, java_script_enabled=scripts)
    expect(page.locator(".chart h3")).to_have_text(TITLES)
    turns = page.locator(".figures a").first
    count = turns.inner_text()
    turns.click()
    expect(page).to_have_url(re.compile(r"/logs/\?q=started"))
    expect(page.locator("[data-part=sums] dd").first).to_have_text(count)


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without"])
def test_a_chart_opens_as_a_table_of_links(open_page: Open, scripts: bool) -> None:
    page = open_page(WITH_NUMBERS, java_script_enabled=scripts)
    chart = page.locator(".chart").first
    chart.get_by_text("As a table").click()
    cell = chart.locator("td a").first
    count = cell.inner_text()
    cell.click()
    expect(page.locator("[data-part=sums] dd").first).to_have_text(count)


def test_numbers_come_behind_the_page_at_the_second_visit(open_page: Open) -> None:
    page = open_page("/")
    expect(page.locator(".chart")).to_have_count(5)
    page.reload()
    expect(page.locator(".chart")).to_have_count(5)
    page.get_by_role("link", name="7 days").click()
    expect(page.get_by_role("link", name="7 days")).to_have_attribute("aria-current", "page")
    expect(page.locator(".chart")).to_have_count(5)


def test_what_begins_to_wait_appears_by_itself(open_page: Open, caller: Caller) -> None:
    page = open_page("/")
    waiting = page.locator("[data-part=now] section").nth(1)
    before = waiting.locator("h2 b").inner_text()
    Talk(caller, client_tools=[tool("ask_user", "question")]).say(script('call ask_user {"question": "?"}'))
    expect(waiting.locator("h2 b")).not_to_have_text(before)


def test_a_bar_leads_to_its_turns(open_page: Open) -> None:
    page = open_page("/?period=30d")
    bar = page.locator(".chart-area a").last
    bar.locator(".hit").click()
    expect(page).to_have_url(re.compile(r"/logs/\?q=started"))


@pytest.mark.parametrize("look", LOOKS)
def test_a_list_in_groups_is_pinned_and_taken_off(open_page: Open, look: str) -> None:
    page = open_page("/logs/groups/?by=agent,hour&show=cost", **LOOKS[look])
    page.get_by_role("button", name="Pin to the overview").click()
    expect(page.get_by_role("button", name="Unpin from the overview")).to_be_visible()
    page.get_by_role("link", name="Overview").click()
    pinned = page.get_by_role("region", name="Pinned")
    expect(pinned.get_by_role("link", name="Agent · Hour")).to_be_visible()
    assert found(page) == []
    pinned.get_by_role("button", name="Unpin Agent · Hour").click()
    expect(page.get_by_text("Taken off your overview.")).to_be_visible()
    expect(pinned).to_have_count(0)

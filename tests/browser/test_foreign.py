"""Pages of agents that run elsewhere, open while more of them is reported."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.elsewhere import reported
from tests.support.live.caller import Caller
from tests.telemetry.reading import reports

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(600)]

Open = Callable[..., Page]


def tell(caller: Caller, *spans: Any) -> None:
    assert caller.post("/v1/traces", reports.request(*spans)).status == 200


def test_a_running_turn_grows_under_its_reader(open_page: Open, caller: Caller) -> None:
    first, tool, last, root = reports.turn(0xF001, gen_ai__conversation__id="grows")
    frame = reports.span(0xF001, 9, "frame", parent=1, openinference__span__kind="CHAIN", input__value='{"a": 1}')
    tell(caller, frame, first, {**root, "endTimeUnixNano": "0"})
    page = open_page(f"/turns/{reported(caller, 'grows')['id']}/")
    expect(page.locator("[data-live-state]")).to_be_visible()
    expect(page.locator("[data-step]")).to_have_count(2)
    page.locator(".line-step summary").click()
    page.locator(".line-step summary").focus()
    page.evaluate("document.querySelector('.line-step').isMine = true")
    tell(caller, tool)
    expect(page.locator("[data-step]")).to_have_count(3)
    assert page.evaluate("document.querySelector('.line-step').isMine")
    expect(page.locator(".line-step summary")).to_be_focused()
    expect(page.locator(".line-part").first).to_be_visible()
    tell(caller, last, root)
    expect(page.locator("[data-turn-status=completed]")).to_be_visible()
    expect(page.locator("[data-step]")).to_have_count(4)
    expect(page.locator("[data-live-state]")).to_be_hidden()
    expect(page.locator("p[role=status]").last).to_have_text("completed")
    stored = open_page(page.url.partition("/turns")[1] + page.url.partition("/turns")[2])
    texts = "[...document.querySelectorAll('[data-step]')].map((each) => each.textContent)"
    assert page.evaluate(texts) == stored.evaluate(texts)


def test_lists_are_told_of_it(open_page: Open, caller: Caller) -> None:
    page = open_page("/logs/?q=source:otlp+listed")
    expect(page.locator(".live[data-state=live]")).to_be_attached()
    tell(caller, *reports.turn(0xF002, "Listed?", gen_ai__conversation__id="listed")[:1])
    row = page.locator("tr.log-row")
    expect(row).to_have_count(1)
    expect(row).to_contain_text("in progress")
    tell(caller, *reports.turn(0xF002, "Listed?", gen_ai__conversation__id="listed")[1:])
    expect(row).to_contain_text("completed")
    expect(row).to_contain_text("It is 18 degrees.")


def test_connecting_waits_and_leads_to_the_first_turn(open_page: Open, caller: Caller) -> None:
    page = open_page("/connect/?with=strands")
    expect(page.locator(".arrival[data-state=live]")).to_contain_text("Waiting for the first span")
    expect(page.locator("[data-refresh]")).to_be_hidden()
    tell(caller, *reports.turn(0xF003, "Am I connected?", gen_ai__conversation__id="connected"))
    expect(page.locator(".arrival")).to_contain_text("It works")
    link = page.get_by_role("link", name="Am I connected?")
    expect(link).to_have_attribute("href", f"/turns/{reported(caller, 'connected')['id']}/")


def test_a_span_is_read_branch_by_branch(open_page: Open, caller: Caller) -> None:
    tell(caller, *reports.turn(0xF004, gen_ai__conversation__id="spans"))
    page = open_page(f"/turns/{reported(caller, 'spans')['id']}/")
    page.locator("[data-step]").first.hover()
    page.locator("[data-step] .step-span").first.click()
    expect(page.locator("h1")).to_contain_text("chat gpt-4o")
    branch = page.locator(".tree > li > .tree-branch").last
    branch.locator("summary").first.click()
    expect(branch.locator("ul.tree")).to_be_visible()
    page.get_by_role("link", name="Its step").click()
    expect(page.locator("[data-step]").first).to_be_visible()

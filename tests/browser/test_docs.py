"""The documentation of the API in a real browser: all of it, offline, in every theme; what is tried on it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.test_accessibility import LOOKS, found
from tests.support.live.caller import Caller

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(600)]

Open = Callable[..., Page]


PATIENCE_MS = 60_000
"""How long the library draws all operations, on a slow machine."""


def documentation(open_page: Open, **options: Any) -> Page:
    page = open_page("/docs/api/", **options)
    page.set_default_timeout(PATIENCE_MS)
    return drawn(page)


def drawn(page: Page) -> Page:
    expect(page.locator(".opblock-tag").first).to_be_visible(timeout=PATIENCE_MS)
    return page


def operation(page: Page, tag: str, name: str) -> None:
    """Opens it to be tried."""
    page.locator(f"#operations-tag-{tag} button").first.click()
    page.locator(f"#operations-{tag}-{name} button").first.click()
    page.get_by_role("button", name="Try it out").click()


def test_every_operation_is_there(open_page: Open, caller: Caller) -> None:
    paths = caller.get("/v1/openapi.json").json["paths"]
    expected = Counter(one["tags"][0] for methods in paths.values() for one in methods.values())
    page = documentation(open_page)
    expect(page.locator(".opblock-tag")).to_have_count(len(expected))
    for tag, count in expected.items():
        opener = page.locator(f"#operations-tag-{tag} button").first
        opener.click()
        expect(page.locator(f"[id^='operations-{tag}-']")).to_have_count(count)
        opener.click()


def test_an_operation_is_tried(open_page: Open, caller: Caller) -> None:
    page = documentation(open_page)
    operation(page, "version", "version")
    page.get_by_role("button", name="Execute").click()
    expect(page.locator(".live-responses-table .response-col_status").last).to_contain_text("200")
    expect(page.locator(".live-responses-table")).to_contain_text(caller.get("/v1/version").json["version"])


def test_a_key_goes_to_this_server_and_is_kept_nowhere(open_page: Open) -> None:
    page = open_page("/agents/")

    def need_key(route: Route) -> None:
        answer = route.fetch()
        route.fulfill(response=answer, body=answer.text().replace("data-docs=", "data-key-needed data-docs="))

    page.route("**/docs/api/", need_key)
    page.goto(page.url.replace("/agents/", "/docs/api/"))
    page.set_default_timeout(PATIENCE_MS)
    drawn(page)
    page.get_by_role("button", name="Authorize").click()
    dialog = page.locator(".dialog-ux")
    dialog.get_by_role("textbox").fill("none")
    dialog.get_by_role("button", name="Apply").click()
    dialog.get_by_role("button", name="Close").last.click()
    operation(page, "version", "version")
    with page.expect_request("**/v1/version") as sent:
        page.get_by_role("button", name="Execute").click()
    assert sent.value.headers["authorization"] == "Bearer none"
    assert page.evaluate("[localStorage.length, sessionStorage.length]") == [0, 0]
    page.reload()  # the address names the operation
    page.get_by_role("button", name="Try it out").click()
    with page.expect_request("**/v1/version") as sent:
        page.get_by_role("button", name="Execute").click()
    assert "authorization" not in sent.value.headers


@pytest.mark.parametrize("look", LOOKS)
def test_axe_has_nothing_against_it(open_page: Open, look: str) -> None:
    """Except for the library's own markup: a second main region, and, in open operations, nested buttons and fields
    without labels."""
    page = documentation(open_page, **LOOKS[look])
    assert [each for each in found(page) if not each.startswith("landmark-")] == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_follows_the_theme(open_page: Open, scheme: str) -> None:
    page = documentation(open_page, color_scheme=scheme, viewport={"width": 390, "height": 844})
    paper = "getComputedStyle(document.documentElement).backgroundColor"
    assert page.evaluate(paper) == {"light": "rgb(252, 252, 250)", "dark": "rgb(21, 23, 26)"}[scheme]
    operation(page, "agents", "create_turn")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.locator("[data-theme-switch]").click()
    page.locator("[data-theme-switch]").click()
    assert page.evaluate(paper) == "rgb(21, 23, 26)"


def test_the_documentation_is_searched_without_a_network(open_page: Open) -> None:
    page = open_page("/docs/")
    expect(page.locator("dialog[aria-label=Search]")).to_be_attached()  # its script is there
    page.keyboard.press("Control+k")
    page.keyboard.type("budget")
    results = page.get_by_role("dialog", name="Search").get_by_role("option")
    expect(results.first).to_have_attribute("href", re.compile("/docs/budgets/"))
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("Budgets")

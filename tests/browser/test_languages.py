"""The switches of the rail: the language, and high contrast."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.support.live.caller import Caller, Talk

pytestmark = [pytest.mark.browser, pytest.mark.slow]
Open = Callable[..., Page]


def test_a_reader_chooses_a_language_and_stays_on_the_page(open_page: Open) -> None:
    page = open_page("/logs/?q=status%3Afailed", locale="de-DE")
    expect(page.locator("html")).to_have_attribute("lang", "de")
    _is_live(page)
    page.get_by_role("button", name="Sprache: de").click()
    page.get_by_role("button", name="Français").click()
    expect(page.locator("html")).to_have_attribute("lang", "fr")
    assert page.url.endswith("/logs/?q=status%3Afailed")
    expect(page.get_by_role("link", name="Journaux")).to_be_visible()
    _is_live(page)


def test_the_choice_needs_no_script_and_no_mouse(open_page: Open) -> None:
    page = open_page("/agents/", java_script_enabled=False)
    page.get_by_role("button", name="Language: en").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Deutsch")).to_be_visible()
    page.get_by_role("button", name="Deutsch").press("Enter")
    expect(page.get_by_role("heading", name="Agenten", level=1)).to_be_visible()


def test_live_rows_arrive_in_the_readers_language(open_page: Open, caller: Caller) -> None:
    page = open_page("/logs/", locale="de-DE")
    _is_live(page)
    first = page.locator("tr.log-row").first
    before = first.get_attribute("data-id")
    Talk(caller).say("say Hello.")
    page.wait_for_function("before => document.querySelector('tr.log-row').dataset.id !== before", arg=before)
    expect(page.locator("tr.log-row").first).to_contain_text("fertig")
    expect(page.locator("tr.log-row").first).not_to_contain_text("completed")


@pytest.mark.parametrize("language", ["de-DE", "fr-FR"])
@pytest.mark.parametrize("path", ["/logs/", "/sessions/", "/steps/", "/agents/", "/inbox/", "/keys/", "/", "/prices/"])
def test_longer_words_fit(open_page: Open, path: str, language: str) -> None:
    for width in (1440, 390):  # without a socket, which would complain of being cut off
        page = open_page(path, locale=language, viewport={"width": width, "height": 800}, java_script_enabled=False)
        wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 0, f"{path} is {wide} px too wide at {width}"


def test_high_contrast_is_the_fourth_theme(open_page: Open) -> None:
    page = open_page("/keys/")
    switch = page.locator("[data-theme-switch]")
    for theme in ("light", "dark", "contrast"):
        switch.click()
        expect(page.locator("html")).to_have_attribute("data-theme", theme)
    assert _ink(page) == "rgb(0, 0, 0)"
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-theme", "contrast")
    switch.click()
    assert page.locator("html").get_attribute("data-theme") is None


def test_high_contrast_comes_by_the_systems_wish(open_page: Open) -> None:
    page = open_page("/keys/", contrast="more", color_scheme="dark")
    assert _ink(page) == "rgb(255, 255, 255)"


def _is_live(page: Page) -> None:
    """Its socket is open: one that is cut off before that complains."""
    expect(page.locator("[data-live]").first).to_have_attribute("data-state", "live")


def _ink(page: Page) -> str:
    return str(page.evaluate("getComputedStyle(document.body).color"))

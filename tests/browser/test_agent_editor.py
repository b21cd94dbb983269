"""An agent is made, tried, saved, revised and compared in the browser, with and without JavaScript."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.test_accessibility import LOOKS, found

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(600)]

Open = Callable[..., Page]
SCHEMA = '{"type": "object", "properties": {"order": {"type": "integer"}}, "required": ["order"]}'


def fill_in(page: Page, name: str) -> None:
    """A model, instructions, a group of tools, a tool of the client with its schema, and a shield."""
    page.get_by_label("Name", exact=True).first.fill(name)
    page.get_by_label("Model", exact=True).select_option("scripted/demo")
    page.get_by_label("Instructions").fill("Be brief.")
    page.get_by_role("checkbox", name="builtin::demo", exact=True).check()
    page.get_by_role("button", name="Add a tool").click()
    tool = page.get_by_role("group", name="Tool 1")
    tool.get_by_label("Name").fill("approve")
    tool.get_by_label("Parameters, as JSON Schema").fill('{"type": "wrong"}')
    page.get_by_role("group", name="demo_guard").get_by_label("what is asked").check()


def draft(page: Page) -> Locator:
    return page.get_by_role("region", name="Try the draft")


def say(page: Page, text: str) -> None:
    draft(page).get_by_label("Message to the draft").fill(text)
    draft(page).get_by_role("button", name="Send").click()


def save_and_compare(page: Page) -> None:
    """Save the new agent, change it, and read what the revision changed."""
    page.get_by_role("button", name="Create agent").last.click()
    expect(page).to_have_url(re.compile("/agents/[0-9a-f-]{36}/$"))
    expect(page.get_by_text("approve(order: integer)")).to_be_visible()
    page.get_by_role("link", name="Edit", exact=True).click()
    page.get_by_label("Instructions").fill("Be kind.")
    page.get_by_role("button", name="Save").last.click()
    expect(page).to_have_url(re.compile("/revisions/"))
    expect(page.get_by_role("main")).to_contain_text("kind.")
    expect(page.get_by_role("main")).to_contain_text("brief.")


def test_it_is_tried_where_it_is_made(open_page: Open, complaints: list[str]) -> None:
    page = open_page("/agents/new/")
    fill_in(page, "made here")
    say(page, "Hello?")
    expect(draft(page).get_by_role("alert")).to_contain_text("This is no JSON Schema")
    complaints.clear()  # the console tells the status 400
    page.get_by_label("Parameters, as JSON Schema").fill(SCHEMA)
    say(page, "Hello?")
    expect(draft(page).locator(".reader .step").last).to_contain_text("scripted model")
    expect(page.get_by_label("Instructions")).to_have_value("Be brief.")
    page.get_by_label("Instructions").fill("Be very brief.")
    say(page, "And now?")
    expect(draft(page).locator(".asked")).to_have_count(2)
    expect(draft(page).get_by_role("button", name="Send")).to_be_enabled()
    save_and_compare(page)


def test_so_it_is_without_javascript(open_page: Open, complaints: list[str]) -> None:
    page = open_page("/agents/new/", java_script_enabled=False)
    fill_in(page, "made without scripts")
    say(page, "Hello?")
    expect(page.get_by_text("This is no JSON Schema")).to_be_visible()
    complaints.clear()  # the console tells the status 400
    page.get_by_label("Parameters, as JSON Schema").fill(SCHEMA)
    say(page, "Hello?")
    with page.expect_popup() as opened:  # the form stays where it is, with what was written
        page.get_by_role("link", name="open its turn").click()
    expect(opened.value.get_by_text("Hello?").first).to_be_visible()
    save_and_compare(page)


@pytest.mark.parametrize("look", LOOKS)
def test_axe_has_nothing_against_the_form(open_page: Open, complaints: list[str], look: str) -> None:
    page = open_page("/agents/new/", **LOOKS[look])
    fill_in(page, "read aloud")
    assert found(page) == []
    say(page, "Hello?")
    expect(draft(page).get_by_role("alert")).to_be_visible()
    assert found(page) == []
    page.get_by_role("button", name="Create agent").last.click()
    expect(page.get_by_text("Not saved yet")).to_be_visible()
    assert found(page) == []
    complaints.clear()  # the console tells the status 400

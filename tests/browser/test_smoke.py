"""The road a newcomer takes, in a real browser: look, filter, open, try; with scripts and without."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.support.live.caller import Caller, Talk
from tests.support.live.held_model import HeldModel
from tests.support.live.process import eventually

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

Open = Callable[..., Page]
TURN = re.compile(r"/turns/[0-9a-f-]{36}/")


def rows(page: Page) -> Locator:
    """The turns of the list."""
    return page.locator("main table tbody tr")


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without"])
def test_the_logs_show_the_demo_and_a_facet_narrows_them(open_page: Open, scripts: bool) -> None:
    page = open_page("/logs/", java_script_enabled=scripts)
    everything = rows(page).count()
    assert everything >= 30
    page.get_by_role("navigation", name="Filters").get_by_role("link", name="failed", exact=True).click()

    expect(page).to_have_url(re.compile(r"q=status"))
    expect(page.get_by_label("Query", exact=True)).to_have_value("status:failed")
    assert 0 < rows(page).count() < everything
    for row in rows(page).all():
        expect(row).to_contain_text("failed")


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without"])
def test_words_are_found_and_their_turn_is_read(open_page: Open, scripts: bool) -> None:
    page = open_page("/logs/", java_script_enabled=scripts)
    page.get_by_label("Query", exact=True).fill("kettle tool:lookup_order")  # other tests have kettles, too
    page.get_by_role("button", name="Search").click()
    expect(page).to_have_url(re.compile("q=kettle"))
    rows(page).first.get_by_role("link").first.click()
    if scripts:  # beside the list first
        expect(page.get_by_role("complementary")).to_contain_text("lookup_order")
        page.get_by_role("link", name="Open", exact=False).last.click()

    expect(page).to_have_url(TURN)
    expect(page.get_by_role("heading", level=1)).to_contain_text("kettle")
    expect(page.get_by_role("main")).to_contain_text("lookup_order")
    for view, seen in (("Timeline", "lookup_order"), ("Raw", "input_messages")):
        page.get_by_role("navigation", name="View as").get_by_role("link", name=view).click()
        expect(page.get_by_role("main")).to_contain_text(seen)


def test_a_query_that_cannot_be_read_is_answered(open_page: Open, complaints: list[str]) -> None:
    page = open_page("/logs/?q=status%3Anonsense")
    expect(page.get_by_role("heading", name="is not valid")).to_be_visible()
    complaints.clear()  # the console tells the status 400


def test_what_is_said_to_an_agent_is_answered_token_by_token(open_page: Open, caller: Caller, held: HeldModel) -> None:
    agent, question = Talk(caller, model="held/held", name="holder").agent, held.hold()
    page = open_page(f"/agents/{agent}/")
    trying = page.get_by_role("region", name="Try it")
    trying.get_by_role("textbox").fill(question.question)
    trying.get_by_role("button", name="Send").click()
    expect(trying.locator("[data-steps]")).to_contain_text(question.question)
    answer = trying.locator("[data-step]").last
    question.say("One ")
    expect(answer).to_contain_text("One")
    question.say("**two** ")
    expect(answer).to_contain_text("One **two**")  # as it is typed
    question.end("three.")
    expect(answer.locator("strong")).to_have_text("two")  # as it is said
    expect(answer).to_contain_text("One two three.")
    expect(trying.get_by_role("button", name="Send")).to_be_enabled()

    answer.hover()
    thumb = answer.get_by_role("button", name="Good")
    thumb.click()
    expect(thumb).to_have_attribute("aria-pressed", "true")

    page.get_by_role("link", name="This turn in the logs").click()
    expect(page).to_have_url(TURN)
    expect(page.get_by_role("main")).to_contain_text("One two three.")
    expect(page.get_by_role("button", name="Good").first).to_have_attribute("aria-pressed", "true")


def test_an_answer_is_had_without_scripts(open_page: Open) -> None:
    page = open_page("/agents/", java_script_enabled=False)
    page.get_by_role("link", name="support").first.click()
    page.get_by_role("region", name="Try it").get_by_role("textbox").fill("Hello there!")
    page.get_by_role("button", name="Send").first.click()
    expect(page).to_have_url(TURN)
    more = page.get_by_role("textbox", name="Continue the conversation")
    eventually(lambda: page.reload() and more.is_visible())  # a page that is read as its turn ends has it not yet
    expect(page.locator("[data-turn-status=completed]")).to_have_count(1)
    expect(page.get_by_role("main")).to_contain_text("I am a scripted model")
    more.fill("And again.")
    page.get_by_role("button", name="Send").first.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("And again.")


def test_hostile_words_stay_words(open_page: Open, caller: Caller, held: HeldModel) -> None:
    question = held.hold()
    said = "<img src=x onerror=alert(1)><script>alert(2)</script> [x](javascript:alert(3)) </template>\u202e"
    talk = Talk(caller, model="held/held", name="<b onclick=alert(4)>Mallory</b>")
    turn = talk.begin(question.question)
    page = open_page(f"/turns/{turn}/")
    question.say(said)
    expect(page.locator("[data-step]").last).to_contain_text("<script>alert(2)</script>")
    question.end()
    expect(page.locator("[data-turn-status=completed]")).to_be_visible()
    for path in (f"/turns/{turn}/", f"/turns/{turn}/?view=raw", f"/sessions/{talk.session}/", "/logs/", "/agents/"):
        other = open_page(path)
        expect(other.get_by_role("main")).to_contain_text("Mallory" if path == "/agents/" else "held question")
        assert other.locator("main img, main b[onclick], main a[href^=javascript]").count() == 0

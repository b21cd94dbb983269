"""Every kind of page for those who do not use a mouse, or do not see it: axe finds nothing, and the
keyboard reaches everything."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.browser.elsewhere import reported
from tests.support.depth import LONG
from tests.support.live.caller import Caller, script
from tests.telemetry.reading import reports

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(600)]

Open = Callable[..., Page]
LEVELS = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True}
DESK = {"viewport": {"width": 1360, "height": 900}}
LOOKS: dict[str, dict[str, Any]] = {
    "light": {**DESK, "color_scheme": "light"},
    "dark": {**DESK, "color_scheme": "dark"},
    "phone": PHONE,
}
MORE_LOOKS: dict[str, dict[str, Any]] = {
    "contrast": {**DESK, "color_scheme": "light"},
    "german": {**DESK, "locale": "de-DE"},
}


def found(page: Page) -> list[str]:
    """What axe has against a page: rule, and where."""
    broken = Axe().run(page, options=LEVELS).response["violations"]
    return [f"{rule['id']}: {node['html'][:200]} {node['target']}" for rule in broken for node in rule["nodes"]]


def pages(caller: Caller) -> list[str]:
    """The lists, and one turn of every status, with their sessions and agents."""
    turns = caller.get("/v1/logs/turns?limit=1000").json["data"]
    one_of_each = {turn["status"]: turn for turn in turns}.values()
    some = [f"/turns/{turn['id']}/" for turn in one_of_each]
    one = next(iter(one_of_each))
    some += openai_pages(caller)
    some += [f"{some[0]}?view=timeline", f"{some[0]}?view=raw", f"/sessions/{one['session_id']}/"]
    return [
        *("/logs/", "/logs/?q=status:failed", "/logs/?q=nothing_is_called_so", "/agents/", "/inbox/"),
        *("/logs/?q=this:is:wrong", "/logs/?sort=-cost", "/logs/?select=1", "/logs/?col=meta&col=feedback&col=tags"),
        *("/logs/values/?field=model", "/logs/groups/", "/logs/groups/?by=tag", "/logs/groups/?q=status:failed"),
        *("/", "/?period=1h", "/prices/", "/health/", f"/agents/{one['agent_id']}/revisions/", "/agents/new/"),
        *("/keys/", f"/agents/{one['agent_id']}/", f"/agents/{one['agent_id']}/edit/", *some),
        *(f"{some[0]}fork/", f"/turns/{turns[0]['id']}/compare/{turns[1]['id']}/", "/turns/compare/"),
        *("/budgets/", "/webhooks/", "/automations/", "/import/", "/connect/unmatched/", "/account/password/"),
        *("/connect/", "/connect/?with=claude-code&since=0", *elsewhere_pages(caller)),
    ]


def elsewhere_pages(caller: Caller) -> list[str]:
    """A turn that was reported, one of its spans, its session and agent."""
    spans = reports.turn(0xACCE, "How is it read?", gen_ai__conversation__id="read")
    chain = reports.span(0xACCE, 8, "frame", parent=1, openinference__span__kind="CHAIN", input__value='{"a": 1}')
    assert caller.post("/v1/traces", reports.request(*spans, chain)).status == 200
    row = reported(caller, "read")
    turn, span = f"/turns/{row['id']}/", f"{2:016x}"
    return [
        *(turn, f"{turn}?view=raw", f"{turn}?view=timeline", f"{turn}spans/{span}/", f"{turn}spans/{span}/?as=text"),
        *(f"/sessions/{row['session_id']}/", f"/agents/{row['agent_id']}/"),
    ]


def openai_pages(caller: Caller) -> list[str]:
    """The lists of OpenAI's APIs, a turn of a response, one that waits, and a conversation with items."""
    given = [{"role": "user", "content": "My kettle leaks."}]
    conversation = caller.post("/v1/conversations", {"items": given, "metadata": {"topic": "kettles"}}).json["id"]
    tool = {"type": "function", "name": "ask_user", "parameters": {"type": "object", "properties": {"day": {}}}}
    more = {"instructions": "Be brief.", "metadata": {"team": "red"}, "tools": [tool], "conversation": conversation}
    body = {"model": "scripted/fast", "input": script('call ask_user {"day": 1}', "then", "say Yes."), **more}
    response = caller.post("/v1/responses", body).json["id"]
    lists = ["/responses/", "/sessions/", "/steps/", "/responses/?q=status:failed", "/sessions/?q=nothing_is_called_so"]
    return [*lists, f"/responses/{response}/", f"/conversations/{conversation}/"]


@pytest.mark.parametrize("look", [*LOOKS, *MORE_LOOKS])
def test_axe_has_nothing_against_any_page(open_page: Open, caller: Caller, complaints: list[str], look: str) -> None:
    page = open_page("/keys/")
    base = page.url.removesuffix("/keys/")
    page.get_by_label("Name").fill("old")
    page.get_by_role("button", name="Create key").click()
    page.locator("summary", has_text="Revoke").first.click()
    page.get_by_role("button", name="Revoke “").first.click()
    expect(page.get_by_text("revoked").first).to_be_visible()
    options = (LOOKS | MORE_LOOKS)[look]
    page = open_page("/logs/", **options)
    if look == "contrast":
        page.context.add_cookies([{"name": "theme", "value": "contrast", "url": base}])
    bad = []
    every = 1 if LONG or look in LOOKS else 2  # their colors, or their words, are those of every page
    for path in pages(caller)[::every]:
        page.goto(base + path)
        own = options["viewport"]
        if path.endswith(("/new/", "/edit/")):  # its bar of buttons stays in sight, over what is scrolled under it
            page.set_viewport_size({"width": own["width"], "height": 4000})
        bad += [f"{path} {each}" for each in found(page)]
        page.set_viewport_size(own)
    complaints[:] = [text for text in complaints if "status of 400" not in text]  # a query that is wrong
    assert not bad, "\n".join(bad)


def test_the_list_is_read_by_keyboard(open_page: Open) -> None:
    page = open_page("/logs/")
    page.keyboard.press("Tab")
    expect(page.locator(":focus")).to_have_text("Skip to the content")
    page.keyboard.press("/")
    expect(page.get_by_label("Query", exact=True)).to_be_focused()
    page.keyboard.type("status:failed")
    expect(page.get_by_role("option").first).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("option")).to_have_count(0)
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("q=status"))  # and its scripts, without which a key says nothing
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    expect(page.locator("main table tbody tr").first.locator("a").first).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("complementary")).to_be_visible()  # beside the list
    page.keyboard.press("j")
    expect(page.locator("tr[aria-selected=true]")).to_have_count(1)
    page.keyboard.press("o")
    expect(page).to_have_url(re.compile("/turns/"))


def test_an_agent_is_made_and_asked_by_keyboard(open_page: Open) -> None:
    page = open_page("/agents/")
    page.get_by_text("New agent").focus()
    page.keyboard.press("Enter")
    page.get_by_label("Name").focus()
    page.keyboard.type("by keyboard")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("/agents/[0-9a-f]{8}-"))
    expect(page.get_by_role("heading", level=1)).to_contain_text("by keyboard")
    trying = page.get_by_role("region", name="Try it")
    trying.get_by_role("textbox").focus()
    page.keyboard.type("Hello!")
    page.keyboard.press("Enter")
    expect(trying.locator("[data-step]").last).to_contain_text("scripted model")

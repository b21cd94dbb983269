"""The page of a turn whose process is lost while it is open, and the decision about its call there."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests.support.live.caller import Caller, Talk, script
from tests.support.live.chromium import Chromium
from tests.support.live.held_effects import held_effects
from tests.support.live.process import ServerProcess, eventually

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(600)]


def test_a_call_in_doubt_is_decided_on_its_page_while_others_watch(
    chromium: Chromium, start_server: Callable[..., ServerProcess]
) -> None:
    with held_effects() as effects:
        server = start_server(**effects.environment)
        talk = Talk(Caller(server.port), model="scripted/demo", toolgroups=["orders"])
        turn = talk.begin(script("say I charge.", 'call charge {"order": "7"}', "then", "say Charged."))
        eventually(lambda: effects.calls)
        server.kill()
        server.start()
        talk.caller.port = server.port
        pages = [chromium.open().new_page() for _ in range(2)]
        for page in pages:
            page.goto(f"{server.base}/turns/{turn}/")
        deciding, watching = pages
        for page in pages:
            expect(page.locator(".turn-waits")).to_contain_text("Waits for a decision")
            expect(page.locator("[data-steps]")).to_contain_text("the process that ran it was lost")
        card = deciding.locator("[data-step][data-type=tool_execution]")
        card.get_by_label("Here is its result").check()
        card.get_by_role("textbox").fill("It was charged.")
        card.get_by_role("button", name="Decide").click()
        for page in pages:
            expect(page.locator("[data-turn-status=completed]")).to_be_visible()
            expect(page.locator("[data-step][data-type=tool_execution]")).to_contain_text("Decided: here is its result")
            expect(page.locator(".turn-waits")).to_have_count(0)
            # What is live becomes what is stored a moment after its end is known.
            expect(page.locator("[data-step]").last).to_contain_text("Comments and tags of this step")
        assert effects.calls == ["7"]
        assert talk.turn(turn)["steps"][1]["tool_responses"][0]["content"] == "It was charged."
        shown = [page.locator("[data-steps]").inner_text() for page in pages]
        watching.reload()
        assert [watching.locator("[data-steps]").inner_text()] * 2 == shown
        for page in pages:
            chromium.close(page.context)

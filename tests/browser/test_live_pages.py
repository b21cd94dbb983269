"""Pages that are open while things happen: they show what the store will say, once, and lose
nothing over a reload or a server that goes and comes."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.support.live.caller import Caller, Talk, answer_to, script, tool
from tests.support.live.held_model import HeldModel
from tests.support.live.mcp_process import McpProcess
from tests.support.live.process import ServerProcess

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(600)]

Open = Callable[..., Page]


def shown(page: Page) -> str:
    """The conversation on a turn's page."""
    return page.locator("[data-steps]").inner_text()


def is_over(page: Page, status: str = "completed") -> None:
    expect(page.locator(f"[data-turn-status={status}]")).to_be_visible()


def test_a_turn_watched_by_two_is_the_stored_one(open_page: Open, caller: Caller, held: HeldModel) -> None:
    question = held.hold()
    turn = Talk(caller, model="held/held").begin(question.question)
    first = open_page(f"/turns/{turn}/")
    question.say("One ")
    expect(first.locator("[data-step]").last).to_contain_text("One")
    second = open_page(f"/turns/{turn}/")
    expect(second.locator("[data-step]").last).to_contain_text("One")
    question.say("two \U0001f600 ")
    for page in (first, second):
        expect(page.locator("[data-step]").last).to_contain_text("One two \U0001f600")
    first.reload()
    question.say("three ")
    for page in (first, second):
        expect(page.locator("[data-step]").last).to_contain_text("One two \U0001f600 three")
    question.end("four.")
    for page in (first, second):
        is_over(page)
        expect(page.locator("[data-step]").last).to_contain_text("One two \U0001f600 three four.")

    stored = open_page(f"/turns/{turn}/")
    assert shown(first) == shown(second) == shown(stored)
    classes = stored.locator("[data-turn]").get_attribute("class")
    assert classes is not None
    assert "live" not in classes.split()


def test_a_fast_turn_of_every_kind_of_step_is_the_stored_one(open_page: Open, caller: Caller) -> None:
    talk = Talk(
        caller, model="scripted/demo", toolgroups=["builtin::demo"], client_tools=[tool("ask_user", "question")]
    )
    lines = ["think Hm.", "repeat 40 word", 'call get_weather {"city": "Oslo"}', 'call ask_user {"question": "?"}']
    turn = talk.begin(script(*lines, "then", "repeat 40 more"))
    pages = [open_page(f"/turns/{turn}/") for _ in range(2)]
    pages[0].reload()
    for page in pages:
        is_over(page, "awaiting_input")
    [call] = talk.turn(turn)["output_message"]["tool_calls"]
    talk.answer(turn, answer_to(call, "Monday"))
    for page in pages:
        is_over(page)

    stored = shown(open_page(f"/turns/{turn}/"))
    assert [shown(page) for page in pages] == [stored, stored]


def test_a_waiting_turn_is_answered_on_its_page(open_page: Open, caller: Caller) -> None:
    talk = Talk(caller, client_tools=[tool("ask_user", "question")])
    turn = talk.say(script('call ask_user {"question": "Which day?"}', "then", "say Thank you.")).json["turn_id"]
    page = open_page(f"/turns/{turn}/")
    card = page.locator("[data-step][data-type=tool_execution]")
    card.get_by_role("textbox").fill("Monday")
    card.get_by_role("button").last.click()

    is_over(page)
    expect(page.locator("[data-step]").last).to_contain_text("Thank you.")
    assert talk.turn(turn)["steps"][1]["tool_responses"][0]["content"] == "Monday"


def test_a_call_is_approved_with_other_arguments_or_refused(open_page: Open, caller: Caller) -> None:
    talk = Talk(caller, client_tools=[tool("refund", "order"), tool("close", "order")])
    calls = ('call refund {"order": "7"}', 'call close {"order": "7"}')
    turn = talk.say(script(*calls, "then", "say Thank you.")).json["turn_id"]
    page = open_page(f"/turns/{turn}/")
    refund, close = page.locator("[data-step][data-type=tool_execution]").all()
    refund.get_by_label("Approve").check()
    refund.get_by_label("order").fill("8")
    close.get_by_label("Refuse").check()
    close.get_by_label("Reason").fill("It is open.")
    page.get_by_role("button", name="Send").locator("visible=true").first.click()

    is_over(page)
    told = [json.loads(one["content"]) for step in talk.turn(turn)["steps"] for one in step.get("tool_responses", ())]
    assert {"approved": True, "arguments": {"order": "8"}} in told
    assert {"approved": False, "reason": "It is open."} in told


def test_a_call_is_approved_in_the_inbox_while_others_watch(open_page: Open, caller: Caller) -> None:
    talk = Talk(caller, client_tools=[tool("approve_refund", "order")])
    turn, other = (talk.aside().say(script('call approve_refund {"order": "7"}')).json["turn_id"] for _ in range(2))
    path = f"/inbox/?agent={talk.agent}"
    watching, page = open_page(path), open_page(path)
    expect(watching.locator("[data-waits]")).to_have_count(2)
    badge = watching.locator(".rail-count")
    before = int(badge.inner_text())
    watching.locator(f"[data-waits='{other}']").get_by_label("Refuse").check()
    watching.locator(f"[data-waits='{other}']").get_by_label("Reason").fill("Half a rea")
    page.locator(f"[data-waits='{turn}']").get_by_role("button", name="Approve").click()

    for each in (watching, page):
        expect(each.locator("[data-waits]")).to_have_count(1)
    expect(badge).to_have_text(str(before - 1))
    assert page.url.endswith(path)
    assert watching.get_by_label("Reason").input_value() == "Half a rea"
    third = talk.aside().say(script('call approve_refund {"order": "9"}')).json["turn_id"]
    expect(watching.locator(f"[data-waits='{third}']")).to_contain_text("approve_refund")
    expect(badge).to_have_text(str(before))


def test_a_running_turn_is_cancelled_on_its_page(open_page: Open, caller: Caller, held: HeldModel) -> None:
    question, talk = held.hold(), Talk(caller, model="held/held")
    turn = talk.begin(question.question)
    page = open_page(f"/turns/{turn}/")
    question.say("Half a sent")
    expect(page.locator("[data-step]").last).to_contain_text("Half a sent")
    page.get_by_role("button", name="Cancel").click()

    is_over(page, "cancelled")
    expect(page.locator("[data-step]").last).to_contain_text("Half a sent")
    assert talk.turn(turn)["status"] == "cancelled"


def asking(caller: Caller, mcp: McpProcess, *lines: str) -> str:
    """A response that waits for its client's word on a call; its id."""
    server = {"type": "mcp", "server_label": "lab", "server_url": mcp.url, "require_approval": "always"}
    call = 'call get_boiling_point {"liquid_name": "polyjuice"}'
    body = {"model": "scripted/demo", "input": script(call, "then", *lines), "tools": [server]}
    answer = caller.post("/v1/responses", body)
    assert answer.status == 200, answer.body
    return str(answer.json["id"])


@pytest.mark.parametrize(("decision", "found"), [("Approve", "-100"), ("Refuse", "Too hot")])
def test_a_call_is_approved_on_its_page_while_others_watch(
    open_page: Open, caller: Caller, mcp: McpProcess, decision: str, found: str
) -> None:
    response = asking(caller, mcp, "repeat 20 word", "say That was it.")
    watching, page = (open_page(f"/responses/{response}/") for _ in range(2))
    expect(watching.locator("[data-live-state]")).to_be_visible()
    card = page.locator("[data-step][data-outcome=awaiting_input]")
    expect(card).to_contain_text("it would run on lab")
    card.get_by_label(decision).check()
    if decision == "Refuse":
        card.get_by_role("textbox").fill("Too hot")
    card.get_by_role("button", name=decision).click()
    for each in (watching, page):
        is_over(each)
        expect(each.locator("[data-steps]")).to_contain_text("That was it.")
        expect(each.locator("[data-steps]")).to_contain_text(found)
        expect(each.locator("#response-2")).to_be_visible()
        expect(each.locator("[data-steps]")).to_contain_text(f"{decision.lower().rstrip('e')}ed by local, ")
        expect(each.locator(".legs .leg")).to_have_count(2)
    stored = open_page(f"/responses/{response}/")
    assert shown(watching) == shown(page) == shown(stored)
    order = "[...document.querySelectorAll('[data-step]')].map((each) => each.dataset.number)"
    assert watching.evaluate(order) == stored.evaluate(order)


def test_more_is_said_behind_a_response_on_its_page(open_page: Open, caller: Caller) -> None:
    answer = caller.post("/v1/responses", {"model": "scripted/demo", "input": script("say Hello.")})
    page = open_page(f"/responses/{answer.json['id']}/")
    page.get_by_label("Continue the conversation").fill(script("say And more."))
    page.get_by_role("button", name="Send").click()
    is_over(page)
    expect(page.locator("[data-steps]")).to_contain_text("And more.")
    expect(page.locator(".legs")).to_contain_text(answer.json["id"])


@pytest.mark.parametrize("path", ["/responses/", "/sessions/", "/steps/"])
def test_every_list_is_live(open_page: Open, caller: Caller, held: HeldModel, path: str) -> None:
    question, mark = held.hold(), f"mark{len(path)}{id(held)}"
    page = open_page(f"{path}?q=turn(meta.mark:{mark})")
    rows = page.locator("main table tbody tr")
    expect(page.locator("[data-live][data-state=live]")).to_be_visible()
    assert rows.count() == 0
    body = {"model": "held/held", "input": question.question, "metadata": {"mark": mark}, "background": True}
    response = caller.post("/v1/responses", body).json["id"]
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("in progress")
    if path == "/responses/":
        expect(rows).to_contain_text(response)
    question.end("It is done.")
    expect(rows).to_contain_text("completed")
    expect(rows).to_contain_text("It is done.")
    expect(rows).to_have_count(1)


def test_a_filtered_list_shows_a_new_turn_once_and_live(open_page: Open, caller: Caller, held: HeldModel) -> None:
    talk, question = Talk(caller, model="held/held"), held.hold()
    page = open_page(f"/logs/?q=agent:{talk.agent}")
    rows = page.locator("main table tbody tr")
    expect(page.locator("[data-live][data-state=live]")).to_be_visible()
    assert rows.count() == 0
    Talk(caller).say("Not of this list")
    talk.begin(question.question)
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("in progress")
    question.end("It is done.")
    expect(rows).to_contain_text("completed")
    expect(rows).to_contain_text("It is done.")
    expect(rows).to_have_count(1)
    caller.delete(talk.path)
    expect(rows).to_have_count(0)


def test_a_list_names_the_turns_it_shows(open_page: Open, caller: Caller) -> None:
    """So that it is told which of them are gone since, whoever looks."""
    talk = Talk(caller)
    turn = talk.say("Hello").json["turn_id"]
    page, sent = open_page(f"/logs/?q=agent:{talk.agent}"), []
    page.on("websocket", lambda opened: opened.on("framesent", lambda frame: sent.append(json.loads(frame))))
    page.reload()
    expect(page.locator("[data-live][data-state=live]")).to_be_visible()
    talk.aside().say("Hello again")
    expect(page.locator("main table tbody tr")).to_have_count(2)  # what it sent before has been heard, too
    assert [frame["shown"] for frame in sent if frame.get("topic") == "logs"][-1:] == [[turn]]


def test_a_session_page_grows_with_its_turns(open_page: Open, caller: Caller, held: HeldModel) -> None:
    talk, question = Talk(caller, model="held/held"), held.hold()
    page = open_page(f"/sessions/{talk.session}/")
    talk.begin(question.question)
    expect(page.get_by_role("main")).to_contain_text(question.question)
    question.end("Here it is.")
    expect(page.get_by_role("main")).to_contain_text("Here it is.")


def test_a_page_finds_back_to_a_server_that_was_away(
    open_page: Open, demo: ServerProcess, complaints: list[str]
) -> None:
    talk = Talk(Caller(demo.port))
    page = open_page(f"/logs/?q=agent:{talk.agent}")
    live = page.locator("[data-live][data-state=live]")
    expect(live).to_be_visible()
    demo.stop()
    expect(page.locator("[data-live][data-state=reconnecting]")).to_be_visible()
    demo.start(demo.port)
    talk.say("While nobody listened")
    expect(live).to_be_visible()
    expect(page.locator("main table tbody tr")).to_contain_text("While nobody listened")

    refused = "ERR_CONNECTION_REFUSED"
    assert complaints
    assert all(refused in each for each in complaints)
    complaints.clear()


def test_a_row_shows_what_is_typed_and_is_cancelled_in_place(open_page: Open, caller: Caller, held: HeldModel) -> None:
    talk, question = Talk(caller, model="held/held"), held.hold()
    page = open_page(f"/logs/?q=agent:{talk.agent}")
    row = page.locator("main table tbody tr")
    expect(page.locator("[data-live][data-state=live]")).to_be_visible()
    talk.begin(question.question)
    question.say("One ")
    expect(row.locator("[data-typed]")).to_contain_text("One")
    question.say("two <b>three</b>")
    expect(row.locator("[data-typed]")).to_have_text("One two <b>three</b>")
    other = open_page(f"/logs/?q=agent:{talk.agent}")  # who comes later sees it from the beginning, too
    expect(other.locator("[data-typed]")).to_have_text("One two <b>three</b>")
    page.get_by_role("button", name="Cancel this turn").click()
    for each in (page, other):
        expect(each.locator("main table tbody tr")).to_contain_text("cancelled")
        expect(each.get_by_role("button", name="Cancel this turn")).to_have_count(0)
    assert page.url.endswith(talk.agent)


def test_a_turn_is_cancelled_where_its_agent_is_tried(open_page: Open, caller: Caller, held: HeldModel) -> None:
    talk, question = Talk(caller, model="held/held"), held.hold()
    page = open_page(f"/agents/{talk.agent}/")
    trying = page.get_by_role("region", name="Try it")
    trying.get_by_role("textbox").fill(question.question)
    trying.get_by_role("button", name="Send").click()
    question.say("One ")
    expect(trying.locator("[data-step]").last).to_contain_text("One")
    trying.get_by_role("button", name="Cancel").click()
    expect(trying.get_by_role("button", name="Send")).to_be_enabled()
    expect(trying.get_by_role("button", name="Cancel")).to_be_hidden()
    rows = caller.get(f"/v1/logs/turns?q=agent:{talk.agent}").json["data"]
    assert [row["status"] for row in rows] == ["cancelled"]

"""The pages of what came by OpenAI's APIs: a turn of several responses, acting on it, the lists, and a
conversation."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from django.test import Client

from agents.base import ids
from agents.base.access import Actor
from agents.base.store import keys
from agents.logs.store import listing
from agents.logs.store import rows as store_rows
from agents.loop.protocols.tools import HostedTool
from agents.pages import turn_actions
from agents.query.parser import parse
from agents.record.store import turns
from agents.responses.runner.input import row_of
from agents.responses.schemas.input_items import items_of_input
from agents.responses.store import conversations, responses
from agents.server.socket import fragments, lists
from tests.loop.test_loop import tool
from tests.support.builders import make_agent, make_response, make_session, make_turn
from tests.support.pages.markup import elements, unsafe, words
from tests.support.pages.openai_requests import LOOKUP, respond
from tests.support.pages.turn_page import cards, get

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("inline_turns")]


@pytest.fixture
def me(db: None) -> Actor:
    return keys.local()


def page_of(client: Client, turn: str, query: str = "") -> str:
    page = get(client, f"/turns/{turn}/", query)
    assert unsafe(page) == []
    return page


def waiting(me: Actor, **more: Any) -> tuple[str, str, str]:
    """A response that waits for its client: its id, its turn's, and the call's."""
    response, turn = respond(
        me, 'call lookup_order {"order": 7}', "then", "say It is on its way.", tools=[LOOKUP], **more
    )
    [pending] = turns.pending_calls(turns.key_of(turn))
    return response, turn, json.loads(pending.call)["call_id"]


def output(call_id: str, words: str = "sent") -> dict[str, str]:
    return {"type": "function_call_output", "call_id": call_id, "output": words}


def status_of(turn: str) -> str:
    found = turns.state(turns.key_of(turn))
    assert found is not None
    return found[0].label


# ------------------------------------------------------------------------------------------- the turn


def test_it_tells_what_a_response_was_asked_with(client: Client, me: Actor) -> None:
    first, _ = respond(me, "say One.")
    response, turn = respond(
        me,
        "say Two.",
        previous_response_id=first,
        instructions="Be brief & <kind>.",
        metadata={"team": "red"},
        tools=[LOOKUP],
        temperature=0.5,
        max_output_tokens=99,
    )
    page = page_of(client, turn)
    read = words(page)
    for part in (response, "Be brief & <kind>.", "team red", "lookup_order function of the client", "temperature 0.5"):
        assert part in read, part
    assert "max_output_tokens 99" in read
    assert "top_p" not in read, "what is as usual is not told"
    assert f"/responses/{first}/" in [link.get("href") for link in elements(page, "a")]


def test_it_names_who_said_what_was_handed_in(client: Client, me: Actor) -> None:
    call = {"type": "function_call", "call_id": "c1", "name": "lookup_order", "arguments": '{"order": 1}'}
    given = [
        {"role": "system", "content": "You are calm."},
        {"role": "developer", "content": "Use one line."},
        {"role": "user", "content": "Where is it?"},
        call,
        output("c1", "On its way."),
        {"role": "assistant", "content": "It is on its way."},
        {"role": "user", "content": "Thanks!"},
    ]
    _, turn = respond(me, given=given)
    page = page_of(client, turn)
    asked = [each["data-role"] for each in elements(page, "article") if "data-role" in each]
    assert asked == ["system", "developer", "user", "assistant", "tool", "assistant", "user"]
    read = words(page)
    order = [read.index(part) for part in ("developer Use one line.", "assistant lookup_order", "tool On its way.")]
    assert order == sorted(order)


def test_a_turn_of_two_responses_shows_where_the_second_begins(client: Client, me: Actor) -> None:
    first, turn, call = waiting(me)
    second, same = respond(
        me, given=[output(call), {"role": "user", "content": "And hurry."}], previous_response_id=first
    )
    assert same == turn
    page = page_of(client, turn)
    order = [each["data-step"] for each in elements(page) if "data-step" in each]
    assert order[2] == "leg-2"
    assert [each["data-type"] for each in cards(page)] == ["inference", "tool_execution", "inference"]
    read = words(page)
    assert read.index("answered by local") < read.index(f"Response 2 {second}") < read.index("And hurry.")
    assert client.get(f"/turns/{turn}/value/?part=input-2-0").content == b"And hurry."
    assert f"/turns/{turn}/#response-2" == client.get(f"/responses/{second}/").headers["Location"]
    assert f"/turns/{turn}/" == client.get(f"/responses/{first}/").headers["Location"]


def test_the_second_response_comes_live_where_the_stored_page_has_it(client: Client, me: Actor) -> None:
    first, turn, call = waiting(me)
    respond(me, given=[output(call)], previous_response_id=first)
    events = fragments.turn_events(me, turns.key_of(turn), [{"type": "turn.resumed"}])
    [leg, resumed] = events
    assert (leg["type"], leg["step"], resumed["type"]) == ("step.leg", "leg-2", "turn.resumed")
    assert leg["html"] in page_of(client, turn)
    assert str(leg["number"]) in leg["html"]


def test_it_says_why_a_response_is_incomplete(client: Client, me: Actor) -> None:
    _, turn = respond(me, "repeat 100 word", max_output_tokens=16)
    assert "incomplete token limit reached" in words(page_of(client, turn))
    assert "incomplete" in words(get(client, "/responses/"))
    assert "incomplete" not in words(get(client, "/logs/"))


def test_what_an_mcp_server_does_is_told_with_its_label(client: Client, me: Actor) -> None:
    server_tools = {name: HostedTool(made, "mcp", "lab") for name, made in tool().items()}
    made = make_response(me, 'call lookup {"a": 1}\nthen\nsay ok', server_tools=server_tools)
    assert "ran on lab" in words(page_of(client, ids.public(ids.Kind.TURN, made.turn)))


def test_a_call_to_be_approved_can_be_approved_or_refused_and_nothing_else(client: Client, me: Actor) -> None:
    server_tools = {name: HostedTool(made, "mcp", "lab", needs_approval=True) for name, made in tool().items()}
    made = make_response(me, 'call lookup {"a": 1}\nthen\nsay ok', server_tools=server_tools)
    page = page_of(client, ids.public(ids.Kind.TURN, made.turn))
    assert "waits for approval: it would run on lab" in words(page)
    choices = [each for each in elements(page, "input") if each.get("name", "").startswith("decision:")]
    assert [each["value"] for each in choices] == ["approve", "refuse"]
    assert not any("checked" in each for each in choices)
    fields = [each["name"].split(":")[0] for each in elements(page, "textarea") if each.get("form") == "answer"]
    assert fields == ["reason"]


def test_raw_shows_the_response_and_its_stream_once_more(client: Client, me: Actor) -> None:
    response, turn = respond(me, "say <b>Hello</b> you.")
    page = page_of(client, turn, "?view=raw")
    read = words(page)
    assert f"GET /v1/responses/{response}?stream=true" in read
    for name in ("response.created", "response.output_text.delta", "response.completed"):
        assert name in read
    whole = json.loads(client.get(f"/responses/{response}/response.json").content)
    assert (whole["id"], whole["status"], whole["object"]) == (response, "completed", "response")
    stream = client.get(f"/responses/{response}/stream.txt")
    assert stream.headers["Content-Type"].startswith("text/plain")
    assert "sandbox" in stream.headers["Content-Security-Policy"]
    frames = [json.loads(each.partition(b"data: ")[2]) for each in stream.content.split(b"\n\n") if each]
    assert [each["sequence_number"] for each in frames] == list(range(len(frames)))
    assert frames[-1]["response"] == whole
    forged = response[:-1] + ("0" if response[-1] != "0" else "1")
    assert client.get(f"/responses/{forged}/stream.txt").status_code == 404


# ------------------------------------------------------------------------------------------- acting


def test_a_function_call_is_answered_on_the_page(client: Client, me: Actor) -> None:
    first, turn, call = waiting(me, instructions="Be kind.", metadata={"team": "red"})
    page = page_of(client, turn)
    names = [each["name"] for each in elements(page) if each.get("form") == "answer" and "name" in each]
    assert f"argument:{call}:order" in names
    assert "The order's number" in words(page)
    answered = client.post(f"/turns/{turn}/answer/", {f"decision:{call}": "answer", f"call:{call}": "sent"})
    assert (answered.status_code, answered.headers["Location"]) == (302, f"/turns/{turn}/")
    assert status_of(turn) == "completed"
    [_, second] = responses.of_turn(me, turns.key_of(turn))
    settings = json.loads(second.settings)
    assert (settings["previous_response_id"], settings["instructions"]) == (first, "Be kind.")
    assert (settings["metadata"], settings["tools"][0]["name"]) == ({"team": "red"}, "lookup_order")
    read = words(page_of(client, turn))
    assert "It is on its way." in read
    assert "sent" in read


def test_a_turn_is_answered_once(client: Client, me: Actor) -> None:
    _, turn, call = waiting(me)
    form = {f"decision:{call}": "answer", f"call:{call}": "sent"}
    assert client.post(f"/turns/{turn}/answer/", form).status_code == 302
    assert client.post(f"/turns/{turn}/answer/", form).status_code == 400
    assert len(responses.of_turn(me, turns.key_of(turn))) == 2


def test_a_turn_of_a_conversation_goes_on_in_it(client: Client, me: Actor) -> None:
    conversation = ids.openai(ids.Kind.SESSION, conversations.create(me, [], {}))
    _, turn, call = waiting(me, conversation=conversation)
    client.post(f"/turns/{turn}/answer/", {f"decision:{call}": "refuse", f"reason:{call}": "no"})
    assert status_of(turn) == "completed"
    [_, second] = responses.of_turn(me, turns.key_of(turn))
    assert json.loads(second.settings)["conversation"] == {"id": conversation}
    said = client.post(f"/turns/{turn}/say/", {"text": "And then?"})
    [third] = responses.of_turn(me, turns.key_of(said.headers["Location"].split("/")[2]))
    assert json.loads(third.settings)["conversation"] == {"id": conversation}


def test_to_say_more_repeats_model_tools_and_instructions(client: Client, me: Actor) -> None:
    first, turn = respond(me, "say One.", instructions="Be kind.", tools=[LOOKUP])
    page = page_of(client, turn)
    say = next(each for each in elements(page, "form") if each.get("action") == f"/turns/{turn}/say/")
    assert "hidden" not in say
    said = client.post(say["action"], {"text": "And two?"})
    [second] = responses.of_turn(me, turns.key_of(said.headers["Location"].split("/")[2]))
    settings = json.loads(second.settings)
    assert (settings["model"], settings["instructions"]) == ("scripted/fast", "Be kind.")
    assert (settings["previous_response_id"], len(settings["tools"])) == (first, 1)
    assert client.post(say["action"], {"text": " "}).status_code == 400


def test_to_go_on_from_an_earlier_response_makes_a_branch(client: Client, me: Actor) -> None:
    first, turn = respond(me, "say One.")
    respond(me, "say Two.", previous_response_id=first)
    turn_actions.continue_turn(me, turns.key_of(turn), "Other two?")
    session = ids.public(ids.Kind.SESSION, turns.target(me, turns.key_of(turn)).session)
    page = get(client, f"/sessions/{session}/")
    assert unsafe(page) == []
    branches = [each for each in elements(page, "section") if "data-branch" in each]
    assert len(branches) == 1
    assert words(page).index("Two.") < words(page).index("A branch") < words(page).index("Other two?")
    assert f'<a href="/turns/{turn}/">an earlier one</a>' in page


def test_a_turn_whose_last_response_was_deleted_says_so(client: Client, me: Actor) -> None:
    call = 'call lookup_order {"order": 7}'
    first, turn = respond(me, call, "then", call, "then", "say Done.", tools=[LOOKUP])
    [pending] = turns.pending_calls(turns.key_of(turn))
    given = [output(json.loads(pending.call)["call_id"])]
    second, _ = respond(me, given=given, previous_response_id=first, tools=[LOOKUP])
    assert status_of(turn) == "awaiting_input"
    responses.delete(me, second)
    page = page_of(client, turn)
    assert second not in page
    answered = client.post(f"/turns/{turn}/answer/", {})
    assert answered.status_code == 400
    assert "its last response was deleted" in words(answered.content.decode())


# -------------------------------------------------------------------------------------------- lists


def rows(page: str) -> list[str]:
    return re.findall(r'<tr class="log-row".*?</tr>', page, re.DOTALL)


def test_the_list_of_responses_has_only_these_with_their_ids(client: Client, me: Actor) -> None:
    make_turn(me)
    first, turn, call = waiting(me)
    second, _ = respond(me, given=[output(call)], previous_response_id=first)
    page = get(client, "/responses/")
    assert unsafe(page) == []
    newer, older = rows(page)
    assert second in newer
    assert "request 2 of its turn" in newer
    assert f"/responses/{first}/" in older
    assert client.get(f"/responses/{first}/").headers["Location"] == f"/turns/{turn}/"
    assert 'data-level="responses"' in page


@pytest.mark.parametrize(
    ("query", "count"),
    [("meta.team:red", 1), ("One", 1), ("status:awaiting_input", 1), ("model:scripted/fast", 3), ("api:agents", 0)],
)
def test_responses_are_filtered_by_the_query_of_the_logs(client: Client, me: Actor, query: str, count: int) -> None:
    make_turn(me, "say One.")
    respond(me, "say One.", metadata={"team": "red"})
    respond(me, "say Two.", metadata={"team": "blue"})
    waiting(me)
    page = get(client, "/responses/", f"?q={query}")
    assert len(rows(page)) == count
    tabs = [
        link["href"] for link in elements(page, "a") if link.get("href", "").startswith(("/logs/?q", "/sessions/?q"))
    ]
    assert len(tabs) >= 2, "the other lists under the same query"


def test_responses_are_paged_both_ways(client: Client, me: Actor) -> None:
    made = [respond(me, f"say {number}.")[0] for number in range(55)]
    newest = get(client, "/responses/")
    older = next(link["href"] for link in elements(newest, "a") if "data-older" in link)
    second = get(client, older)
    found = re.findall(r"<code[^>]*>(resp_[0-9a-f]{32})", "".join([*rows(newest), *rows(second)]))
    assert found == made[::-1]
    newer = next(link["href"] for link in elements(second, "a") if "data-newer" in link)
    assert client.get(newer).headers["Location"] == "/responses/"


def test_a_query_that_cannot_be_read_says_so_in_its_own_list(client: Client) -> None:
    for path in ("/responses/", "/sessions/", "/steps/"):
        answer = client.get(path, {"q": "status:"})
        assert answer.status_code == 400
        assert f'action="{path}"' in answer.content.decode()


@pytest.mark.parametrize("path", ["/responses/", "/sessions/"])
def test_an_empty_list_teaches(client: Client, path: str) -> None:
    page = get(client, path)
    assert "client.responses.create(" in words(page)
    assert unsafe(page) == []


def test_a_row_that_arrives_is_the_row_of_the_page(client: Client, me: Actor) -> None:
    response, _ = respond(me, "say Hello.")
    query = parse("", now_us=ids.now_us(), level="response")
    found = store_rows.of("response", listing.page(me, query).keys)
    [told] = lists.formatted(found, lists.ListFormat("responses", html=True), query)
    assert rows(get(client, "/responses/")) == rows(told["html"])
    assert response in told["html"]


@pytest.mark.parametrize("path", ["/logs/", "/responses/", "/sessions/", "/steps/"])
def test_a_query_that_is_an_id_leads_to_what_it_names(client: Client, me: Actor, path: str) -> None:
    response, turn = respond(me, "say Hello.")
    led = client.get(path, {"q": f" {response} "}, follow=True)
    assert led.redirect_chain[-1] == (f"/turns/{turn}/", 302)
    conversation = ids.openai(ids.Kind.SESSION, turns.target(me, turns.key_of(turn)).session)
    assert "/sessions/" in client.get(path, {"q": conversation}, follow=True).redirect_chain[-1][0]


def test_conversations_are_listed_with_their_last_words(client: Client, me: Actor) -> None:
    agent = make_agent(me, name="support")
    make_turn(me, "say Of an agent.", agent=agent, session=make_session(me, agent, "refund-8836"))
    made = conversations.create(me, [row_of(*items_of_input("My kettle leaks."))], {"topic": "kettles"})
    conversation = ids.openai(ids.Kind.SESSION, made)
    page = get(client, "/sessions/")
    assert unsafe(page) == []
    [empty, agents_own] = rows(page)
    assert conversation in empty
    assert "1 item, no turns yet" in empty
    assert "topic: kettles" in empty
    assert "refund-8836" in agents_own
    assert "Of an agent." in agents_own
    where = client.get(f"/conversations/{conversation}/").headers["Location"]
    assert where == f"/sessions/{ids.public(ids.Kind.SESSION, made)}/"


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ("meta.topic:kettles", 1),
        ("meta.topic:pans", 0),
        ("status:completed", 2),
        ("api:responses", 1),
        ("agent:support", 1),
        ("Hello", 1),
        ('status:completed "of an agent"', 1),
        ("status:failed", 0),
    ],
)
def test_conversations_are_those_with_a_turn_that_fits(client: Client, me: Actor, query: str, count: int) -> None:
    agent = make_agent(me, name="support")
    make_turn(me, "say Of an agent.", agent=agent)
    conversation = ids.openai(ids.Kind.SESSION, conversations.create(me, [], {"topic": "kettles"}))
    respond(me, "say Hello.", conversation=conversation)
    assert len(rows(get(client, "/sessions/", f"?q={query}"))) == count


def test_one_conversation_is_found_by_its_id(client: Client, me: Actor) -> None:
    conversation = ids.openai(ids.Kind.SESSION, conversations.create(me, [], {}))
    conversations.create(me, [], {})
    [row] = rows(get(client, "/sessions/", f"?q=session:{conversation}"))
    assert conversation in row


def test_conversations_are_paged_both_ways(client: Client, me: Actor) -> None:
    made = [ids.openai(ids.Kind.SESSION, conversations.create(me, [], {})) for _ in range(55)]
    newest = get(client, "/sessions/")
    older = next(link["href"] for link in elements(newest, "a") if "data-older" in link)
    second = get(client, older)
    assert re.findall(r"conv_[0-9a-f]{32}", "".join([*rows(newest), *rows(second)])) == made[::-1]
    newer = next(link["href"] for link in elements(second, "a") if "data-newer" in link)
    assert client.get(newer).headers["Location"] == "/sessions/"


# ------------------------------------------------------------------------------------- a conversation


def test_a_conversation_shows_what_was_put_in_where_it_was(client: Client, me: Actor) -> None:
    first = [row_of(*items_of_input("My kettle leaks."))]
    key = conversations.create(me, first, {"topic": "kettles"})
    name = ids.openai(ids.Kind.SESSION, key)
    respond(me, "say I can help.", conversation=name)
    person = row_of(*items_of_input("A <person> took over."))
    conversations.add(conversations.of_key(me, key), [person])
    respond(me, "say Gladly.", conversation=name)
    page = get(client, f"/sessions/{ids.public(ids.Kind.SESSION, key)}/")
    assert unsafe(page) == []
    read = words(page)
    order = [read.index(part) for part in ("My kettle leaks.", "I can help.", "A <person> took over.", "Gladly.")]
    assert order == sorted(order)
    assert "topic kettles" in read
    assert name in read
    [link] = [each["href"] for each in elements(page, "a") if each.get("href", "").endswith(".json")][1:]
    item = client.get(link)
    assert json.loads(item.content)["content"] == [{"type": "input_text", "text": "A <person> took over."}]


def test_a_conversation_without_a_turn_says_what_is_missing(client: Client, me: Actor) -> None:
    key = conversations.create(me, [], {})
    path = f"/sessions/{ids.public(ids.Kind.SESSION, key)}/"
    assert "No model has been used here yet" in words(get(client, path))
    assert client.post(f"{path}say/", {"text": "Hello?"}).status_code == 400

"""OpenAI's Conversations API with OpenAI's client: conversations, their items, and responses in them."""

from __future__ import annotations

import asyncio
import json
import uuid
from typing import Any

import openai
import pytest
from openai import AsyncOpenAI, OpenAI

from tests.loop.live.test_races import at_once
from tests.support.live.caller import Caller, script
from tests.support.live.held_model import Held, HeldModel
from tests.support.live.openai_api import MODEL, asked, created, function, output_to, said, streamed, text, turns
from tests.support.live.process import ServerProcess, eventually

pytestmark = pytest.mark.server

LOOK: Any = function("look", "at")


@pytest.fixture
def client(openai_client: OpenAI) -> OpenAI:
    return openai_client


@pytest.fixture
def mark() -> str:
    return f"mark{uuid.uuid4().hex}"


def items_of(client: OpenAI, conversation: str) -> list[Any]:
    """All items, in order."""
    return list(client.conversations.items.list(conversation, order="asc"))


def words(items: list[Any]) -> list[str]:
    """What the messages among items say."""
    return [part.text for item in items if item.type == "message" for part in item.content]


def test_a_response_that_failed_leaves_nothing_in_it(client: OpenAI, held: HeldModel) -> None:
    talk = client.conversations.create().id
    client.responses.create(model=MODEL, input=script("say One."), conversation=talk)
    with pytest.raises(openai.InternalServerError):
        client.responses.create(model=MODEL, input=script("say Half", "fail 500 on fire"), conversation=talk)

    assert len(items_of(client, talk)) == 2
    assert [message["role"] for message in told(client, held, talk)] == ["user", "assistant"]


def held_answer(held: HeldModel, *answer: str) -> Held:
    """A question whose answer is known already."""
    made = held.hold()
    made.end(*(answer or ("Well.",)))
    return made


def told(client: OpenAI, held: HeldModel, conversation: str) -> list[dict[str, Any]]:
    """What a model is told of a conversation, without the question that finds it out."""
    answer = held_answer(held)
    client.responses.create(model="held/held", input=answer.question, conversation=conversation)
    messages = answer.asked[0]
    assert_valid(messages)
    return messages[:-1]


def assert_valid(messages: list[dict[str, Any]]) -> None:
    """Endpoints refuse a chat in which a call has no answer behind it, or an answer no call before it."""
    open_calls: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            assert message["tool_call_id"] in open_calls, messages
            open_calls.remove(message["tool_call_id"])
            continue
        assert not open_calls, messages
        open_calls = [call["id"] for call in message.get("tool_calls") or ()]
        assert message.get("content") or open_calls, messages
    assert not open_calls, messages


# -------------------------------------------------------------------------------------- conversations


def test_a_conversation_is_made_changed_and_deleted(client: OpenAI) -> None:
    made = client.conversations.create(metadata={"name": "talk", "team": "red"})
    assert made.id.startswith("conv_")
    assert (made.object, made.metadata) == ("conversation", {"name": "talk", "team": "red"})
    assert made.created_at > 1_700_000_000
    assert client.conversations.retrieve(made.id) == made
    changed = client.conversations.update(made.id, metadata={"team": "green"})
    assert (changed.id, changed.metadata, changed.created_at) == (made.id, {"team": "green"}, made.created_at)
    gone = client.conversations.delete(made.id)
    assert (gone.id, gone.object, gone.deleted) == (made.id, "conversation.deleted", True)
    for call in (client.conversations.retrieve, client.conversations.delete, client.conversations.items.list):
        with pytest.raises(openai.NotFoundError, match=f"Conversation '{made.id}' not found"):
            call(made.id)


def test_the_async_client_does_the_same(server: ServerProcess) -> None:
    async def run() -> None:
        async with AsyncOpenAI(base_url=f"{server.base}/v1", api_key="none", max_retries=0) as client:
            given: Any = [said("One.")]
            made = await client.conversations.create(items=given)
            await client.conversations.items.create(made.id, items=[said("Two.")])  # type: ignore[list-item]  # plain dicts
            await client.responses.create(model=MODEL, input=script("say Three."), conversation=made.id)
            items = [item async for item in client.conversations.items.list(made.id, limit=1, order="asc")]
            assert [item.type for item in items] == ["message"] * 4
            one: Any = await client.conversations.items.retrieve(items[0].id or "", conversation_id=made.id)
            assert one.content[0].text == "One."
            await client.conversations.items.delete(items[0].id or "", conversation_id=made.id)
            await client.conversations.update(made.id, metadata={"a": "b"})
            await client.conversations.delete(made.id)

    asyncio.run(run())


def test_conversations_are_listed(caller: Caller, client: OpenAI) -> None:
    made = [client.conversations.create(metadata={"number": str(number)}).id for number in range(5)]
    page = caller.get("/v1/conversations?limit=3").json
    assert [row["id"] for row in page["data"]] == made[:1:-1]
    assert (page["object"], page["has_more"], page["first_id"], page["last_id"]) == ("list", True, made[4], made[2])
    older = caller.get(f"/v1/conversations?limit=2&after={made[2]}").json
    assert [row["id"] for row in older["data"]] == [made[1], made[0]]
    newer = caller.get(f"/v1/conversations?limit=2&before={made[1]}").json
    assert [row["id"] for row in newer["data"]] == [made[3], made[2]]
    assert newer["has_more"]
    ahead = caller.get(f"/v1/conversations?limit=2&order=asc&after={made[2]}").json
    assert ([row["id"] for row in ahead["data"]], ahead["has_more"]) == ([made[3], made[4]], False)
    assert older["data"][0]["metadata"] == {"number": "1"}


# ---------------------------------------------------------------------------------------------- items

GIVEN: list[Any] = [
    {"role": "system", "content": "Be brief."},
    {"type": "message", "role": "user", "content": "Look at it."},
    {"type": "function_call", "call_id": "c1", "name": "look", "arguments": '{"at":"it"}'},
    {"type": "function_call_output", "call_id": "c1", "output": "a cat"},
    {"role": "assistant", "content": [{"type": "output_text", "text": "It is a cat.", "annotations": []}]},
]
TYPES = ["message", "message", "function_call", "function_call_output", "message"]


def test_items_begin_a_conversation(client: OpenAI, held: HeldModel) -> None:
    made = client.conversations.create(items=GIVEN)
    items = items_of(client, made.id)
    assert [item.type for item in items] == TYPES
    assert words(items) == ["Be brief.", "Look at it.", "It is a cat."]
    assert [part.type for item in items if item.type == "message" for part in item.content] == [
        "input_text",
        "input_text",
        "output_text",
    ]
    assert {item.status for item in items} == {"completed"}
    assert len({item.id for item in items}) == 5
    for item in items:
        assert client.conversations.items.retrieve(item.id, conversation_id=made.id) == item
    roles = [message["role"] for message in told(client, held, made.id)]
    assert roles == ["system", "user", "assistant", "tool", "assistant"]


def test_items_are_added_in_the_order_given(client: OpenAI) -> None:
    made = client.conversations.create(items=[said("zero")])  # type: ignore[list-item]  # plain dicts will do
    added = client.conversations.items.create(made.id, items=[said("one"), said("two")])  # type: ignore[list-item]  # plain dicts
    assert words(list(added.data)) == ["one", "two"]
    assert (added.first_id, added.last_id, added.has_more) == (added.data[0].id, added.data[1].id, False)
    assert words(items_of(client, made.id)) == ["zero", "one", "two"]


def test_items_are_paged_by_the_client(client: OpenAI) -> None:
    made = client.conversations.create()
    for start in range(0, 45, 15):
        given: Any = [said(str(number)) for number in range(start, start + 15)]
        client.conversations.items.create(made.id, items=given)
    expected = [str(number) for number in range(45)]
    for limit in (1, 7, 44, 45, 100):
        assert words(list(client.conversations.items.list(made.id, limit=limit, order="asc"))) == expected
    assert words(list(client.conversations.items.list(made.id, limit=10))) == expected[::-1]
    assert len(client.conversations.items.list(made.id).data) == 20


def test_odd_values_of_a_page_are_as_if_not_given(caller: Caller, client: OpenAI) -> None:
    """The older client must send all four, and writes what stands for nothing."""
    made = client.conversations.create(items=[said("one")])  # type: ignore[list-item]  # plain dicts will do
    query = "after=NOT_GIVEN&limit=&order=None&include=%3Cobject%20object%3E"
    page = caller.get(f"/v1/conversations/{made.id}/items?{query}")
    assert (page.status, len(page.json["data"])) == (200, 1)


def test_an_empty_conversation_has_an_empty_list(caller: Caller, client: OpenAI) -> None:
    made = client.conversations.create(items=[])
    page = caller.get(f"/v1/conversations/{made.id}/items").json
    assert page == {"object": "list", "data": [], "first_id": None, "last_id": None, "has_more": False}


def test_a_deleted_item_is_no_longer_told(client: OpenAI, held: HeldModel) -> None:
    made = client.conversations.create(items=GIVEN)
    items = items_of(client, made.id)
    gone: Any = client.conversations.items.delete(items[1].id, conversation_id=made.id)
    assert (gone.id, gone.object) == (made.id, "conversation")
    assert [item.id for item in items_of(client, made.id)] == [item.id for item in items if item is not items[1]]
    assert "Look at it." not in json.dumps(told(client, held, made.id))
    for again in range(2):
        call = (client.conversations.items.retrieve, client.conversations.items.delete)[again]
        with pytest.raises(openai.NotFoundError, match=f"Item '{items[1].id}' not found"):
            call(items[1].id, conversation_id=made.id)


def test_a_client_of_llama_stack_is_told_which_item_is_deleted(client: OpenAI) -> None:
    made = client.conversations.create(items=GIVEN)
    item = items_of(client, made.id)[1]
    header = {"X-LlamaStack-Client-Version": "0.3.5"}
    gone: Any = client.conversations.items.delete(item.id, conversation_id=made.id, extra_headers=header)
    assert gone.to_dict() == {"id": item.id, "object": "conversation.item.deleted", "deleted": True}


@pytest.mark.parametrize("place", range(len(GIVEN)))
def test_whatever_is_deleted_the_rest_is_a_valid_chat(client: OpenAI, held: HeldModel, place: int) -> None:
    made = client.conversations.create(items=GIVEN)
    item = items_of(client, made.id)[place]
    client.conversations.items.delete(item.id, conversation_id=made.id)
    told(client, held, made.id)


def test_halves_of_pairs_are_not_told(client: OpenAI, held: HeldModel) -> None:
    given: Any = [
        said("Look."),
        {"role": "assistant", "content": "I do."},
        {"type": "file_search_call", "id": "fs_1", "queries": ["cat"], "status": "completed", "results": []},
        {"type": "function_call_output", "call_id": "of nobody", "output": "a cat"},
        {"type": "function_call", "call_id": "for nobody", "name": "look", "arguments": "{}"},
        said("And?"),
    ]
    made = client.conversations.create(items=given).id
    assert [message["role"] for message in told(client, held, made)] == ["user", "assistant", "tool", "user"]


def test_a_call_put_in_by_hand_is_answered_by_a_response(client: OpenAI, held: HeldModel) -> None:
    call: Any = {"type": "function_call", "call_id": "c9", "name": "look", "arguments": "{}"}
    made = client.conversations.create(items=[said("Look."), call]).id  # type: ignore[list-item]  # plain dicts
    answer = held_answer(held)
    output: Any = [{"type": "function_call_output", "call_id": "c9", "output": "a cat"}, said(answer.question)]
    client.responses.create(model="held/held", input=output, conversation=made)
    assert_valid(answer.asked[0])
    assert [message["role"] for message in answer.asked[0]] == ["user", "assistant", "tool", "user"]


def test_what_is_put_between_a_call_and_its_answer_is_told_behind_them(client: OpenAI, held: HeldModel) -> None:
    made = client.conversations.create().id
    first = client.responses.create(
        model=MODEL, input=script('call look {"at": "it"}'), conversation=made, tools=[LOOK]
    )
    client.conversations.items.create(made, items=[said("By hand.")])  # type: ignore[list-item]  # plain dicts
    output: Any = [output_to(first.output[0], "a cat")]
    client.responses.create(model=MODEL, input=output, conversation=made, tools=[LOOK])
    assert [message["role"] for message in told(client, held, made)][:4] == ["user", "assistant", "tool", "user"]


def test_an_answer_put_in_by_hand_is_the_one_that_is_told(client: OpenAI, held: HeldModel) -> None:
    made = client.conversations.create().id
    first = client.responses.create(
        model=MODEL, input=script('call look {"at": "it"}'), conversation=made, tools=[LOOK]
    )
    client.conversations.items.create(made, items=[output_to(first.output[0], "a cat")])  # type: ignore[list-item]  # plain dicts
    answers = [message["content"] for message in told(client, held, made) if message["role"] == "tool"]
    assert answers == ["a cat"]


PLAYED = ["message", "reasoning", "message", "function_call", "function_call", *["function_call_output"] * 2, "message"]


def played(client: OpenAI) -> str:
    """A conversation in which everything was said and done by responses."""
    made = client.conversations.create().id
    lines = ["think Hm.", "say Let me look.", 'call look {"at": "left"}', 'call look {"at": "right"}', "then"]
    first = client.responses.create(model=MODEL, input=script(*lines, "say Seen."), conversation=made, tools=[LOOK])
    outputs: Any = [output_to(call, "a cat") for call in first.output if call.type == "function_call"]
    client.responses.create(model=MODEL, input=outputs, conversation=made, tools=[LOOK])
    return made


@pytest.mark.parametrize("place", range(len(PLAYED)))
def test_whatever_is_deleted_of_responses_the_rest_is_a_valid_chat(client: OpenAI, held: HeldModel, place: int) -> None:
    made = played(client)
    items = items_of(client, made)
    assert [item.type for item in items] == PLAYED
    client.conversations.items.delete(items[place].id, conversation_id=made)
    left = [item.id for item in items_of(client, made)]
    assert items[place].id not in left
    assert left == [item.id for item in items if item.id in left]
    assert len(left) >= len(items) - 3  # what makes no sense without it goes along
    told(client, held, made)


def test_everything_can_be_deleted_one_by_one(client: OpenAI, held: HeldModel) -> None:
    made = played(client)
    while items := items_of(client, made):
        client.conversations.items.delete(items[-1].id, conversation_id=made)
    assert told(client, held, made) == []


def test_what_was_deleted_stays_in_the_log(client: OpenAI, caller: Caller, mark: str) -> None:
    made = client.conversations.create().id
    response = client.responses.create(model=MODEL, input=script(f"say {mark}"), conversation=made)
    client.conversations.items.delete(response.output[0].id or "", conversation_id=made)
    assert client.responses.retrieve(response.id) == response
    assert len(turns(caller, mark)) == 1


# ------------------------------------------------------------------------------------------ responses


def test_responses_of_a_conversation_know_of_each_other(client: OpenAI, held: HeldModel) -> None:
    made = client.conversations.create(items=[said("My name is Ana.")])  # type: ignore[list-item]  # plain dicts
    first = client.responses.create(model=MODEL, input=script("say Hello Ana."), conversation=made.id)
    assert first.conversation is not None
    assert first.conversation.id == made.id
    with client.responses.stream(model=MODEL, input=script("say And again."), conversation={"id": made.id}) as stream:
        second = stream.get_final_response()
    items = items_of(client, made.id)
    assert [item.role for item in items] == ["user", "user", "assistant", "user", "assistant"]
    assert items[2].id == first.output[0].id
    answer = second.output[0]
    assert answer.type == "message"
    assert items[4].id == answer.id
    contents = [message["content"] for message in told(client, held, made.id)]
    assert contents[0] == "My name is Ana."
    assert (contents[2], contents[4]) == ("Hello Ana.", "And again.")


def test_items_are_there_when_a_stream_says_it_is_over(caller: Caller, client: OpenAI) -> None:
    made = client.conversations.create().id
    body = asked("say Hello", conversation=made, stream=True)
    with caller.open("POST", "/v1/responses", body) as response:
        while b"response.completed" not in response.readline():
            pass
        assert len(caller.get(f"/v1/conversations/{made}/items").json["data"]) == 2


def test_items_put_in_between_are_told_in_their_place(client: OpenAI, held: HeldModel) -> None:
    made = client.conversations.create().id
    client.responses.create(model=MODEL, input=script("say One."), conversation=made)
    client.conversations.items.create(made, items=[said("By hand.")])  # type: ignore[list-item]  # plain dicts
    client.responses.create(model=MODEL, input=script("say Two."), conversation=made)
    contents = [message["content"] for message in told(client, held, made)]
    assert contents == [script("say One."), "One.", "By hand.", script("say Two."), "Two."]


def test_the_whole_input_of_a_response_is_its_conversation(client: OpenAI) -> None:
    made = client.conversations.create(items=[said("zero")]).id  # type: ignore[list-item]  # plain dicts will do
    client.responses.create(model=MODEL, input=script("say One."), conversation=made)
    second = client.responses.create(model=MODEL, input="two", conversation=made)
    client.responses.create(model=MODEL, input="three", conversation=made)
    items = list(client.responses.input_items.list(second.id, order="asc"))
    assert words(items) == ["zero", script("say One."), "One.", "two"]


def test_a_turn_that_waits_is_answered_through_the_conversation(client: OpenAI, caller: Caller, mark: str) -> None:
    made = client.conversations.create().id
    line = script(f"say {mark}", 'call look {"at": "it"}', "then", "say Seen.")
    first = client.responses.create(model=MODEL, input=line, conversation=made, tools=[LOOK])
    call = first.output[-1]
    output: Any = [output_to(call, "a cat")]
    second = client.responses.create(model=MODEL, input=output, conversation=made, tools=[LOOK])
    assert second.output_text == "Seen."
    [turn] = turns(caller, mark)
    assert [step["type"] for step in turn["steps"]] == ["inference", "tool_execution", "inference"]
    assert [item.type for item in items_of(client, made)] == [
        "message",
        "message",
        "function_call",
        "function_call_output",
        "message",
    ]
    items = [item.type for item in client.responses.input_items.list(second.id, order="asc")]
    assert items == ["message", "message", "function_call", "function_call_output"]


def test_a_new_message_gives_up_the_calls_that_wait(client: OpenAI, caller: Caller, held: HeldModel, mark: str) -> None:
    made = client.conversations.create().id
    line = script(f"say {mark}", 'call look {"at": "it"}', "then", "say Seen.")
    client.responses.create(model=MODEL, input=line, conversation=made, tools=[LOOK])
    told(client, held, made)
    [turn] = turns(caller, mark)
    assert turn["status"] == "cancelled"
    assert len(items_of(client, made)) >= 5


def test_half_an_answer_is_refused_in_a_conversation_too(client: OpenAI) -> None:
    made = client.conversations.create().id
    lines = script('call look {"at": "left"}', 'call look {"at": "right"}')
    first = client.responses.create(model=MODEL, input=lines, conversation=made, tools=[LOOK])
    left, right = first.output
    output: Any = [output_to(left, "a cat")]
    with pytest.raises(openai.BadRequestError, match=f"No tool output found for function call {right.call_id}"):  # type: ignore[union-attr]  # a call
        client.responses.create(model=MODEL, input=output, conversation=made)


def test_a_conversation_is_locked_while_a_response_runs(client: OpenAI, caller: Caller, held: HeldModel) -> None:
    made, answer = client.conversations.create().id, held.hold()
    running = client.responses.create(model="held/held", input=answer.question, conversation=made, background=True)
    for path, body in (
        ("/v1/responses", asked("say Me too!", conversation=made)),
        ("/v1/responses", asked("say Me too!", conversation=made, stream=True)),
        (f"/v1/conversations/{made}/items", {"items": [said("Me too!")]}),
    ):
        refused = caller.post(path, body)
        error = refused.json["error"]
        assert (refused.status, error["code"]) == (400, "conversation_locked")
        assert (error["type"], error["param"]) == ("invalid_request_error", "conversation")
        assert refused.headers["x-should-retry"] == "false"
    with pytest.raises(openai.ConflictError, match="in progress"):
        client.conversations.delete(made)
    answer.end("Done.")
    eventually(lambda: client.responses.retrieve(running.id).status == "completed")
    assert created(caller, "say Now.", conversation=made)["status"] == "completed"
    assert words(items_of(client, made))[-3:] == ["Done.", script("say Now."), "Now."]


def test_of_many_at_once_one_is_let_in(client: OpenAI, caller: Caller, held: HeldModel) -> None:
    made, answer = client.conversations.create().id, held.hold()
    body = {"model": "held/held", "input": answer.question, "conversation": made, "background": True}
    answers = at_once(10, lambda: caller.post("/v1/responses", body))
    assert sorted(answer.status for answer in answers) == [200, *[400] * 9]
    answer.end("Done.")


def test_a_cancelled_response_frees_its_conversation(client: OpenAI, held: HeldModel) -> None:
    made, answer = client.conversations.create().id, held.hold()
    running = client.responses.create(model="held/held", input=answer.question, conversation=made, background=True)
    answer.say("Half")
    client.responses.cancel(running.id)
    messages = told(client, held, made)
    assert messages[0]["content"] == answer.question


def test_a_failed_response_frees_its_conversation(client: OpenAI, caller: Caller, held: HeldModel) -> None:
    made = client.conversations.create().id
    streamed(caller, asked("say Half", "fail 500 on fire", conversation=made))
    told(client, held, made)


def test_what_is_not_stored_adds_nothing(client: OpenAI, held: HeldModel) -> None:
    made = client.conversations.create(items=[said("My name is Ana.")]).id  # type: ignore[list-item]  # plain dicts
    answer = held_answer(held, "Ana.")
    client.responses.create(model="held/held", input=answer.question, conversation=made, store=False)
    assert "My name is Ana." in json.dumps(answer.asked[0])
    assert len(items_of(client, made)) == 1


def test_a_deleted_response_leaves_what_was_said_in_its_conversation(client: OpenAI, held: HeldModel) -> None:
    made = client.conversations.create().id
    client.responses.create(model=MODEL, input=script("say One."), conversation=made)
    last = client.responses.create(model=MODEL, input=script("say Two."), conversation=made)
    client.responses.delete(last.id)
    with pytest.raises(openai.NotFoundError):
        client.responses.retrieve(last.id)
    third = client.responses.create(model=MODEL, input=script("say Three."), conversation=made)
    assert third.output_text == "Three."
    contents = [message["content"] for message in told(client, held, made)]
    assert contents[1::2] == ["One.", "Two.", "Three."]


def test_a_chain_whose_end_was_deleted_goes_on_as_a_conversation(client: OpenAI, caller: Caller, mark: str) -> None:
    first = client.responses.create(model=MODEL, input=script(f"say {mark}"))
    second = client.responses.create(model=MODEL, input=script("say Two."), previous_response_id=first.id)
    client.responses.delete(second.id)
    made = caller.get("/v1/conversations?limit=1").json["data"][0]["id"]
    assert words(items_of(client, made))[-1] == mark
    third = client.responses.create(model=MODEL, input=script("say Three."), conversation=made)
    assert third.output_text == "Three."


def test_responses_that_leave_a_conversation_do_not_disturb_it(client: OpenAI, held: HeldModel) -> None:
    """``previous_response_id`` names no conversation: what follows it is not put into one."""
    made = client.conversations.create(items=[said("My name is Ana.")]).id  # type: ignore[list-item]  # plain dicts
    first = client.responses.create(model=MODEL, input=script("say One."), conversation=made)
    answer = held_answer(held, "Aside.")
    aside = client.responses.create(model="held/held", input=answer.question, previous_response_id=first.id)
    assert aside.conversation is None
    assert [message["content"] for message in answer.asked[0][:-1]] == ["My name is Ana.", script("say One."), "One."]
    assert words(items_of(client, made)) == ["My name is Ana.", script("say One."), "One."]
    client.responses.create(model=MODEL, input=script("say Two."), conversation=made)
    contents = [message["content"] for message in told(client, held, made)]
    assert "Aside." not in contents
    assert contents[-1] == "Two."
    assert words(list(client.responses.input_items.list(aside.id, order="asc")))[:3] == contents[:3]


def test_a_conversation_takes_its_responses_along(client: OpenAI, caller: Caller, mark: str) -> None:
    made = client.conversations.create().id
    response = client.responses.create(model=MODEL, input=script(f"say {mark}"), conversation=made)
    client.conversations.delete(made)
    with pytest.raises(openai.NotFoundError):
        client.responses.retrieve(response.id)
    assert turns(caller, mark) == []


def test_a_session_of_the_agents_api_is_a_conversation(client: OpenAI, caller: Caller, held: HeldModel) -> None:
    agent = caller.post("/v1/agents", {"agent_config": {"model": MODEL, "instructions": ""}}).json["agent_id"]
    session = caller.post(f"/v1/agents/{agent}/session", {"session_name": "talk"}).json["session_id"]
    path = f"/v1/agents/{agent}/session/{session}"
    caller.post(f"{path}/turn", {"messages": [said(script("say From the agent."))]})
    made = caller.get("/v1/conversations?limit=1").json["data"][0]["id"]
    assert words(items_of(client, made)) == [script("say From the agent."), "From the agent."]
    response = client.responses.create(model=MODEL, input=script("say From the response."), conversation=made)
    assert text(response.model_dump()) == "From the response."
    found = caller.get(path).json["turns"]
    assert [turn["output_message"]["content"] for turn in found] == ["From the agent.", "From the response."]


# ---------------------------------------------------------------------------------------------- wrong


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", ""),
        ("POST", ""),
        ("DELETE", ""),
        ("GET", "/items"),
        ("POST", "/items"),
        ("GET", "/items/msg_x"),
        ("DELETE", "/items/msg_x"),
    ],
)
def test_an_id_that_is_none_is_refused_by_its_form(caller: Caller, method: str, path: str) -> None:
    body = {"metadata": {}, "items": [said("x")]} if method == "POST" else None
    malformed = caller.ask(method, f"/v1/conversations/nonsense{path}", body)
    assert malformed.status == 400
    assert "conversation" in malformed.json["error"]["message"]
    assert "conv_" in malformed.json["error"]["message"]
    unknown = caller.ask(method, f"/v1/conversations/conv_{'0' * 48}{path}", body)
    assert unknown.status == 404
    assert unknown.json["error"]["message"] == f"Conversation 'conv_{'0' * 48}' not found."


def test_a_response_names_a_conversation_that_is_there(client: OpenAI) -> None:
    with pytest.raises(openai.BadRequestError, match=r"conversation: .* begin with conv_"):
        client.responses.create(model=MODEL, input="hi", conversation="nonsense")
    with pytest.raises(openai.NotFoundError, match="Conversation 'conv_nobody' not found"):
        client.responses.create(model=MODEL, input="hi", conversation="conv_nobody")
    with pytest.raises(openai.BadRequestError, match="previous_response_id and conversation"):
        client.responses.create(model=MODEL, input="hi", conversation="conv_x", previous_response_id="resp_x")


@pytest.mark.parametrize(
    ("path", "body", "param"),
    [
        ("", {"items": [said("x")] * 21}, "items"),
        ("", {"items": "x"}, "items"),
        ("", {"items": [{"type": "nonsense"}]}, "items"),
        ("", {"metadata": {str(number): "x" for number in range(17)}}, "metadata"),
        ("", {"metadata": {"k": 1}}, "metadata"),
        ("/conv", {}, "metadata"),
        ("/conv", {"metadata": {"k": "x" * 513}}, "metadata"),
        ("/conv/items", {}, "items"),
        ("/conv/items", {"items": []}, "items"),
        ("/conv/items", {"items": [said("x")] * 21}, "items"),
        ("/conv/items", {"items": [{"type": "function_call", "name": "look"}]}, "items"),
    ],
)
def test_what_cannot_be_is_refused_by_its_name(
    client: OpenAI, caller: Caller, path: str, body: dict[str, Any], param: str
) -> None:
    made = client.conversations.create().id
    answer = caller.post(f"/v1/conversations{path.replace('conv', made)}", body)
    assert answer.status == 400
    assert answer.json["error"]["param"].startswith(param)
    assert param in answer.json["error"]["message"]
    assert items_of(client, made) == []

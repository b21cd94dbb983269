"""OpenAI's Responses API with OpenAI's client: create, stream, read back, follow, cancel, delete, list."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Callable, Coroutine
from typing import Any

import openai
import pytest
from openai import AsyncOpenAI, OpenAI
from openai.lib.streaming.responses import ResponseStreamEvent
from openai.types.responses import Response, ResponseFunctionToolCall
from openai.types.responses import ResponseStreamEvent as Event
from pydantic import BaseModel

from tests.support.live.caller import Caller, script
from tests.support.live.held_model import HeldModel
from tests.support.live.openai_api import (
    MODEL,
    asked,
    created,
    frames_of,
    function,
    said,
    streamed,
    text,
    turns,
    types,
    words_of,
)
from tests.support.live.process import ServerProcess, eventually

pytestmark = pytest.mark.server

THOUGHT = script("think Hm, let me see.", "say It is **blue**, 青い,", "say and so on.")
WORDS = "It is **blue**, 青い,\nand so on."


@pytest.fixture
def client(openai_client: OpenAI) -> OpenAI:
    return openai_client


@pytest.fixture
def mark() -> str:
    """A word that no other test says."""
    return f"mark{uuid.uuid4().hex}"


def in_async(server: ServerProcess, work: Callable[[AsyncOpenAI], Coroutine[Any, Any, Any]]) -> Any:
    """What is done with the async client."""

    async def run() -> Any:
        async with AsyncOpenAI(base_url=f"{server.base}/v1", api_key="none", max_retries=0) as client:
            return await work(client)

    return asyncio.run(run())


# --------------------------------------------------------------------------------------------- create


@pytest.mark.parametrize("base", ["/v1", "/v1/openai/v1"])
def test_a_response_is_given_and_read_back(server: ServerProcess, base: str) -> None:
    with OpenAI(base_url=server.base + base, api_key="none", max_retries=0) as client:
        response = client.responses.create(
            model=MODEL,
            input=THOUGHT,
            instructions="Be brief.",
            temperature=0.5,
            top_p=0.9,
            metadata={"team": "red"},
            user="ana",
        )
        assert client.responses.retrieve(response.id) == response
    assert (response.status, response.output_text, response.error) == ("completed", WORDS, None)
    assert [item.type for item in response.output] == ["reasoning", "message"]
    assert (response.instructions, response.temperature, response.top_p) == ("Be brief.", 0.5, 0.9)
    assert (response.metadata, response.user, response.model) == ({"team": "red"}, "ana", MODEL)
    assert response.id.startswith("resp_")
    assert response.completed_at is not None
    assert response.completed_at >= response.created_at > 1_700_000_000


def test_what_was_not_said_has_openais_defaults(caller: Caller) -> None:
    response = created(caller, "say Hello")
    expected = {
        "object": "response",
        "tools": [],
        "tool_choice": "auto",
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "top_p": 1.0,
        "truncation": "disabled",
        "background": False,
        "service_tier": "default",
        "presence_penalty": 0.0,
        "frequency_penalty": 0.0,
        "top_logprobs": 0,
        "max_output_tokens": None,
        "max_tool_calls": None,
        "store": True,
        "metadata": {},
        "previous_response_id": None,
        "conversation": None,
        "incomplete_details": None,
    }
    assert {name: response[name] for name in expected} == expected
    assert response["text"]["format"] == {"type": "text"}
    assert set(response["reasoning"]) == {"effort", "summary"}


def test_reasoning_is_an_item_of_its_own(client: OpenAI) -> None:
    response = client.responses.create(model=MODEL, input=THOUGHT)
    [thought, message] = response.output
    assert thought.type == "reasoning"
    assert thought.content is not None
    assert [part.text for part in thought.content] == ["Hm, let me see."]
    assert message.type == "message"
    assert (message.role, message.status, thought.status) == ("assistant", "completed", "completed")


def test_the_async_client_does_the_same(server: ServerProcess) -> None:
    async def work(client: AsyncOpenAI) -> None:
        response = await client.responses.create(model=MODEL, input=THOUGHT)
        assert response.output_text == WORDS
        assert await client.responses.retrieve(response.id) == response
        events = [event async for event in await client.responses.create(model=MODEL, input=THOUGHT, stream=True)]
        assert said_in(events) == WORDS
        async with client.responses.stream(model=MODEL, input=THOUGHT) as stream:
            assert (await stream.get_final_response()).output_text == WORDS
        items = [item async for item in await client.responses.input_items.list(response.id)]
        assert [item.type for item in items] == ["message"]
        replay = [event async for event in await client.responses.retrieve(response.id, stream=True)]
        assert said_in(replay) == WORDS
        await client.responses.delete(response.id)
        with pytest.raises(openai.NotFoundError):
            await client.responses.retrieve(response.id)

    in_async(server, work)


# --------------------------------------------------------------------------------------------- stream


def said_in(events: list[Any]) -> str:
    """The words of a stream's deltas."""
    return "".join(event.delta for event in events if event.type == "response.output_text.delta")


def final(events: list[Event]) -> Response:
    """The response of a stream's last event."""
    last = events[-1]
    assert last.type in ("response.completed", "response.incomplete", "response.failed")
    return last.response


ONE_ANSWER = [
    "created",
    "in_progress",
    "output_item.added",
    "reasoning_text.delta",
    "reasoning_text.done",
    "output_item.done",
    "output_item.added",
    "content_part.added",
    "output_text.delta",
    "output_text.done",
    "content_part.done",
    "output_item.done",
    "completed",
]


def test_a_stream_tells_it_all_in_openais_order(client: OpenAI) -> None:
    events = list(client.responses.create(model=MODEL, input=THOUGHT, stream=True))
    assert types(events) == ONE_ANSWER
    assert [event.sequence_number for event in events] == list(range(len(events)))
    assert said_in(events) == WORDS
    assert len([event for event in events if event.type == "response.output_text.delta"]) > 3
    first = events[0]
    assert first.type == "response.created"
    assert (first.response.status, first.response.output) == ("in_progress", [])
    assert client.responses.retrieve(final(events).id) == final(events)  # stored before it was told


def test_the_helper_of_the_client_follows_a_stream(client: OpenAI) -> None:
    seen: list[ResponseStreamEvent[Any]] = []
    with client.responses.stream(model=MODEL, input=THOUGHT) as stream:
        seen.extend(stream)
        response = stream.get_final_response()
    assert response.output_text == said_in(seen) == WORDS
    assert seen[-1].type == "response.completed"


class Place(BaseModel):
    city: str
    people: int


PARIS = script('say {"city": "Paris", "people": 2100000}')


def test_an_answer_is_parsed_into_a_model(client: OpenAI) -> None:
    response = client.responses.parse(model=MODEL, input=PARIS, text_format=Place)
    assert response.output_parsed == Place(city="Paris", people=2_100_000)
    assert response.text is not None
    assert response.text.format is not None
    assert (response.text.format.type, getattr(response.text.format, "strict", None)) == ("json_schema", True)


def test_a_streamed_answer_is_parsed_too(client: OpenAI) -> None:
    with client.responses.stream(model=MODEL, input=PARIS, text_format=Place) as stream:
        assert stream.get_final_response().output_parsed == Place(city="Paris", people=2_100_000)


def test_an_answer_without_words_is_parsed_into_nothing_but_its_schema(client: OpenAI) -> None:
    """The scripted model makes a minimal instance of the schema it is asked for: it was handed on."""
    response = client.responses.parse(model=MODEL, input="Where is it?", text_format=Place)
    assert isinstance(response.output_parsed, Place)


def test_the_async_client_parses(server: ServerProcess) -> None:
    async def work(client: AsyncOpenAI) -> Any:
        return (await client.responses.parse(model=MODEL, input=PARIS, text_format=Place)).output_parsed

    assert in_async(server, work) == Place(city="Paris", people=2_100_000)


def test_arguments_are_parsed_by_the_helper(client: OpenAI) -> None:
    tools = [openai.pydantic_function_tool(Place, name="place")]
    flat: Any = [{"type": "function", **tools[0]["function"]}]
    line = 'call place {"city": "Rome", "people": 3}'
    with client.responses.stream(model=MODEL, input=script(line), tools=flat) as stream:
        [call] = stream.get_final_response().output
    assert call.type == "function_call"
    assert json.loads(call.arguments) == {"city": "Rome", "people": 3}


# ------------------------------------------------------------------------------------------ following


def test_a_replay_is_the_same_byte_for_byte(caller: Caller) -> None:
    body = asked("think Hm.", "say Hello", 'call look {"at": "it"}', tools=[function("look", "at")])
    frames = streamed(caller, body)
    name = frames[0].data["response"]["id"]
    again = frames_of(caller.get(f"/v1/responses/{name}?stream=true").body)
    assert [frame.raw for frame in again] == [frame.raw for frame in frames]
    for after in (0, 3, len(frames) - 2):
        rest = frames_of(caller.get(f"/v1/responses/{name}?stream=true&starting_after={after}").body)
        assert [frame.raw for frame in rest] == [frame.raw for frame in frames[after + 1 :]]
    assert caller.get(f"/v1/responses/{name}?stream=true&starting_after={len(frames) - 1}").body in (b"", b": ping\n\n")
    assert caller.get(f"/v1/responses/{name}").json == frames[-1].data["response"]


def test_a_running_response_is_followed_from_where_one_was(client: OpenAI, held: HeldModel) -> None:
    answer = held.hold()
    response = client.responses.create(model="held/held", input=answer.question, background=True)
    assert response.status == "queued"
    answer.say("One ")
    with client.responses.retrieve(response.id, stream=True) as first:
        seen = []
        for event in first:
            seen.append(event)
            if event.type == "response.output_text.delta":
                break
    answer.end("two.")
    rest = list(client.responses.retrieve(response.id, stream=True, starting_after=seen[-1].sequence_number))
    assert [event.sequence_number for event in [*seen, *rest]] == list(range(len(seen) + len(rest)))
    assert said_in([*seen, *rest]) == "One two."
    assert client.responses.retrieve(response.id).output_text == "One two."


@pytest.mark.parametrize("after", ["x", "-1", "1.5", "9" * 20])
def test_a_place_to_follow_from_is_a_number(caller: Caller, after: str) -> None:
    name = created(caller, "say Hello")["id"]
    answer = caller.get(f"/v1/responses/{name}?stream=true&starting_after={after}")
    assert (answer.status, answer.json["error"]["param"]) == (400, "starting_after")


# --------------------------------------------------------------------------------- background, cancel


def test_a_response_in_the_background_is_cancelled(client: OpenAI, held: HeldModel) -> None:
    answer = held.hold()
    response = client.responses.create(model="held/held", input=answer.question, background=True)
    assert (response.status, response.output, response.usage) == ("queued", [], None)
    assert response.background is True
    answer.say("Half an answer")
    eventually(lambda: answer.asked)
    with pytest.raises(openai.ConflictError, match="in progress; cancel it first"):
        client.responses.delete(response.id)

    cancelled = client.responses.cancel(response.id)
    assert (cancelled.id, cancelled.status) == (response.id, "cancelled")
    assert client.responses.cancel(response.id) == cancelled
    assert client.responses.retrieve(response.id) == cancelled


def test_a_cancelled_stream_ends_with_what_it_had(client: OpenAI, held: HeldModel) -> None:
    answer = held.hold()
    events: list[Any] = []
    with client.responses.create(model="held/held", input=answer.question, stream=True) as stream:
        answer.say("Half")
        for event in stream:
            events.append(event)
            if event.type == "response.output_text.delta":
                client.responses.cancel(events[0].response.id)
    assert events[-1].response.status == "cancelled"
    [message] = events[-1].response.output
    assert (message.status, message.content[0].text) == ("incomplete", "Half")
    assert client.responses.retrieve(events[0].response.id).output_text == "Half"


def test_what_is_over_cannot_be_cancelled(client: OpenAI) -> None:
    response = client.responses.create(model=MODEL, input=THOUGHT)
    with pytest.raises(openai.ConflictError, match="Cannot cancel"):
        client.responses.cancel(response.id)
    assert client.responses.retrieve(response.id).status == "completed"


def test_a_background_response_ends_by_itself(client: OpenAI) -> None:
    response = client.responses.create(model=MODEL, input=THOUGHT, background=True)
    done = eventually(lambda: (now := client.responses.retrieve(response.id)).status == "completed" and now)
    assert done.output_text == WORDS


def test_the_background_needs_a_store(client: OpenAI) -> None:
    with pytest.raises(openai.BadRequestError, match="background needs store"):
        client.responses.create(model=MODEL, input="hi", background=True, store=False)


# --------------------------------------------------------------------------------------------- delete


def test_a_deleted_response_is_gone(client: OpenAI, caller: Caller, mark: str) -> None:
    response = client.responses.create(model=MODEL, input=script(f"say {mark}"))
    assert len(turns(caller, mark)) == 1
    client.responses.delete(response.id)
    for call in (client.responses.retrieve, client.responses.delete, client.responses.cancel):
        with pytest.raises(openai.NotFoundError, match=f"Response '{response.id}' not found"):
            call(response.id)
    with pytest.raises(openai.NotFoundError):
        client.responses.create(model=MODEL, input="hi", previous_response_id=response.id)
    assert turns(caller, mark) == []


def test_what_builds_upon_a_deleted_response_keeps_its_history(client: OpenAI, held: HeldModel) -> None:
    first = client.responses.create(model=MODEL, input=script("say My name is Ana."))
    second = client.responses.create(model=MODEL, input="and?", previous_response_id=first.id)
    client.responses.delete(first.id)
    answer = held.hold()
    answer.end("Ana.")
    client.responses.create(model="held/held", input=answer.question, previous_response_id=second.id)
    assert "My name is Ana." in str(answer.asked[0])


# ---------------------------------------------------------------------------------------- input items


def test_input_items_are_paged_by_the_client(client: OpenAI) -> None:
    given: Any = [said(f"number {number}") for number in range(7)]
    response = client.responses.create(model=MODEL, input=given)
    for limit in (1, 3, 7, 100):
        items = list(client.responses.input_items.list(response.id, limit=limit, order="asc"))
        assert [words_of(item) for item in items] == [one["content"] for one in given]
        assert len({item.id for item in items}) == 7
    newest = client.responses.input_items.list(response.id, limit=2)
    assert [words_of(item) for item in newest.data] == ["number 6", "number 5"]
    assert newest.has_more


def test_input_items_are_the_whole_chain(client: OpenAI) -> None:
    first = client.responses.create(model=MODEL, input=script("say Paris."))
    second = client.responses.create(model=MODEL, input="And then?", previous_response_id=first.id)
    items = list(client.responses.input_items.list(second.id, order="asc"))
    assert [(item.type, item.role) for item in items] == [  # type: ignore[union-attr]  # messages
        ("message", "user"),
        ("message", "assistant"),
        ("message", "user"),
    ]
    assert items[1].id == first.output[0].id
    assert words_of(items[1]) == "Paris."
    assert [item.id for item in client.responses.input_items.list(first.id)] == [items[0].id]


def test_every_kind_of_item_comes_back_as_it_was(client: OpenAI) -> None:
    image = "data:image/png;base64,iVBORw0KGgo="
    given: Any = [
        {"role": "developer", "content": "Be brief."},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "See:"}, picture(image)]},
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"},
        {"role": "assistant", "content": "I see."},
        {"type": "function_call", "call_id": "c1", "name": "look", "arguments": '{"at":"it"}', "id": None},
        {"type": "function_call_output", "call_id": "c1", "output": "a cat"},
        said("What is it?"),
    ]
    response = client.responses.create(model=MODEL, input=given)
    items: list[Any] = list(client.responses.input_items.list(response.id, order="asc"))
    assert [item.type for item in items] == [
        "message",
        "message",
        "reasoning",
        "message",
        "function_call",
        "function_call_output",
        "message",
    ]
    assert items[1].content[1].image_url == image
    assert items[2].encrypted_content == "x"
    assert items[3].content[0].type == "output_text"
    assert (items[4].arguments, items[5].output) == ('{"at":"it"}', "a cat")
    assert all(item.id for item in items)


def picture(url: str) -> dict[str, str]:
    return {"type": "input_image", "image_url": url, "detail": "auto"}


@pytest.mark.parametrize("more", [{}, {"detail": None}, {"detail": "low"}])
def test_an_image_in_the_input_has_its_detail(more: dict[str, Any], caller: Caller) -> None:
    image = {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo="}
    asked_with = [{"role": "user", "content": [{"type": "input_text", "text": "!script\nsay Hi."}, {**image, **more}]}]
    made = caller.post("/v1/responses", {"model": MODEL, "input": asked_with}).json
    [item] = caller.get(f"/v1/responses/{made['id']}/input_items").json["data"]
    assert item["content"][1] == {**image, "detail": more.get("detail") or "auto"}


@pytest.mark.parametrize(
    ("query", "param"),
    [
        ("limit=0", "limit"),
        ("limit=x", "limit"),
        ("order=up", "order"),
        ("after=msg_x", "after"),
        ("before=msg_x", "before"),
        ("after=a&before=b", "before"),
    ],
)
def test_a_page_that_cannot_be_is_refused(caller: Caller, query: str, param: str) -> None:
    name = created(caller, "say Hello")["id"]
    answer = caller.get(f"/v1/responses/{name}/input_items?{query}")
    assert (answer.status, answer.json["error"]["param"]) == (400, param)


# ----------------------------------------------------------------------------------------------- list


def test_all_responses_of_one_second_are_reached(caller: Caller, mark: str) -> None:
    made = [created(caller, f"say {number}", metadata={"run": mark})["id"] for number in range(103)]
    for order, expected in (("desc", made[::-1]), ("asc", made)):
        found: list[str] = []
        after = ""
        while True:
            query = f"limit=10&order={order}&metadata[run]={mark}&after={after}"
            page = caller.get(f"/v1/responses?{query}").json
            found += [row["id"] for row in page["data"]]
            assert (page["first_id"], page["last_id"]) == (found[-len(page["data"])], found[-1])
            after = page["last_id"]
            if not page["has_more"]:
                break
        assert found == expected
    middle = caller.get(f"/v1/responses?limit=3&order=asc&before={made[50]}&metadata[run]={mark}").json
    assert [row["id"] for row in middle["data"]] == made[47:50]
    assert middle["has_more"]


def test_the_list_is_narrowed(caller: Caller, client: OpenAI, held: HeldModel, mark: str) -> None:
    conversation = client.conversations.create().id
    one = created(caller, f"say {mark} one", metadata={"run": mark, "side": "left"}, conversation=conversation)
    two = created(caller, f"say {mark} two", metadata={"run": mark, "side": "right"})
    answer = held.hold()
    answer.end("Three.")
    three = caller.post(
        "/v1/responses", {"model": "held/held", "input": answer.question, "metadata": {"run": mark}}
    ).json

    def found(query: str) -> list[str]:
        return [row["id"] for row in caller.get(f"/v1/responses?{query}").json["data"]]

    assert found(f"metadata[run]={mark}") == [three["id"], two["id"], one["id"]]
    assert found(f"metadata[run]={mark}&metadata[side]=left") == [one["id"]]
    assert found(f"metadata[run]={mark}&metadata[side]=up") == []
    assert found(f"metadata[run]={mark}&model=held/held") == [three["id"]]
    assert found("model=nobody/knows") == []
    assert found(f"q=in:{mark}") == [two["id"], one["id"]]
    assert found(f"q={mark}") == [three["id"], two["id"], one["id"]], "metadata is searched, too"
    assert found(f"q={mark}%20two") == [two["id"]]
    assert found(f"q=meta.side:left%20{mark}") == [one["id"]]
    assert found(f"conversation={conversation}") == [one["id"]]
    assert found(f"metadata[run]={mark}&order=asc&limit=2") == [one["id"], two["id"]]


def test_a_listed_response_is_the_whole_of_it(caller: Caller, mark: str) -> None:
    made = created(caller, "think Hm.", "say Hello", metadata={"run": mark})
    [listed] = caller.get(f"/v1/responses?metadata[run]={mark}").json["data"]
    [item] = listed.pop("input")
    assert listed == made
    assert item["content"] == [{"type": "input_text", "text": script("think Hm.", "say Hello")}]
    assert text(made) == "Hello"


@pytest.mark.parametrize(
    ("query", "param"),
    [
        ("limit=0", "limit"),
        ("limit=x", "limit"),
        ("order=up", "order"),
        ("after=nobody", "after"),
        ("before=resp_x", "before"),
        ("q=(", "q"),
        ("conversation=x", "conversation"),
    ],
)
def test_a_list_that_cannot_be_is_refused(caller: Caller, query: str, param: str) -> None:
    answer = caller.get(f"/v1/responses?{query}")
    assert (answer.status, answer.json["error"]["param"]) == (400, param)


def test_an_empty_list_is_a_list(caller: Caller) -> None:
    page = caller.get("/v1/responses?metadata[run]=nobody").json
    assert page == {"object": "list", "data": [], "first_id": None, "last_id": None, "has_more": False}


# ------------------------------------------------------------------------------------------- no store


def test_what_is_not_to_be_stored_leaves_nothing(client: OpenAI, caller: Caller, mark: str) -> None:
    for stream in (False, True):
        given: Any = client.responses.create(model=MODEL, input=script(f"say {mark}"), store=False, stream=stream)
        response = final(list(given)) if stream else given
        assert (response.status, response.output_text) == ("completed", mark)
        assert response.usage is not None
        with pytest.raises(openai.NotFoundError):
            client.responses.retrieve(response.id)
        with pytest.raises(openai.NotFoundError):
            client.responses.create(model=MODEL, input="hi", previous_response_id=response.id)
    assert turns(caller, mark) == []
    assert caller.get(f"/v1/responses?q={mark}").json["data"] == []
    assert turns(caller, f"text:{mark}") == []


def test_a_response_that_is_not_stored_knows_what_came_before(client: OpenAI, held: HeldModel) -> None:
    first = client.responses.create(model=MODEL, input=script("say My name is Ana."))
    answer = held.hold()
    answer.end("Ana.")
    client.responses.create(model="held/held", input=answer.question, previous_response_id=first.id, store=False)
    assert "My name is Ana." in str(answer.asked[0])
    assert len(list(client.responses.input_items.list(first.id))) == 1


def test_a_call_of_a_response_that_is_not_stored_is_answered_by_hand(client: OpenAI) -> None:
    tools: Any = [function("look", "at")]
    line = script('call look {"at": "it"}', "then", "say Seen.")
    first = client.responses.create(model=MODEL, input=line, tools=tools, store=False)
    [call] = first.output
    assert isinstance(call, ResponseFunctionToolCall)
    output = {"type": "function_call_output", "call_id": call.call_id, "output": "a cat"}
    chain: Any = [said(line), call.model_dump(), output]
    second = client.responses.create(model=MODEL, input=chain, tools=tools, store=False)
    assert second.output_text == "Seen."

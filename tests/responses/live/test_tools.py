"""The server's own tools in OpenAI's Responses API, with the official client: MCP servers, file search,
web search, and the order in which all of it is streamed."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import openai
import pytest
from openai import OpenAI

from tests.support.live.caller import Caller, script
from tests.support.live.mcp_process import TOKEN, McpProcess, check_kept_nowhere, search_keys
from tests.support.live.process import ServerProcess

pytestmark = pytest.mark.server

MODEL = "scripted/fast"
BOIL = script('call get_boiling_point {"liquid_name": "polyjuice"}', "then", "say Minus one hundred.")


@pytest.fixture
def caller(searching: ServerProcess) -> Caller:
    return Caller(searching.port)


@pytest.fixture
def client(searching: ServerProcess) -> Iterator[OpenAI]:
    with OpenAI(base_url=f"{searching.base}/v1", api_key="none", max_retries=0) as client:
        yield client


def offered(server: McpProcess, **more: Any) -> dict[str, Any]:
    return {"type": "mcp", "server_label": "lab", "server_url": server.url, "require_approval": "never", **more}


def kinds(response: Any) -> list[str]:
    return [item.type for item in response.output]


# ------------------------------------------------------------------------------------------------ MCP


def test_a_server_is_listed_and_called(client: OpenAI, mcp: McpProcess) -> None:
    tool: Any = offered(mcp, allowed_tools=["get_boiling_point"])
    response = client.responses.create(model=MODEL, input=BOIL, tools=[tool])

    assert kinds(response) == ["mcp_list_tools", "mcp_call", "message"]
    listing, call, _ = response.output
    assert [one.name for one in listing.tools] == ["get_boiling_point"]  # type: ignore[union-attr]  # a listing
    assert (call.server_label, call.name, call.output, call.error) == ("lab", "get_boiling_point", "-100", None)  # type: ignore[union-attr]  # a call
    assert response.output_text == "Minus one hundred."
    assert client.responses.retrieve(response.id).output == response.output


def test_a_label_may_be_the_name_of_a_group(client: OpenAI, mcp: McpProcess) -> None:
    tool: Any = offered(mcp, server_label="mcp::lab", allowed_tools=["get_boiling_point"])
    response = client.responses.create(model=MODEL, input=BOIL, tools=[tool])
    assert kinds(response) == ["mcp_list_tools", "mcp_call", "message"]
    call: Any = response.output[1]
    assert call.server_label == "mcp::lab"


def test_its_events_come_one_item_after_the_other(client: OpenAI, mcp: McpProcess) -> None:
    tool: Any = offered(mcp)
    twice = script(
        'call get_boiling_point {"liquid_name": "polyjuice"}',
        'call greet_everyone {"url": "here"}',
        "then",
        "say Done.",
    )
    events = list(client.responses.create(model=MODEL, input=twice, tools=[tool], stream=True))

    assert [event.sequence_number for event in events] == list(range(len(events)))
    item: list[str] = []
    for event in events:
        if event.type == "response.output_item.added":
            assert item == [], "the item before is over"
            assert event.item.id is not None
            item = [event.item.id]
        elif event.type == "response.output_item.done":
            assert item == [event.item.id]
            item = []
    names = [event.type for event in events if "mcp" in event.type]
    one_call = ["mcp_call_arguments.delta", "mcp_call_arguments.done", "mcp_call.in_progress", "mcp_call.completed"]
    listed = ["mcp_list_tools.in_progress", "mcp_list_tools.completed"]
    assert names == [f"response.{name}" for name in (*listed, *one_call, *one_call)]
    assert kinds(events[-1].response) == ["mcp_list_tools", "mcp_call", "mcp_call", "message"]  # type: ignore[union-attr]  # the whole response


def test_a_call_that_fails_is_told_to_the_model(client: OpenAI, mcp: McpProcess) -> None:
    tool: Any = offered(mcp)
    asked = script('call get_boiling_point {"liquid_name": "tea"}', "then", "say Nobody knows.")
    response = client.responses.create(model=MODEL, input=asked, tools=[tool])

    call: Any = response.output[1]
    assert (call.status, call.output) == ("failed", None)
    assert "get_boiling_point" in call.error.content[0]["text"]
    assert response.output_text == "Nobody knows."


def test_a_token_goes_to_its_server_and_nowhere_else(
    client: OpenAI, searching: ServerProcess, locked_mcp: McpProcess
) -> None:
    secret = {"authorization": TOKEN}
    tool: Any = offered(locked_mcp, **secret)
    response = client.responses.create(model=MODEL, input=BOIL, tools=[tool])

    assert kinds(response) == ["mcp_list_tools", "mcp_call", "message"]
    assert TOKEN not in response.model_dump_json()
    check_kept_nowhere(TOKEN, searching)


def test_a_server_that_refuses_is_401_or_a_failed_response(client: OpenAI, locked_mcp: McpProcess) -> None:
    tool: Any = offered(locked_mcp)
    with pytest.raises(openai.AuthenticationError):
        client.responses.create(model=MODEL, input=BOIL, tools=[tool])

    events = list(client.responses.create(model=MODEL, input=BOIL, tools=[tool], stream=True))
    assert events[-1].type == "response.failed"
    assert "response.mcp_list_tools.failed" in [event.type for event in events]


def test_a_server_that_is_not_there_is_named(client: OpenAI) -> None:
    tool: Any = {"type": "mcp", "server_label": "gone", "server_url": "http://127.0.0.1:9/mcp"}
    with pytest.raises(openai.APIStatusError, match="gone") as error:
        client.responses.create(model=MODEL, input=BOIL, tools=[tool])
    assert error.value.status_code == 424


def test_a_call_runs_once_it_is_approved(client: OpenAI, mcp: McpProcess) -> None:
    tool: Any = offered(mcp, require_approval="always")
    asked = client.responses.create(model=MODEL, input=BOIL, tools=[tool])
    assert kinds(asked) == ["mcp_list_tools", "mcp_approval_request"]
    request: Any = asked.output[1]
    assert (request.name, request.server_label) == ("get_boiling_point", "lab")

    word: Any = {"type": "mcp_approval_response", "approval_request_id": request.id, "approve": True}
    answered = client.responses.create(model=MODEL, input=[word], previous_response_id=asked.id, tools=[tool])
    assert kinds(answered) == ["mcp_list_tools", "mcp_call", "message"]
    call: Any = answered.output[1]
    assert (call.output, call.approval_request_id) == ("-100", request.id)
    assert client.responses.retrieve(asked.id).output == asked.output
    assert client.responses.retrieve(answered.id).output == answered.output


def test_a_call_that_is_refused_does_not_run(client: OpenAI, mcp: McpProcess) -> None:
    tool: Any = offered(mcp, require_approval={"always": {"tool_names": ["get_boiling_point"]}})
    asked = client.responses.create(model=MODEL, input=BOIL, tools=[tool])
    word: Any = {
        "type": "mcp_approval_response",
        "approval_request_id": asked.output[1].id,
        "approve": False,
        "reason": "too hot",
    }
    answered = client.responses.create(model=MODEL, input=[word], previous_response_id=asked.id, tools=[tool])

    assert kinds(answered) == ["mcp_list_tools", "message"]
    given = list(client.responses.input_items.list(answered.id, order="asc"))
    assert given[-1].type == "mcp_approval_response"
    assert not given[-1].approve


GREET = 'call greet_everyone {"url": "here"}'


def decided(question: str, asked: Any, *, approve: bool) -> list[Any]:
    """The input of a client that keeps the history itself: all so far, and its decision on what is asked."""
    asking = [item.to_dict() for item in asked.output]
    word = {"type": "mcp_approval_response", "approval_request_id": asking[-1]["id"], "approve": approve}
    return [{"role": "user", "content": question}, *asking, word]


@pytest.mark.parametrize("store", [True, False])
@pytest.mark.parametrize("approve", [True, False])
def test_a_client_that_keeps_the_history_decides_in_its_input(
    client: OpenAI, mcp: McpProcess, store: bool, approve: bool
) -> None:
    more: Any = {"model": MODEL, "tools": [offered(mcp, require_approval="always")], "store": store}
    asked = client.responses.create(input=BOIL, **more)
    history = decided(BOIL, asked, approve=approve)
    answered = client.responses.create(input=history, **more)
    assert kinds(answered) == ["mcp_list_tools", *(["mcp_call"] if approve else []), "message"]
    if approve:
        call: Any = answered.output[1]
        assert (call.output, call.approval_request_id) == ("-100", asked.output[-1].id)
    history += [item.to_dict() for item in answered.output]
    again = client.responses.create(input=[*history, {"role": "user", "content": script("say Again.")}], **more)
    assert kinds(again) == ["mcp_list_tools", "message"]  # the call is not made twice


def test_the_turn_that_asked_goes_on_where_it_is_in_the_log(client: OpenAI, mcp: McpProcess, caller: Caller) -> None:
    question = script("say I will ask.", GREET, "then", "say Done.")
    more: Any = {"model": MODEL, "tools": [offered(mcp, require_approval="always")]}
    asked = client.responses.create(input=question, **more)
    assert asked.output_text == "I will ask."
    answered = client.responses.create(input=decided(question, asked, approve=True), **more)
    assert answered.output_text == "Done."
    steps = caller.get("/v1/logs/steps?limit=2&q=type:tool").json["data"]
    assert len({step["turn_id"] for step in steps}) == 1


def test_a_decision_makes_no_other_call(client: OpenAI, mcp: McpProcess) -> None:
    """A client may say that it was asked for anything; only tools of that server are called."""
    tool: Any = offered(mcp, require_approval="always")
    for name, label in (("get_boiling_point", "elsewhere"), ("nothing", "lab"), ("lookup_order", "builtin")):
        asking = {"type": "mcp_approval_request", "id": "mcpr_1", "name": name, "server_label": label}
        word = {"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": True}
        items: Any = [{"role": "user", "content": BOIL}, {**asking, "arguments": "{}"}, word]
        response = client.responses.create(model=MODEL, input=items, tools=[tool])
        [call] = [item for item in response.output if item.type == "mcp_call"]
        assert call.status == "failed"


def test_calls_beyond_the_limit_are_not_made(client: OpenAI, mcp: McpProcess) -> None:
    tool: Any = offered(mcp)
    asked = script(GREET, "then", GREET, "then", "say Enough.")
    response = client.responses.create(model=MODEL, input=asked, tools=[tool], max_tool_calls=1)
    calls: list[Any] = [item for item in response.output if item.type == "mcp_call"]
    assert [call.status for call in calls][:1] == ["completed"]
    assert all(call.status == "failed" for call in calls[1:])
    assert response.output_text == "Enough."


# -------------------------------------------------------------------------------------- file search


@pytest.fixture(scope="module")
def store(searching: ServerProcess) -> Iterator[tuple[str, str]]:
    """A vector store with a file about kettles; their ids."""
    with OpenAI(base_url=f"{searching.base}/v1", api_key="none") as client:
        text = io.BytesIO(b"The blue kettle of order 8836 was sent back in March.")
        file = client.files.create(file=("kettles.txt", text), purpose="assistants")
        made = client.vector_stores.create(name="orders")
        client.vector_stores.files.create_and_poll(
            vector_store_id=made.id, file_id=file.id, attributes={"region": "north"}
        )
        yield made.id, file.id


def test_files_are_searched_and_cited(client: OpenAI, store: tuple[str, str]) -> None:
    where, file = store
    tool: Any = {"type": "file_search", "vector_store_ids": [where]}
    asked = script(
        'call knowledge_search {"query": "blue kettle"}',
        "then",
        f"say The blue one <|{file}|> was sent back.",
    )
    with client.responses.stream(model=MODEL, input=asked, tools=[tool]) as stream:
        events = list(stream)
        response = stream.get_final_response()

    search, message = (item for item in response.output if item.type in ("file_search_call", "message"))
    assert search.type == "file_search_call"
    assert search.queries == ["blue kettle"]
    assert search.results is not None
    [found] = search.results
    assert (found.file_id, found.filename) == (file, "kettles.txt")
    assert found.attributes is not None
    assert found.attributes["region"] == "north"
    assert message.type == "message"
    [part] = message.content
    assert part.type == "output_text"
    assert part.text == "The blue one was sent back."
    [note] = part.annotations
    assert note.type == "file_citation"
    assert (note.type, note.file_id, note.filename, note.index) == ("file_citation", file, "kettles.txt", 12)
    typed = "".join(event.delta for event in events if event.type == "response.output_text.delta")
    assert typed == part.text
    phases = [event.type for event in events if event.type.startswith("response.file_search_call")]
    assert phases == [f"response.file_search_call.{one}" for one in ("in_progress", "searching", "completed")]
    assert client.responses.retrieve(response.id).output_text == part.text


def test_filters_narrow_a_search(client: OpenAI, store: tuple[str, str]) -> None:
    asked = script('call knowledge_search {"query": "blue kettle"}', "then", "say Nothing.")
    filters = {"type": "eq", "key": "region", "value": "south"}
    tool: Any = {"type": "file_search", "vector_store_ids": [store[0]], "filters": filters}
    response = client.responses.create(model=MODEL, input=asked, tools=[tool])
    assert not response.output[0].results  # type: ignore[union-attr]  # a search

    tool["filters"] = {"type": "near", "key": "region", "value": "south"}
    with pytest.raises(openai.BadRequestError, match=r"tools\.0\.filters"):
        client.responses.create(model=MODEL, input=asked, tools=[tool])


# --------------------------------------------------------------------------------------- web search


def test_the_web_is_searched(client: OpenAI) -> None:
    tool: Any = {"type": "web_search"}
    asked = script('call web_search {"query": "kettles"}', "then", "say Blue.")
    response = client.responses.create(model=MODEL, input=asked, tools=[tool])

    assert kinds(response) == ["web_search_call", "message"]
    action: Any = response.output[0].action  # type: ignore[union-attr]  # a search
    assert action.query == "kettles"
    assert [source.url for source in action.sources] == ["https://example.org/"]
    assert "key-of-the-settings" in search_keys


def test_the_steps_of_a_response_are_in_the_log(client: OpenAI, searching: ServerProcess, mcp: McpProcess) -> None:
    tool: Any = offered(mcp)
    response = client.responses.create(model=MODEL, input=BOIL, tools=[tool], metadata={"case": "log"})
    [row] = Caller(searching.port).get("/v1/logs/turns?q=meta.case:log").json["data"]
    assert [mark["type"] for mark in row["steps"]] == ["other", "inference", "tool_execution", "inference"]
    assert response.status == "completed"

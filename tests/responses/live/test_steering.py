"""A client says more to a response that runs (``response.steer``): with OpenAI's client, and by the messages."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import pytest
from openai import OpenAI
from openai.types.responses.response_steer_pending_event import ResponseSteerPendingEvent

from tests.support.live.caller import Caller, script
from tests.support.live.held_model import Held, HeldModel
from tests.support.live.mcp_process import McpProcess
from tests.support.live.openai_api import function, said, turns, words_of
from tests.support.live.page_reader import Reader
from tests.support.live.process import ServerProcess, eventually
from tests.support.live.response_socket import Socket, opened, text

pytestmark = pytest.mark.server

HELD = "held/held"


@pytest.fixture
def socket(server: ServerProcess) -> Iterator[Socket]:
    with opened(server) as made:
        yield made


def lab(mcp: McpProcess) -> dict[str, Any]:
    return {"type": "mcp", "server_label": "lab", "server_url": mcp.url, "require_approval": "never"}


def boil(question: Held) -> None:
    question.call("get_boiling_point", '{"liquid_name": "polyjuice"}')


def begun(socket: Socket, question: Held, **fields: Any) -> str:
    """The id of a response whose model is being asked."""
    socket.send(model=HELD, input=question.question, **fields)
    name = str(socket.until("response.created")[-1]["response"]["id"])
    eventually(lambda: question.asked)
    return name


def failure(told: dict[str, Any]) -> str:
    assert told["type"] == "response.steer.failed", told
    assert told["error"]["type"] == "invalid_request_error"
    assert told["error"]["message"]
    return str(told["error"]["code"])


def asked(question: Held) -> list[tuple[str, Any]]:
    return [(one["role"], one["content"]) for one in question.asked[-1]]


# ------------------------------------------------------------------------------------- OpenAI's client


@pytest.mark.filterwarnings(
    "ignore:connect.. must be used as a context manager"
)  # how OpenAI's client uses its library
def test_openais_client_steers_between_two_inferences(
    openai_client: OpenAI, held: HeldModel, mcp: McpProcess, caller: Caller
) -> None:
    first, second = held.hold(), held.hold()
    mark = f"mark{uuid.uuid4().hex}"
    events: list[Any] = []
    tools: Any = [lab(mcp)]
    with openai_client.responses.connect() as connection:
        connection.response.create(model=HELD, input=first.question, tools=tools, instructions="Be exact.")
        for event in connection:
            events.append(event)
            if event.type == "response.mcp_list_tools.completed" and not any("steer" in one.type for one in events):
                eventually(lambda: first.asked)
                connection.response.steer(previous_response_id=events[0].response.id, input=second.question)
            elif event.type == "response.steer.accepted":
                boil(first)
                second.end(f"Two, {mark}.")
            elif event.type == "response.completed":
                break

    [old, new] = [event.response for event in events if event.type == "response.created"]
    [accepted] = [event for event in events if event.type == "response.steer.accepted"]
    assert accepted.steer.previous_response_id == old.id
    kinds = [event.type for event in events]
    over = kinds.index("response.incomplete")
    assert kinds[over + 1 : over + 3] == ["response.created", "response.in_progress"]
    numbers = [event.sequence_number for event in events]
    assert numbers == [*range(over + 1), *range(len(events) - over - 1)]
    steered, answer = events[over].response, events[-1].response
    assert steered.incomplete_details.reason == "steered"
    assert [item.type for item in steered.output] == ["mcp_list_tools", "mcp_call"]
    assert (answer.output_text, answer.previous_response_id, answer.instructions) == (
        f"Two, {mark}.",
        old.id,
        "Be exact.",
    )

    assert openai_client.responses.retrieve(old.id) == steered
    assert openai_client.responses.retrieve(new.id) == answer
    items = list(openai_client.responses.input_items.list(new.id, order="asc", limit=50))
    assert words_of(items[-1]) == second.question
    [model_heard] = second.asked
    assert [one["role"] for one in model_heard] == ["system", "user", "assistant", "tool", "user"]
    [turn] = turns(caller, mark)
    page = caller.get(f"/turns/{turn['id']}/").body.decode()
    assert "sent while the turn ran" in page
    assert second.question in page


def test_a_stream_of_the_steered_response_ends_with_it(
    openai_client: OpenAI, socket: Socket, held: HeldModel, mcp: McpProcess
) -> None:
    first, second = held.hold(), held.hold()
    old = begun(socket, first, tools=[lab(mcp)])
    assert socket.steer(old, second.question)["type"] == "response.steer.accepted"
    boil(first)
    new = socket.until("response.created")[-1]["response"]["id"]
    streams = [openai_client.responses.retrieve(name, stream=True) for name in (old, new)]
    second.end("Two.")
    ends: list[Any] = [list(stream)[-1] for stream in streams]
    assert [(end.type, end.response.id) for end in ends] == [
        ("response.incomplete", old),
        ("response.completed", new),
    ]


# ---------------------------------------------------------------------------------------- when it is heard


@pytest.mark.parametrize("store", [True, False])
def test_after_an_answer_another_response_follows(socket: Socket, held: HeldModel, store: bool) -> None:
    first, second, third = held.hold(), held.hold(), held.hold()
    old = begun(socket, first, store=store)
    first.say("One")
    assert socket.steer(old, second.question)["type"] == "response.steer.accepted"
    first.end(".")
    over = socket.until("response.completed")[-1]["response"]
    assert (over["id"], text(over)) == (old, "One.")
    new = socket.next()["response"]
    assert (new["status"], new["previous_response_id"]) == ("in_progress", old)
    second.end("Two.")
    assert text(socket.until("response.completed")[-1]["response"]) == "Two."
    assert asked(second) == [("user", first.question), ("assistant", "One."), ("user", second.question)]
    socket.send(model=HELD, input=third.question, store=store, previous_response_id=new["id"])
    third.end("Three.")
    socket.until("response.completed")
    assert asked(third)[2:] == [("user", second.question), ("assistant", "Two."), ("user", third.question)]


def test_one_that_is_not_stored_is_steered_between_two_inferences(
    socket: Socket, held: HeldModel, mcp: McpProcess
) -> None:
    first, second = held.hold(), held.hold()
    old = begun(socket, first, tools=[lab(mcp)], store=False)
    socket.steer(old, [said(second.question)])
    boil(first)
    over = socket.until("response.incomplete")[-1]["response"]
    assert over["incomplete_details"] == {"reason": "steered"}
    second.end("Two.")
    answer = socket.until("response.completed")[-1]["response"]
    assert (text(answer), answer["previous_response_id"]) == ("Two.", old)
    assert [role for role, _ in asked(second)] == ["user", "assistant", "tool", "user"]


def test_what_is_said_at_once_begins_one_response(socket: Socket, held: HeldModel) -> None:
    first, last = held.hold(), held.hold()
    old = begun(socket, first)
    parts = [{"type": "input_text", "text": "With parts."}]
    for words in ("A text.", [{"type": "message", "role": "user", "content": parts}], last.question):
        assert socket.steer(old, words)["type"] == "response.steer.accepted"
    first.end("One.")
    socket.until("response.completed")
    last.end("All.")
    assert text(socket.until("response.completed")[-1]["response"]) == "All."
    assert [words for _, words in asked(last)] == [first.question, "One.", "A text.", "With parts.", last.question]


def test_a_response_that_steering_began_is_steered_in_its_turn(socket: Socket, held: HeldModel) -> None:
    questions = [held.hold() for _ in range(4)]
    name = begun(socket, questions[0])
    for question, following in pairwise(questions):
        assert socket.steer(name, following.question)["type"] == "response.steer.accepted"
        question.end("Ok.")
        socket.until("response.completed")
        name = socket.next()["response"]["id"]
    questions[-1].end("Last.")
    assert text(socket.until("response.completed")[-1]["response"]) == "Last."
    assert len(asked(questions[-1])) == 7


def test_its_settings_and_limits_are_those_of_the_first(socket: Socket, held: HeldModel, mcp: McpProcess) -> None:
    """One call of a tool is allowed for each response."""
    first, second = held.hold(), held.hold()
    old = begun(socket, first, tools=[lab(mcp)], max_tool_calls=1, metadata={"of": "the first"})
    socket.steer(old, second.question)
    boil(first)
    socket.until("response.incomplete")
    boil(second)
    second.end("Two.")
    answer = socket.until("response.completed")[-1]["response"]
    assert [item["type"] for item in answer["output"]] == ["mcp_list_tools", "mcp_call", "message"]
    assert answer["metadata"] == {"of": "the first"}


def test_two_lanes_are_steered_each_for_itself(socket: Socket, held: HeldModel) -> None:
    questions = {name: (held.hold(), held.hold()) for name in ("a", "b")}
    names = {lane: begun(socket, first, stream_id=lane, store=lane == "a") for lane, (first, _) in questions.items()}
    for lane in ("b", "a"):
        told = socket.steer(names[lane], questions[lane][1].question)
        assert (told["type"], told["stream_id"]) == ("response.steer.accepted", lane)
    for first, second in questions.values():
        first.end("One.")
        second.end("Two.")
    ends: dict[str, list[str]] = {"a": [], "b": []}
    while any(len(words) < 2 for words in ends.values()):
        message = socket.next()
        if message["type"] == "response.completed":
            ends[message["stream_id"]].append(text(message["response"]))
    assert ends == {"a": ["One.", "Two."], "b": ["One.", "Two."]}
    assert [words for _, words in asked(questions["a"][1])] == [
        questions["a"][0].question,
        "One.",
        questions["a"][1].question,
    ]


def test_a_fork_hears_it_in_its_place(
    server: ServerProcess, socket: Socket, held: HeldModel, mcp: McpProcess, caller: Caller
) -> None:
    first, second, mark = held.hold(), held.hold(), f"mark{uuid.uuid4().hex}"
    old = begun(socket, first, tools=[lab(mcp)])
    socket.steer(old, second.question)
    boil(first)
    socket.until("response.incomplete")
    second.end(f"Two, {mark}.")
    socket.until("response.completed")
    [turn] = turns(caller, mark)
    steps = caller.get(f"/v1/logs/steps?order=asc&q=turn:{turn['id']}").json["data"]
    last = max(step["number"] for step in steps)
    second.end("Forked.")
    page = Reader(server, f"/turns/{turn['id']}/fork/?step={last + 1}")
    unchanged = {"step": str(last + 1), "model": HELD, "instructions": "", "strategy": "top_p"}
    assert page.send("", **unchanged, tools="recorded") == 200
    eventually(lambda: len(second.asked) == 2)
    assert second.asked[0] == second.asked[1]


# ----------------------------------------------------------------------------------- calls of the client


@pytest.mark.parametrize("store", [True, False])
def test_it_waits_for_the_clients_answers(socket: Socket, held: HeldModel, store: bool) -> None:
    first, second = held.hold(), held.hold()
    look: Any = function("look", "at")
    old = begun(socket, first, tools=[look], store=store)
    accepted = socket.steer(old, second.question)
    first.call("look", '{"at": "it"}')
    over = socket.until("response.completed")[-1]
    pending = socket.next()
    [call] = over["response"]["output"]
    ResponseSteerPendingEvent.model_validate(pending, strict=True)
    assert pending["steer"] == accepted["steer"]
    assert pending["sequence_number"] == over["sequence_number"] + 1
    stub = {"type": "function_call_output", "call_id": call["call_id"], "name": "look"}
    assert (pending["reason"], pending["required_input"]) == ("waiting_for_required_input", [stub])

    answers = [{**stub, "output": "a cat"}]
    socket.send(model=HELD, input=answers, tools=[look], store=store, previous_response_id=old, instructions="Own.")
    second.end("A cat, then.")
    answer = socket.until("response.completed")[-1]["response"]
    assert (text(answer), answer["instructions"]) == ("A cat, then.", "Own.")
    assert [role for role, _ in asked(second)] == ["system", "user", "assistant", "tool", "user"]


def test_an_answer_that_is_refused_leaves_it_waiting(socket: Socket, held: HeldModel) -> None:
    first, second = held.hold(), held.hold()
    look: Any = function("look", "at")
    old = begun(socket, first, tools=[look])
    socket.steer(old, second.question)
    first.call("look", '{"at": "it"}')
    call = socket.until("response.completed")[-1]["response"]["output"][0]["call_id"]
    socket.next()
    assert socket.error(input=[], previous_response_id=old)["status"] == 400
    second.end("Ok.")
    output = {"type": "function_call_output", "call_id": call, "output": "a cat"}
    socket.send(model=HELD, input=[output], previous_response_id=old)
    assert text(socket.until("response.completed")[-1]["response"]) == "Ok."


def test_what_waits_for_a_chain_that_is_forgotten_is_given_back(socket: Socket, held: HeldModel) -> None:
    first = held.hold()
    old = begun(socket, first, tools=[function("look", "at")], store=False)
    accepted = socket.steer(old, "And?")
    first.call("look", '{"at": "it"}')
    socket.until("response.steer.pending")
    orphan = {"type": "function_call_output", "call_id": "call_x", "output": "x"}
    assert socket.error(input=[orphan], store=False, previous_response_id=old)["error"]["code"] == "unknown_call_id"
    told = socket.next()
    assert failure(told) == "successor_creation_failed"
    assert told["steer"] == {**accepted["steer"], "input": "And?"}


def test_an_approval_is_asked_for(socket: Socket, held: HeldModel, mcp: McpProcess) -> None:
    first, second = held.hold(), held.hold()
    tools = [{**lab(mcp), "require_approval": "always"}]
    old = begun(socket, first, tools=tools)
    socket.steer(old, second.question)
    boil(first)
    request = socket.until("response.completed")[-1]["response"]["output"][-1]
    [stub] = socket.next()["required_input"]
    assert stub == {"type": "mcp_approval_response", "approval_request_id": request["id"]}
    second.end("Boiled.")
    socket.send(model=HELD, input=[{**stub, "approve": True}], tools=tools, previous_response_id=old)
    answer = socket.until("response.completed")[-1]["response"]
    assert [item["type"] for item in answer["output"]] == ["mcp_list_tools", "mcp_call", "message"]


# ----------------------------------------------------------------------------------------- too late


def test_what_comes_after_the_end_is_given_back(socket: Socket) -> None:
    name = socket.response(input=script("say Done."))["id"]
    told = socket.steer(name, "And?")
    assert failure(told) == "response_already_completed"
    assert told["steer"] == {"previous_response_id": name, "input": "And?"}
    failed = socket.response(input=script("fail 500 out of order"))["id"]
    assert failure(socket.steer(failed, "And?")) == "response_not_active"


def test_an_answer_that_was_cut_is_followed(socket: Socket, held: HeldModel) -> None:
    first, second = held.hold(), held.hold()
    socket.steer(begun(socket, first), second.question)
    first.pieces.put({"delta": {"content": "Half"}, "finish_reason": "length"})
    over = socket.until("response.incomplete")[-1]["response"]
    assert (over["incomplete_details"], text(over)) == ({"reason": "max_output_tokens"}, "Half")
    second.end("Two.")
    assert text(socket.until("response.completed")[-1]["response"]) == "Two."


def test_a_model_that_fails_hears_nothing_more(socket: Socket, held: HeldModel) -> None:
    first = held.hold()
    accepted = socket.steer(begun(socket, first), "And?")
    first.pieces.put({"delta": {}, "finish_reason": None})
    first.pieces.put({"delta": "nonsense", "finish_reason": "stop"})
    told = socket.until("response.steer.failed")
    assert told[-2]["type"] == "response.failed"
    assert failure(told[-1]) == "response_not_active"
    assert told[-1]["steer"] == {**accepted["steer"], "input": "And?"}


def test_a_cancelled_response_gives_back_what_was_said(openai_client: OpenAI, socket: Socket, held: HeldModel) -> None:
    first = held.hold()
    old = begun(socket, first)
    accepted = socket.steer(old, [said("And?")])
    openai_client.responses.cancel(old)
    told = socket.until("response.steer.failed")[-1]
    assert failure(told) == "response_not_active"
    assert told["steer"] == {**accepted["steer"], "input": [said("And?")]}
    first.end()
    assert text(socket.response(input=script("say Still here."))) == "Still here."


def test_nothing_is_left_waiting(server: ServerProcess, socket: Socket, held: HeldModel) -> None:
    """Many at once, of which some come too late: each is heard or given back, and no turn waits for any."""
    first = held.hold()
    old = begun(socket, first)
    told = [socket.steer(old, script(f"say {number}")) for number in range(33)]
    assert [failure(one) for one in told if one["type"] != "response.steer.accepted"] == ["too_many_pending_steers"]
    first.end("One.")
    socket.until("response.completed")
    assert server.shell(WAITING).strip() == "0"


WAITING = "from agents.models import TurnInput\nprint(TurnInput.objects.filter(taken=False).count())"


# ----------------------------------------------------------------------------------------- refused


@pytest.mark.parametrize(
    "fields",
    [
        {"previous_response_id": "?"},
        {"previous_response_id": "?", "input": ""},
        {"previous_response_id": "?", "input": []},
        {"previous_response_id": "?", "input": 7},
        {"previous_response_id": "?", "input": [said("x", "system")]},
        {"previous_response_id": "?", "input": [said("x", "assistant")]},
        {"previous_response_id": "?", "input": [said("")]},
        {"previous_response_id": "?", "input": [{**said("x"), "id": "msg_1"}]},
        {"previous_response_id": "?", "input": [{"type": "function_call_output", "call_id": "c", "output": "x"}]},
        {"previous_response_id": "?", "input": [{"role": "user", "content": [{"type": "output_text", "text": "x"}]}]},
        {
            "previous_response_id": "?",
            "input": [{"role": "user", "content": [{"type": "input_file", "file_id": "no"}]}],
        },
        {"previous_response_id": "?", "input": "x", "stream_id": "a"},
        {"previous_response_id": "?", "input": "x", "model": "other"},
        {"previous_response_id": 7, "input": "x"},
        {"input": "x"},
        {},
    ],
)
def test_what_is_wrong_is_given_back(socket: Socket, held: HeldModel, fields: dict[str, Any]) -> None:
    question = held.hold()
    old = begun(socket, question)
    sent = {name: old if value == "?" else value for name, value in fields.items()}
    socket.connection.send(json.dumps({"type": "response.steer", **sent}))
    told = socket.until("response.steer.failed")[-1]
    assert failure(told) == "invalid_input"
    assert told["steer"]["input"] == sent.get("input", "")
    question.end("Ok.")
    assert text(socket.until("response.completed")[-1]["response"]) == "Ok."


def test_only_a_response_of_the_same_socket_is_steered(server: ServerProcess, socket: Socket, held: HeldModel) -> None:
    question = held.hold()
    old = begun(socket, question)
    with opened(server) as other:
        told = other.steer(old, "And?")
        assert failure(told) == "response_not_found"
        assert told["steer"] == {"previous_response_id": old, "input": "And?"}
        assert "stream_id" not in told
    assert failure(socket.steer("resp_0123", "And?")) == "response_not_found"
    question.end("Ok.")
    socket.until("response.completed")


def test_what_cannot_be_steered_says_so(openai_client: OpenAI, socket: Socket, held: HeldModel) -> None:
    conversation = openai_client.conversations.create().id
    for more in ({"conversation": conversation}, {"context_management": [{"type": "compaction"}]}):
        question = held.hold()
        told = socket.steer(begun(socket, question, **more), "And?")
        assert failure(told) == "steering_not_supported"
        question.end("Ok.")
        socket.until("response.completed")


# ------------------------------------------------------------------------------- sockets and processes


def test_what_was_said_is_heard_after_its_client_has_left(
    server: ServerProcess, caller: Caller, held: HeldModel
) -> None:
    first, second = held.hold(), held.hold()
    with opened(server) as socket:
        old = begun(socket, first)
        assert socket.steer(old, second.question)["type"] == "response.steer.accepted"
    first.end("One.")
    second.end("Two.")
    [new] = eventually(lambda: following(caller, old))
    eventually(lambda: text(caller.get(f"/v1/responses/{new}").json) == "Two.")


def following(caller: Caller, response: str) -> list[str]:
    """The responses that go on from one."""
    listed = caller.get("/v1/responses").json["data"]
    return [one["id"] for one in listed if one["previous_response_id"] == response]


@pytest.mark.slow
def test_it_goes_on_in_another_process(start_server: Callable[..., ServerProcess], held: HeldModel) -> None:
    server = start_server()
    caller, first, second = Caller(server.port), held.hold(), held.hold()
    with opened(server) as socket:
        old = begun(socket, first)
        assert socket.steer(old, second.question)["type"] == "response.steer.accepted"
        first.end("One.")
        socket.until("response.completed")
        new = socket.next()["response"]["id"]
        eventually(lambda: len(second.asked) == 1)
        server.kill()
    second.end()
    caller.port = server.start().port
    eventually(lambda: len(second.asked) == 2)
    second.end("Two.")
    told = eventually(lambda: (now := caller.get(f"/v1/responses/{new}").json)["status"] == "completed" and now)
    assert text(told) == "Two."
    assert [one["content"] for one in second.asked[1]] == [first.question, "One.", second.question]
    assert second.asked[0] == second.asked[1]


@pytest.mark.slow
def test_what_waits_is_heard_in_another_process(start_server: Callable[..., ServerProcess], held: HeldModel) -> None:
    server = start_server()
    caller, first, second = Caller(server.port), held.hold(), held.hold()
    with opened(server) as socket:
        old = begun(socket, first)
        assert socket.steer(old, second.question)["type"] == "response.steer.accepted"
        server.kill()
    first.end()
    caller.port = server.start().port
    eventually(lambda: len(first.asked) == 2)
    first.end("One.")
    second.end("Two.")
    eventually(lambda: caller.get(f"/v1/responses/{old}").json["status"] == "completed")
    [new] = following(caller, old)
    eventually(lambda: text(caller.get(f"/v1/responses/{new}").json) == "Two.")

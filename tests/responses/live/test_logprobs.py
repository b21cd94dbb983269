"""The probabilities of tokens: asked of the endpoint, and told by answers, streams and what is kept of them."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from openai import OpenAI
from openai.types.responses import Response

from tests.support.live.caller import Caller
from tests.support.live.openai_api import MODEL, answered, asked, created, frames_of, streamed
from tests.support.live.process import ServerProcess
from tests.support.model_lab import ModelLab

pytestmark = pytest.mark.server

LOGPROBS = "message.output_text.logprobs"
INCLUDED: dict[str, Any] = {"include": [LOGPROBS]}
WORDS = ("say It is blue,", "say and so on.")


def told(response: dict[str, Any]) -> list[dict[str, Any]]:
    """The probabilities of a response's only message."""
    [part] = [part for item in response["output"] if item["type"] == "message" for part in item["content"]]
    logprobs: list[dict[str, Any]] = part["logprobs"]
    return logprobs


def tokens(logprobs: Sequence[dict[str, Any]]) -> str:
    return "".join(entry["token"] for entry in logprobs)


def test_each_token_has_its_probability(openai_client: OpenAI) -> None:
    body = asked(*WORDS, top_logprobs=3, include=[LOGPROBS])
    response: Response = openai_client.responses.create(**body)

    [message] = response.output
    assert message.type == "message"
    [part] = message.content
    assert part.type == "output_text"
    assert part.logprobs is not None
    assert "".join(entry.token for entry in part.logprobs) == response.output_text == "It is blue,\nand so on."
    for entry in part.logprobs:
        assert bytes(entry.bytes) == entry.token.encode()
        assert entry.logprob <= 0
        assert [other.token for other in entry.top_logprobs][:1] == [entry.token]
        assert len(entry.top_logprobs) == 3
    assert response.top_logprobs == 3
    assert openai_client.responses.retrieve(response.id) == response


@pytest.mark.parametrize(("more", "top"), [(INCLUDED, 0), ({"top_logprobs": 2}, 2)])
def test_either_field_asks_for_them(caller: Caller, more: dict[str, Any], top: int) -> None:
    response = created(caller, *WORDS, **more)
    assert tokens(told(response)) == "It is blue,\nand so on."
    assert {len(entry["top_logprobs"]) for entry in told(response)} == {top}


def test_without_being_asked_none_are_told(caller: Caller) -> None:
    assert told(created(caller, *WORDS)) == []


def test_a_stream_tells_them_with_the_words(caller: Caller) -> None:
    frames = streamed(caller, asked("think Hm.", *WORDS, top_logprobs=1))

    deltas = [frame.data for frame in frames if frame.type == "response.output_text.delta"]
    assert [tokens(delta["logprobs"]) for delta in deltas] == [delta["delta"] for delta in deltas]
    [done] = [frame.data for frame in frames if frame.type == "response.output_text.done"]
    assert done["logprobs"] == [entry for delta in deltas for entry in delta["logprobs"]]
    [added] = [frame.data for frame in frames if frame.type == "response.content_part.done"]
    assert added["part"]["logprobs"] == done["logprobs"]
    assert told(frames[-1].data["response"]) == done["logprobs"]

    path = f"/v1/responses/{frames[0].data['response']['id']}"
    replayed = frames_of(answered(caller.get(f"{path}?stream=true")).body)
    assert [frame.raw for frame in replayed] == [frame.raw for frame in frames]
    later = frames_of(answered(caller.get(f"{path}?stream=true&starting_after=9")).body)
    assert [frame.raw for frame in later] == [frame.raw for frame in frames[10:]]
    assert told(caller.get(path).json) == done["logprobs"]


def test_items_of_a_conversation_have_them(caller: Caller) -> None:
    conversation = caller.post("/v1/conversations", {}).json["id"]
    response = created(caller, *WORDS, conversation=conversation, **INCLUDED)
    items = caller.get(f"/v1/conversations/{conversation}/items").json["data"]
    assert told({"output": [item for item in items if item.get("role") == "assistant"]}) == told(response)


def test_a_turn_that_is_reopened_keeps_them(caller: Caller) -> None:
    """The log of a turn that waits for its client is packed, and unpacked when it answers."""
    tool = {"type": "function", "name": "look", "parameters": {"type": "object", "properties": {}}}
    script = ("say Wait.", "call look {}", "then", "say Seen.")
    first = streamed(caller, asked(*script, tools=[tool], **INCLUDED))
    response = first[-1].data["response"]
    [call] = [item for item in response["output"] if item["type"] == "function_call"]
    answer = {"type": "function_call_output", "call_id": call["call_id"], "output": "x"}
    body = {"model": MODEL, "previous_response_id": response["id"], "input": [answer], "tools": [tool], **INCLUDED}
    second = answered(caller.post("/v1/responses", body)).json

    assert tokens(told(second)) == "Seen."
    replayed = frames_of(answered(caller.get(f"/v1/responses/{response['id']}?stream=true")).body)
    assert [frame.raw for frame in replayed] == [frame.raw for frame in first]


@pytest.fixture
def question() -> str:
    """What no other test asks."""
    return f"Who are you? {uuid.uuid4().hex}"


@pytest.fixture
def of_lab(guarded: ServerProcess) -> Caller:
    return Caller(guarded.port)


@pytest.fixture
def lab_client(guarded: ServerProcess) -> Iterator[OpenAI]:
    with OpenAI(base_url=f"{guarded.base}/v1", api_key="none", max_retries=0) as client:
        yield client


def delta(text: str | None, logprobs: Any = None, finish: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": {"content": text}, "logprobs": logprobs, "finish_reason": finish}
    return {"choices": [choice]}


def likely(token: str, **more: Any) -> dict[str, Any]:
    return {"token": token, "logprob": -0.5, "bytes": None, "top_logprobs": [], **more}


def from_endpoint(caller: Caller, *events: dict[str, Any]) -> dict[str, Any]:
    body = {"model": "lab/told", "input": json.dumps([*events, delta(None, None, "stop")]), **INCLUDED}
    response: dict[str, Any] = answered(caller.post("/v1/responses", body)).json
    return response


def test_they_are_asked_of_the_endpoint(of_lab: Caller, lab: ModelLab, question: str) -> None:
    of_lab.post("/v1/responses", {"model": "lab/chat", "input": question, "top_logprobs": 4})
    sent = lab.sent("/chat/completions", question)
    assert (sent["logprobs"], sent["top_logprobs"]) == (True, 4)


def test_they_are_not_asked_for_unless_wanted(of_lab: Caller, lab: ModelLab, question: str) -> None:
    of_lab.post("/v1/responses", {"model": "lab/chat", "input": question})
    assert not {"logprobs", "top_logprobs"} & lab.sent("/chat/completions", question).keys()


def test_an_endpoint_that_gives_none_leaves_the_lists_empty(of_lab: Caller, question: str) -> None:
    response = answered(of_lab.post("/v1/responses", {"model": "lab/chat", "input": question, **INCLUDED})).json
    assert response["status"] == "completed"
    assert told(response) == []


def test_what_an_endpoint_gives_is_told(of_lab: Caller) -> None:
    other = {"token": "Ho", "logprob": -2, "bytes": [72, 111]}
    response = from_endpoint(
        of_lab,
        delta("Hi", {"content": [likely("Hi", bytes=[72, 105], top_logprobs=[other])]}),
        delta("", {"content": [likely("", bytes=[226, 130])]}),
        delta("€", {"content": [likely("€", bytes=[172])]}),
    )
    assert told(response) == [
        {"token": "Hi", "logprob": -0.5, "bytes": [72, 105], "top_logprobs": [other]},
        likely("", bytes=[226, 130]),
        likely("€", bytes=[172]),
    ]


@pytest.mark.parametrize(
    "logprobs",
    [
        "x",
        [],
        {"content": "x"},
        {"content": [1, None, {"token": 1, "logprob": 1}, {"token": "x"}, {"token": "x", "logprob": "y"}]},
        {"content": [{"token": "x" * 2000, "logprob": 1}, {"token": "x", "logprob": True}]},
        {"tokens": ["x"], "token_logprobs": [-1]},
    ],
)
def test_what_cannot_be_read_is_left_out(of_lab: Caller, logprobs: Any) -> None:
    response = from_endpoint(of_lab, delta("Hi", logprobs))
    assert response["status"] == "completed"
    assert told(response) == []


def test_bytes_that_are_none_are_those_of_the_token(of_lab: Caller) -> None:
    wrong = [None, "x", [256], [-1], [True]]
    response = from_endpoint(of_lab, delta("é" * 5, {"content": [likely("é", bytes=value) for value in wrong]}))
    assert [entry["bytes"] for entry in told(response)] == [[195, 169]] * 5


def test_a_completion_that_is_relayed_keeps_them(lab_client: OpenAI, of_lab: Caller) -> None:
    events = [
        delta("Hi", {"content": [likely("Hi")]}),
        delta("!", {"content": [likely("!")]}),
        delta(None, None, "stop"),
    ]
    messages = [{"role": "user", "content": json.dumps(events)}]
    asks: dict[str, Any] = {"model": "lab/told", "messages": messages, "logprobs": True}
    chunks: list[Any] = list(lab_client.chat.completions.create(**asks, stream=True))
    choices = [chunk.choices[0] for chunk in chunks if chunk.choices]
    given = [entry.token for choice in choices if choice.logprobs for entry in choice.logprobs.content or ()]
    assert given == ["Hi", "!"]
    kept = lab_client.chat.completions.retrieve(chunks[0].id)
    assert kept.choices[0].logprobs is not None
    assert [entry.token for entry in kept.choices[0].logprobs.content or ()] == ["Hi", "!"]
    assert kept.choices[0].message.content == "Hi!"


@pytest.mark.parametrize("streams", [True, False])
def test_a_completion_of_the_scripted_model_has_them(openai_client: OpenAI, streams: bool) -> None:
    asks: dict[str, Any] = {
        "model": MODEL,
        "messages": [{"role": "user", "content": "!script say It is blue."}],
        "logprobs": True,
        "top_logprobs": 2,
    }
    choices: list[Any]
    if streams:
        choices = [chunk.choices[0] for chunk in openai_client.chat.completions.create(**asks, stream=True)]
    else:
        choices = openai_client.chat.completions.create(**asks).choices
    given = [entry for choice in choices if choice.logprobs for entry in choice.logprobs.content or ()]
    assert "".join(entry.token for entry in given) == "It is blue."
    assert {len(entry.top_logprobs) for entry in given} == {2}

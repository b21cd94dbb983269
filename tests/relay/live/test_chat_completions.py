"""Chat completions with the official clients: handed on, streamed, logged."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import openai
import pytest
from llama_stack_client import LlamaStackClient
from openai import OpenAI
from openai.types.shared_params import FunctionDefinition

from tests.relay.live.conftest import logged
from tests.support.live.caller import Caller
from tests.support.live.process import ServerProcess, eventually
from tests.support.model_lab import ModelLab

pytestmark = pytest.mark.server

NOTHING = [{"index": 0, "message": {"role": "assistant", "content": ""}, "logprobs": None, "finish_reason": "length"}]
"""The choices of a completion that failed before anything had come."""


@pytest.fixture
def caller(guarded: ServerProcess) -> Caller:
    return Caller(guarded.port)


@pytest.fixture
def client(guarded: ServerProcess) -> Iterator[OpenAI]:
    with OpenAI(base_url=f"{guarded.base}/v1", api_key="none", max_retries=0) as client:
        yield client


def test_a_request_is_handed_on_and_logged(client: OpenAI, caller: Caller, lab: ModelLab, question: str) -> None:
    messages: Any = [{"role": "user", "content": question}]
    answer = client.chat.completions.create(
        model="lab/chat",
        messages=messages,
        seed=5,
        metadata={"team": "red"},
        store=True,
        extra_body={"guided_choice": ["a", "b"]},
    )

    assert answer.choices[0].message.content == f"You said: {question}"
    assert (answer.model, answer.system_fingerprint) == ("lab/chat", "fp")
    sent = lab.sent("/chat/completions", question)
    assert sent == {"model": "chat", "messages": messages, "seed": 5, "guided_choice": ["a", "b"]}
    kept = client.chat.completions.retrieve(answer.id)
    assert kept.choices == answer.choices
    assert kept.usage == answer.usage
    row = caller.get(f"/v1/openai/v1/chat/completions/{answer.id}").json
    assert (row["input_messages"], row["metadata"], row["status"]) == (messages, {"team": "red"}, "completed")


@pytest.mark.parametrize("usage", [True, False])
def test_a_stream_is_handed_on_and_put_together(client: OpenAI, question: str, usage: bool) -> None:
    chunks = list(
        client.chat.completions.create(
            model="lab/chat",
            messages=[{"role": "user", "content": question}],
            stream=True,
            stream_options={"include_usage": usage},
        )
    )

    assert {chunk.id for chunk in chunks} == {chunks[0].id}
    assert {chunk.system_fingerprint for chunk in chunks} == {"fp"}
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert text == f"You said: {question}"
    assert [chunk.usage.total_tokens for chunk in chunks if chunk.usage] == ([9] if usage else [])
    kept = client.chat.completions.retrieve(chunks[0].id)
    assert kept.choices[0].message.content == text
    assert kept.choices[0].finish_reason == "stop"
    assert kept.usage is not None
    assert kept.usage.total_tokens == 9


def test_no_stream_ends_with_done(caller: Caller) -> None:
    """Llama Stack's clients would stumble over it, and OpenAI's need none."""
    body = {"model": "lab/chat", "messages": [{"role": "user", "content": "x"}], "stream": True}
    with caller.open("POST", "/v1/chat/completions", body) as response:
        assert response.headers["Content-Type"].startswith("text/event-stream")
        assert b"[DONE]" not in response.read()


def test_the_older_client_streams_too(guarded: ServerProcess, question: str) -> None:
    with LlamaStackClient(base_url=guarded.base) as client:
        chunks = list(
            client.chat.completions.create(
                model="lab/chat", messages=[{"role": "user", "content": question}], stream=True
            )
        )
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == f"You said: {question}"


def test_a_caller_who_leaves_is_logged_with_what_had_come(client: OpenAI, caller: Caller, lab: ModelLab) -> None:
    question = f"slow {uuid.uuid4()}"
    lab.left.clear()
    stream = client.chat.completions.create(
        model="lab/slow", messages=[{"role": "user", "content": question}], stream=True
    )
    assert next(iter(stream)).choices[0].delta.content
    stream.close()

    row = logged(caller, question)
    assert row["status"] == "cancelled"
    said = row["choices"][0]["message"]["content"]
    assert said
    assert f"You said: {question}".startswith(said)
    assert lab.left.wait(15)  # and the endpoint need not go on


def test_a_caller_who_does_not_wait_is_logged_too(caller: Caller, lab: ModelLab) -> None:
    body = {"model": "lab/slow", "messages": [{"role": "user", "content": f"slow {uuid.uuid4()}"}]}
    question = body["messages"][0]["content"]  # type: ignore[index]  # made above
    lab.left.clear()
    with caller.sent("POST", "/v1/chat/completions", body):
        eventually(lambda: any(question in str(sent) for _, sent in lab.seen))
    row = logged(caller, question)
    assert (row["status"], row["choices"]) == ("cancelled", NOTHING)
    assert lab.left.wait(15)


def test_a_refusal_is_told_and_logged(client: OpenAI, caller: Caller, question: str) -> None:
    for stream in (False, True):
        with pytest.raises(openai.BadRequestError, match="too hot"):
            client.chat.completions.create(
                model="lab/strict", messages=[{"role": "user", "content": f"{question} {stream}"}], stream=stream
            )
        row = logged(caller, f"{question} {stream}")
        assert (row["status"], row["choices"]) == ("failed", NOTHING)


def test_an_answer_that_breaks_off_is_no_answer(client: OpenAI, caller: Caller, question: str) -> None:
    stream = client.chat.completions.create(
        model="lab/cut", messages=[{"role": "user", "content": question}], stream=True
    )
    with pytest.raises(openai.APIError, match="cut its answer"):
        list(stream)
    assert logged(caller, question)["status"] == "failed"


def test_what_says_so_is_not_logged(client: OpenAI, caller: Caller, question: str) -> None:
    answer = client.chat.completions.create(
        model="lab/chat", messages=[{"role": "user", "content": question}], store=False
    )
    with pytest.raises(openai.NotFoundError):
        client.chat.completions.retrieve(answer.id)
    assert question not in caller.get("/v1/chat/completions?limit=100").body.decode()


def test_the_log_is_listed_by_pages(client: OpenAI, question: str) -> None:
    asked = [
        client.chat.completions.create(
            model="lab/chat", messages=[{"role": "user", "content": f"{question} {number}"}]
        ).id
        for number in range(7)
    ]
    ours = [one.id for one in client.chat.completions.list(model="lab/chat", limit=3) if one.id in asked]
    assert ours == asked[::-1]
    page = client.chat.completions.list(model="lab/chat", limit=2, order="asc", after=asked[2])
    assert [one.id for one in page.data] == asked[3:5]
    assert page.has_more


def test_the_messages_of_a_call_are_listed(client: OpenAI, question: str) -> None:
    image = {"type": "image_url", "image_url": {"url": "https://example.com/kettle.png"}}
    parts = [{"type": "text", "text": "one"}, image, {"type": "text", "text": "two"}, {"type": "other"}]
    messages: Any = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": parts, "name": "ann"}]
    messages.append({"role": "user", "content": question})
    made = client.chat.completions.create(model="lab/chat", messages=messages)
    listing = client.chat.completions.messages
    whole = [one.to_dict() for one in listing.list(made.id)]

    assert whole == [
        {"id": f"{made.id}-0", "role": "system", "content": "Be brief.", "refusal": None, "content_parts": None},
        {
            **{"id": f"{made.id}-1", "role": "user", "name": "ann", "refusal": None},
            **{"content": "one\ntwo", "content_parts": parts[:3]},
        },
        {"id": f"{made.id}-2", "role": "user", "content": question, "refusal": None, "content_parts": None},
    ]
    first = listing.list(made.id, limit=2)
    assert (first.has_more, [one.id for one in first.data]) == (True, [f"{made.id}-0", f"{made.id}-1"])
    assert [one.id for one in listing.list(made.id, after=f"{made.id}-0", order="desc")] == []
    assert [one.id for one in listing.list(made.id, order="desc", limit=1)] == [one["id"] for one in reversed(whole)]
    for wrong in ({"after": "x"}, {"order": "up"}, {"limit": 0}):
        with pytest.raises(openai.BadRequestError) as refused:
            listing.list(made.id, **wrong)
        assert refused.value.param == next(iter(wrong))
    with pytest.raises(openai.NotFoundError):
        listing.list("chatcmpl-nobodys")


def test_the_metadata_of_a_call_are_replaced(client: OpenAI, question: str) -> None:
    messages: Any = [{"role": "user", "content": question * 100}]
    made = client.chat.completions.create(model="lab/chat", messages=messages, metadata={"a": "b"})
    changed = client.chat.completions.update(made.id, metadata={"c": "d"})

    assert (changed.metadata, changed.choices, changed.usage) == ({"c": "d"}, made.choices, made.usage)
    assert client.chat.completions.retrieve(made.id) == changed
    assert client.chat.completions.update(made.id, metadata=None).metadata is None
    metadata: list[Any] = [{"x" * 65: "y"}, {"x": "y" * 513}, {str(number): "" for number in range(17)}, {"x": 1}]
    for wrong in metadata:
        with pytest.raises(openai.BadRequestError) as refused:
            client.chat.completions.update(made.id, metadata=wrong)
        assert str(refused.value.param).startswith("metadata")
    with pytest.raises(openai.NotFoundError):
        client.chat.completions.update("chatcmpl-nobodys", metadata={})


def test_a_call_is_forgotten(client: OpenAI, question: str) -> None:
    answer = client.chat.completions.create(model="lab/chat", messages=[{"role": "user", "content": question}])
    assert client.chat.completions.delete(answer.id).deleted
    with pytest.raises(openai.NotFoundError):
        client.chat.completions.delete(answer.id)


def test_the_scripted_model_calls_tools(client: OpenAI) -> None:
    function: FunctionDefinition = {
        "name": "get_weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
    }
    chunks = client.chat.completions.create(
        model="scripted/fast",
        messages=[{"role": "user", "content": "How are you?"}],
        tools=[{"type": "function", "function": function}],
        tool_choice={"type": "function", "function": {"name": "get_weather"}},
        stream=True,
    )
    calls = [call for chunk in chunks for choice in chunk.choices for call in choice.delta.tool_calls or ()]
    assert calls[0].function is not None
    assert calls[0].function.name == "get_weather"


def test_embeddings_are_handed_on_or_made(client: OpenAI) -> None:
    handed_on = client.embeddings.create(model="lab/embed", input="hello", encoding_format="float")
    assert (handed_on.data[0].embedding, handed_on.model) == ([1.0, 0.5], "lab/embed")
    made = client.embeddings.create(model="scripted/embed", input=["hello", "world"])  # in base64, which is decoded
    assert [len(one.embedding) for one in made.data] == [384, 384]
    plain = client.embeddings.create(model="scripted/embed", input="hello", encoding_format="float")
    assert plain.data[0].embedding == pytest.approx(made.data[0].embedding, abs=1e-6)
    with pytest.raises(openai.BadRequestError, match="dimensions"):
        client.embeddings.create(model="scripted/embed", input="hello", dimensions=7)

"""Requests of Anthropic's Messages API to an endpoint that speaks it: they get there as they came, and the answer comes
back as it is, under an id of this server's log."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import anthropic
import pytest
from anthropic import Anthropic

from tests.relay.live.conftest import logged
from tests.support.http_endpoint import JSON, Reply, Request, answering, json_reply
from tests.support.live.caller import Caller
from tests.support.live.process import ServerProcess, running

pytestmark = pytest.mark.server

PDF: Any = {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="}}
USAGE = {"input_tokens": 5, "cache_read_input_tokens": 20, "cache_creation_input_tokens": 3, "output_tokens": 1}
MESSAGE: Any = {
    "id": "msg_theirs",
    "type": "message",
    "role": "assistant",
    "model": "claude-1",
    "content": [
        {"type": "thinking", "thinking": "Hm.", "signature": "c2lnbmVk"},
        {"type": "text", "text": "Sunny."},
        {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {"city": "Oslo"}},
    ],
    "stop_reason": "tool_use",
    "stop_sequence": None,
    "usage": {**USAGE, "output_tokens": 9},
}


def event(kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": kind, **fields}


EVENTS = [
    event("message_start", message={**MESSAGE, "content": [], "stop_reason": None, "usage": USAGE}),
    event("ping"),
    event("content_block_start", index=0, content_block={"type": "thinking", "thinking": "", "signature": ""}),
    event("content_block_delta", index=0, delta={"type": "thinking_delta", "thinking": "Hm."}),
    event("content_block_delta", index=0, delta={"type": "signature_delta", "signature": "c2lnbmVk"}),
    event("content_block_stop", index=0),
    event("content_block_start", index=1, content_block={"type": "text", "text": ""}),
    event("content_block_delta", index=1, delta={"type": "text_delta", "text": "Sunny."}),
    event("content_block_stop", index=1),
    event("content_block_start", index=2, content_block=event("tool_use", id="toolu_1", name="weather", input={})),
    event("content_block_delta", index=2, delta={"type": "input_json_delta", "partial_json": '{"city": "Oslo"}'}),
    event("content_block_stop", index=2),
    event("message_delta", delta={"stop_reason": "tool_use", "stop_sequence": None}, usage={"output_tokens": 9}),
    event("message_stop"),
]


def stream(*events: Any) -> Reply:
    body = "".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in events)
    return Reply(body.encode(), headers={"Content-Type": "text/event-stream"})


@dataclass
class Endpoint:
    """``reply`` answers what comes, ``seen`` are the requests."""

    reply: Callable[[Request], Reply] = lambda _: json_reply(MESSAGE)
    seen: list[Request] = field(default_factory=list)

    def answer(self, request: Request) -> Reply:
        self.seen.append(request)
        return self.reply(request)


@pytest.fixture(scope="module")
def endpoint() -> Endpoint:
    return Endpoint()


@pytest.fixture(scope="module")
def relaying(endpoint: Endpoint, tmp_path_factory: pytest.TempPathFactory, data: Any) -> Iterator[ServerProcess]:
    with answering(endpoint.answer) as url:
        at = {"base_url": f"{url}/v1", "api_key": "sk-relayed-0123"}
        endpoints = {"theirs": {**at, "messages": "x-api-key"}, "bearer": {**at, "messages": "bearer"}}
        environment = {"DEFAULT_ENDPOINT": "scripted", "MODEL_ENDPOINTS": json.dumps(endpoints)}
        with running(tmp_path_factory.mktemp("relaying"), environment, data=data) as process:
            yield process


@pytest.fixture
def client(relaying: ServerProcess, endpoint: Endpoint) -> Iterator[Anthropic]:
    endpoint.seen.clear()
    with Anthropic(base_url=relaying.base, api_key="none", max_retries=0) as client:
        yield client


@pytest.fixture
def caller(relaying: ServerProcess) -> Caller:
    return Caller(relaying.port)


def ask(client: Anthropic, *content: Any, model: str = "theirs/claude-1", **more: Any) -> Any:
    message: Any = {"role": "user", "content": list(content)}
    return client.messages.create(model=model, max_tokens=100, messages=[message], **more)


def text(words: str) -> Any:
    return {"type": "text", "text": words}


def test_a_request_gets_there_as_it_came(client: Anthropic, endpoint: Endpoint, question: str) -> None:
    endpoint.reply = lambda _: json_reply(MESSAGE)
    tools: Any = [{"type": "web_search_20250305", "name": "web_search"}]
    answer = ask(client, PDF, text(question), tools=tools, extra_headers={"anthropic-beta": "pdfs-2026"})
    [seen] = endpoint.seen
    assert seen.path == "/v1/messages"
    sent = json.loads(seen.body)
    assert (sent["model"], sent["tools"], sent["max_tokens"]) == ("claude-1", tools, 100)
    assert sent["messages"] == [{"role": "user", "content": [PDF, text(question)]}]
    assert (seen.headers["x-api-key"], seen.headers["authorization"]) == ("sk-relayed-0123", None)
    assert seen.headers["anthropic-version"] == client.default_headers["anthropic-version"]
    assert seen.headers["anthropic-beta"] == "pdfs-2026"
    assert answer.model == "theirs/claude-1"
    assert answer.id != "msg_theirs"
    assert [block.type for block in answer.content] == ["thinking", "text", "tool_use"]
    assert answer.content[0].signature == "c2lnbmVk"


def test_the_key_may_be_a_bearer(client: Anthropic, endpoint: Endpoint) -> None:
    endpoint.reply = lambda _: json_reply(MESSAGE)
    ask(client, text("hi"), model="bearer/claude-1")
    [seen] = endpoint.seen
    assert (seen.headers["authorization"], seen.headers["x-api-key"]) == ("Bearer sk-relayed-0123", None)


@pytest.mark.parametrize("streams", [True, False])
def test_it_is_in_the_log_in_the_words_of_chat_completions(
    client: Anthropic, caller: Caller, endpoint: Endpoint, question: str, streams: bool
) -> None:
    endpoint.reply = lambda _: stream(*EVENTS) if streams else json_reply(MESSAGE)
    message: Any = {"role": "user", "content": question}
    answer: Any
    if streams:
        with client.messages.stream(model="theirs/claude-1", max_tokens=100, messages=[message]) as received:
            answer = received.get_final_message()
    else:
        answer = client.messages.create(model="theirs/claude-1", max_tokens=100, messages=[message])
    assert [block.type for block in answer.content] == ["thinking", "text", "tool_use"]

    found = caller.get(f"/v1/chat/completions/{answer.id}").json
    assert found["model"] == "theirs/claude-1"
    assert found == logged(caller, question)
    [choice] = found["choices"]
    said = choice["message"]
    assert (said["content"], said["reasoning_content"]) == ("Sunny.", "Hm.")
    assert json.loads(said["tool_calls"][0]["function"]["arguments"]) == {"city": "Oslo"}
    assert (choice["finish_reason"], found["status"], found["relayed"]) == ("tool_calls", "completed", True)
    usage = found["usage"]
    assert (usage["prompt_tokens"], usage["completion_tokens"]) == (28, 9)
    assert usage["prompt_tokens_details"]["cached_tokens"] == 20


def test_a_stream_is_passed_on_byte_by_byte(caller: Caller, endpoint: Endpoint) -> None:
    endpoint.reply = lambda _: stream(*EVENTS)
    body = {"model": "theirs/claude-1", "max_tokens": 9, "stream": True, "messages": [{"role": "user", "content": "a"}]}
    received = caller.post("/v1/messages", body).body
    first, _, rest = received.partition(b"\n\n")
    assert rest == stream(*EVENTS[1:]).body
    assert json.loads(first.split(b"data: ")[1])["message"]["id"] != "msg_theirs"


def test_errors_of_the_endpoint_are_told(client: Anthropic, endpoint: Endpoint) -> None:
    refused = {"type": "error", "error": {"type": "invalid_request_error", "message": "max_tokens: too many"}}
    endpoint.reply = lambda _: json_reply(refused, 400)
    with pytest.raises(anthropic.BadRequestError, match="max_tokens: too many"):
        ask(client, text("hi"))


@pytest.mark.parametrize(
    ("events", "reason"),
    [
        (EVENTS[:4], "cut its answer"),
        ([*EVENTS[:4], {"type": "error", "error": {"type": "overloaded_error", "message": "Busy."}}], "Busy."),
        ([*EVENTS[:4], {"no": "type"}], "without a type"),
        ([{"type": "evil\ndata: x"}], "without a type"),
    ],
)
def test_a_stream_that_breaks_off_ends_with_an_error_and_is_logged(
    caller: Caller, endpoint: Endpoint, question: str, events: Any, reason: str
) -> None:
    safe = "".join(f"data: {json.dumps(one)}\n\n" for one in events)
    endpoint.reply = lambda _: Reply(safe.encode(), headers={"Content-Type": "text/event-stream"})
    asked = [{"role": "user", "content": question}]
    body = {"model": "theirs/claude-1", "max_tokens": 9, "stream": True, "messages": asked}
    received = caller.post("/v1/messages", body)
    last = json.loads(received.body.rsplit(b"data: ", 1)[1]) if received.status == 200 else received.json
    assert last["type"] == "error"
    assert reason in last["error"]["message"]
    found = logged(caller, question)
    assert (found["status"], reason in found["error"]["message"]) == ("failed", True)


@pytest.mark.parametrize(
    "answer", [b"[]", b"{}", b'{"type": "message"}', b"nonsense", b'{"type":"message","content":7}']
)
def test_any_answer_is_an_error_or_a_message(caller: Caller, endpoint: Endpoint, answer: bytes) -> None:
    endpoint.reply = lambda _: Reply(answer, headers=JSON)
    body = {"model": "theirs/claude-1", "max_tokens": 9, "messages": [{"role": "user", "content": "a"}]}
    assert caller.post("/v1/messages", body).status in (200, 502)


def test_tokens_are_counted_by_the_endpoint(client: Anthropic, endpoint: Endpoint) -> None:
    endpoint.reply = lambda _: json_reply({"input_tokens": 77})
    message: Any = {"role": "user", "content": [PDF]}
    assert client.messages.count_tokens(model="theirs/claude-1", messages=[message]).input_tokens == 77
    assert endpoint.seen[-1].path == "/v1/messages/count_tokens"


def test_tokens_are_estimated_where_the_endpoint_does_not_count(caller: Caller, endpoint: Endpoint) -> None:
    endpoint.reply = lambda _: json_reply({"error": {"message": "no such route"}}, 404)
    body = {"model": "theirs/claude-1", "messages": [{"role": "user", "content": "How many?"}]}
    counted = caller.post("/v1/messages/count_tokens", body)
    assert counted.status == 200
    assert counted.headers["x-tokens-estimated"] == "true"

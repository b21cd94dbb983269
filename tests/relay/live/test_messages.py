"""Anthropic's Messages API with its official client: asked, streamed, with tools, logged, refused."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Iterator
from typing import Any

import anthropic
import pytest
from anthropic import Anthropic, AsyncAnthropic, beta_tool
from pydantic import BaseModel

from tests.relay.live.conftest import logged
from tests.support.live.caller import Caller, Talk, script, tool
from tests.support.live.process import ServerProcess
from tests.support.model_lab import ModelLab

pytestmark = pytest.mark.server

WEATHER: Any = {
    "name": "get_weather",
    "description": "The weather of a city.",
    "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}
PIXEL = "iVBORw0KGgo="


@pytest.fixture
def caller(guarded: ServerProcess) -> Caller:
    return Caller(guarded.port)


@pytest.fixture
def client(guarded: ServerProcess) -> Iterator[Anthropic]:
    with Anthropic(base_url=guarded.base, api_key="none", max_retries=0) as client:
        yield client


def user(content: Any) -> Any:
    return {"role": "user", "content": content}


def ask(client: Any, *messages: Any, model: str = "scripted/fast", **more: Any) -> Any:
    """A message; a text is a message of the user."""
    sent = [user(each) if isinstance(each, str) else each for each in messages]
    return client.messages.create(model=model, max_tokens=1000, messages=sent, **more)


def streamed(client: Any, *messages: Any, model: str = "scripted/fast", **more: Any) -> Any:
    """The events of a stream, and the message that the client made of them."""
    sent = [user(each) if isinstance(each, str) else each for each in messages]
    with client.messages.stream(model=model, max_tokens=1000, messages=sent, **more) as stream:
        return [event.type for event in stream], stream.get_final_message()


def told(*chunks: Any) -> str:
    """A question that ``lab/told`` answers by these deltas, or whole choices, and then stops."""
    choices = [each if "delta" in each else {"delta": each} for each in chunks]
    events: list[Any] = [{"choices": [{"index": 0, "finish_reason": None, **choice}]} for choice in choices]
    usage = {"prompt_tokens": 30, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 20}}
    return json.dumps([*events, {"choices": [], "usage": usage}])


STOPPED = {"delta": {}, "finish_reason": "stop"}


# ------------------------------------------------------------------------------------------- messages


def test_a_model_answers_and_is_logged(client: Anthropic, caller: Caller, lab: ModelLab, question: str) -> None:
    answer = ask(
        client,
        question,
        model="lab/chat",
        system=[{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
        stop_sequences=["END"],
        metadata={"user_id": "somebody"},
        service_tier="auto",
        output_config={"effort": "max"},
        extra_body={"temperature": 0.5, "top_p": 0.9, "top_k": 5, "unheard_of": True},
    )

    assert [block.text for block in answer.content] == [f"You said: {question}"]
    assert (answer.type, answer.role, answer.model, answer.stop_reason) == (
        "message",
        "assistant",
        "lab/chat",
        "end_turn",
    )
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (7, 2)
    assert answer._request_id
    sent = lab.sent("/chat/completions", question)
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": question}]
    assert sent == {
        "model": "chat",
        "messages": messages,
        "max_tokens": 1000,
        "temperature": 0.5,
        "top_p": 0.9,
        "top_k": 5,
        "stop": ["END"],
        "reasoning_effort": "xhigh",
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    row = caller.get(f"/v1/chat/completions/{answer.id}").json
    assert (row["input_messages"], row["status"], row["api"]) == (messages, "completed", "messages")
    assert row["choices"][0]["message"]["content"] == f"You said: {question}"
    assert row["id"].removeprefix("chatcmpl-") == answer.id.removeprefix("msg_")


def test_a_stream_says_the_same(client: Anthropic, caller: Caller, question: str) -> None:
    events, message = streamed(client, question, model="lab/chat")
    assert [name for name in dict.fromkeys(events)] == [
        "message_start",
        "content_block_start",
        "content_block_delta",
        "text",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]
    assert message.content[0].text == f"You said: {question}"
    assert (message.stop_reason, message.usage.input_tokens, message.usage.output_tokens) == ("end_turn", 7, 2)
    assert logged(caller, question)["status"] == "completed"


def test_frames_have_names(caller: Caller) -> None:
    body = {"model": "scripted/fast", "max_tokens": 9, "messages": [user(script("say Hi."))], "stream": True}
    with caller.open("POST", "/v1/messages", body) as response:
        assert response.headers["Content-Type"].startswith("text/event-stream")
        assert response.headers["request-id"] == response.headers["x-request-id"]
        frames = [frame.split(b"\n") for frame in response.read().strip().split(b"\n\n")]
    data = [json.loads(lines[1].removeprefix(b"data: ")) for lines in frames]
    assert [lines[0] for lines in frames] == [f"event: {each['type']}".encode() for each in data]
    start, begun, delta, ended, end, stop = data
    message = start["message"]
    assert message.pop("id").startswith("msg_")
    usage = {"input_tokens": 0, "output_tokens": 0, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
    empty: Any = {"type": "message", "role": "assistant", "content": [], "stop_reason": None, "stop_sequence": None}
    assert message == {**empty, "model": "scripted/fast", "usage": usage}
    assert begun == {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
    assert delta == {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hi."}}
    assert ended == {"type": "content_block_stop", "index": 0}
    assert end["delta"] == {"stop_reason": "end_turn", "stop_sequence": None}
    assert end["usage"]["output_tokens"] == 1
    assert stop == {"type": "message_stop"}


def test_the_asynchronous_and_the_beta_client_work_too(guarded: ServerProcess, client: Anthropic) -> None:
    async def main() -> tuple[Any, Any]:
        async with AsyncAnthropic(base_url=guarded.base, auth_token="none", max_retries=0) as client:
            whole = await ask(client, script("say One."))
            sent: Any = {"model": "scripted/fast", "max_tokens": 100, "messages": [user(script("say Two."))]}
            async with client.messages.stream(**sent) as stream:
                return whole, await stream.get_final_message()

    whole, final = asyncio.run(main())
    assert (whole.content[0].text, final.content[0].text) == ("One.", "Two.")
    beta: Any = client.beta.messages.create(
        model="scripted/fast", max_tokens=100, messages=[user(script("say Three."))], betas=["context-1m-2025-08-07"]
    )
    assert beta.content[0].text == "Three."


def test_cached_tokens_are_counted_apart(client: Anthropic) -> None:
    answer = ask(client, told({"content": "Hi."}, STOPPED), model="lab/told")
    usage = answer.usage
    assert (usage.input_tokens, usage.cache_read_input_tokens, usage.output_tokens) == (10, 20, 5)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("length", "max_tokens"),
        ("finish content_filter", "refusal"),
        ("finish stop", "end_turn"),
        ("finish something", "end_turn"),
        ("call get_weather {}", "tool_use"),
    ],
)
def test_why_it_ended(client: Anthropic, line: str, reason: str) -> None:
    assert ask(client, script("say Hm.", line)).stop_reason == reason
    assert streamed(client, script("say Hm.", line))[1].stop_reason == reason


def test_a_stop_sequence_is_named_where_the_endpoint_tells(client: Anthropic) -> None:
    more: Any = {"stop_sequences": ["never", "three"]}
    for answer in (
        ask(client, script("say One two three four."), **more),
        streamed(client, script("say One two three four."), **more)[1],
        ask(client, told({"content": "One two "}, {**STOPPED, "stop_reason": "three"}), model="lab/told", **more),
    ):
        assert (answer.content[0].text.strip(), answer.stop_reason) == ("One two", "stop_sequence")
        assert answer.stop_sequence == "three"
    other = ask(client, told({"content": "One "}, {**STOPPED, "stop_reason": 128009}), model="lab/told", **more)
    assert (other.stop_reason, other.stop_sequence) == ("end_turn", None)


def test_an_answer_in_a_format(client: Anthropic) -> None:
    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    form: Any = {"type": "json_schema", "schema": schema}
    ways: Any = ({"output_config": {"format": form}}, {"extra_body": {"output_format": form}})
    for more in ways:
        assert json.loads(ask(client, "Where?", **more).content[0].text) == {"city": "city"}


class Place(BaseModel):
    city: str


def test_the_clients_own_helpers_work(client: Anthropic) -> None:
    parsed = client.messages.parse(
        model="scripted/fast", max_tokens=100, messages=[user("Where?")], output_format=Place
    )
    assert parsed.parsed_output == Place(city="city")

    @beta_tool
    def get_weather(city: str) -> str:
        """The weather of a city."""
        return f"Cold in {city}."

    runner = client.beta.messages.tool_runner(
        model="scripted/fast",
        max_tokens=100,
        tools=[get_weather],
        messages=[user(script('call get_weather {"city": "Bern"}', "then", "say So it is."))],
    )
    messages: list[Any] = list(runner)
    assert [message.stop_reason for message in messages] == ["tool_use", "end_turn"]
    assert messages[-1].content[0].text == "So it is."


# ------------------------------------------------------------------------------------------- thoughts


def test_thoughts_are_shown_to_who_asks_for_them(client: Anthropic) -> None:
    thinking = {"type": "enabled", "budget_tokens": 1024}
    talk = script("think Let me see.", "say It is six.")
    assert [block.type for block in ask(client, talk).content] == ["text"]
    for answer in (ask(client, talk, thinking=thinking), streamed(client, talk, thinking=thinking)[1]):
        first, second = answer.content
        assert (first.type, first.thinking, second.text) == ("thinking", "Let me see.", "It is six.")
        assert first.signature
    for omitted in (
        ask(client, talk, thinking={"type": "adaptive", "display": "omitted"}),
        streamed(client, talk, thinking={"type": "adaptive", "display": "omitted"})[1],
    ):
        assert (omitted.content[0].thinking, omitted.content[1].text) == ("", "It is six.")
        assert omitted.content[0].signature


def test_a_model_is_told_its_own_thoughts_again(client: Anthropic, lab: ModelLab, question: str) -> None:
    thought = told({"reasoning_content": "Hm."}, {"content": "Yes."}, STOPPED)
    first = ask(client, thought, model="lab/told", thinking={"type": "adaptive"})
    foreign = {"type": "thinking", "thinking": "What another thought.", "signature": "c2lnbmVk"}
    redacted = {"type": "redacted_thinking", "data": "aGlkZGVu"}
    answers = {"role": "assistant", "content": [foreign, redacted, *first.content]}
    sent = told({"content": question}, STOPPED)
    ask(client, "So?", answers, sent, model="lab/told")
    earlier = lab.sent("/chat/completions", question)["messages"][1]
    assert earlier == {"role": "assistant", "content": "Yes.", "reasoning_content": "Hm."}
    ask(client, "So?", answers, question, model="lab/chat")
    assert lab.sent("/chat/completions", question)["messages"][1] == {"role": "assistant", "content": "Yes."}


# ---------------------------------------------------------------------------------------------- tools


def test_tools_there_and_back(client: Anthropic, lab: ModelLab, question: str) -> None:
    asked = user(script("say I look.", 'call get_weather {"city": "Bern"}', "then", f"say Cold, {question}."))
    for first in (ask(client, asked, tools=[WEATHER]), streamed(client, asked, tools=[WEATHER])[1]):
        text, call = first.content
        assert (text.text, call.name, call.input) == ("I look.", "get_weather", {"city": "Bern"})
        assert first.stop_reason == "tool_use"
        answer = {"type": "tool_result", "tool_use_id": call.id, "content": [{"type": "text", "text": "-3 °C"}]}
        done = ask(client, asked, {"role": "assistant", "content": first.content}, user([answer]), tools=[WEATHER])
        assert (done.content[0].text, done.stop_reason) == (f"Cold, {question}.", "end_turn")


def test_what_an_endpoint_is_sent_of_tools(client: Anthropic, lab: ModelLab, question: str) -> None:
    call = {"type": "tool_use", "id": "c1", "name": "get_weather", "input": {"city": "Bern"}}
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}
    reference: Any = {"type": "tool_reference", "tool_name": "get_time"}
    results = [
        {"type": "tool_result", "tool_use_id": "c1", "content": "no city", "is_error": True},
        {"type": "tool_result", "tool_use_id": "c2", "content": [image]},
        {"type": "tool_result", "tool_use_id": "c3", "content": [{"type": "text", "text": "a"}, reference]},
        {"type": "tool_result", "tool_use_id": "c4"},
    ]
    said = {"role": "assistant", "content": [{"type": "text", "text": "I look."}, call, {**call, "id": "c2"}]}
    web: Any = {"type": "web_search_20250305", "name": "web_search"}
    bash: Any = {"type": "bash_20250124", "name": "bash"}
    choice: Any = {"type": "any", "disable_parallel_tool_use": True}
    ask(
        client,
        "Where?",
        said,
        user([*results, {"type": "text", "text": question}]),
        model="lab/chat",
        tools=[{**WEATHER, "strict": True}, web, bash],
        tool_choice=choice,
    )
    sent = lab.sent("/chat/completions", question)
    function = {"name": "get_weather", "arguments": '{"city":"Bern"}'}
    picture = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}
    assert sent["messages"][1:] == [
        {
            "role": "assistant",
            "content": "I look.",
            "tool_calls": [{"id": name, "type": "function", "function": function} for name in ("c1", "c2")],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "Error: no city"},
        {"role": "tool", "tool_call_id": "c2", "content": "(See the images in the next message.)"},
        {"role": "tool", "tool_call_id": "c3", "content": "a\nThere is a tool get_time."},
        {"role": "tool", "tool_call_id": "c4", "content": ""},
        {"role": "user", "content": [picture, {"type": "text", "text": question}]},
    ]
    weather, shell = (each["function"] for each in sent["tools"])
    described = {"name": "get_weather", "description": "The weather of a city.", "strict": True}
    assert weather == {**described, "parameters": WEATHER["input_schema"]}
    assert (shell["name"], "command" in shell["parameters"]["properties"]) == ("bash", True)
    assert (sent["tool_choice"], sent["parallel_tool_calls"]) == ("required", False)


def test_which_tools_are_called(client: Anthropic, caller: Caller, question: str) -> None:
    named = {"type": "tool", "name": "get_weather"}
    assert ask(client, "Hello.", tools=[WEATHER], tool_choice=named).content[0].name == "get_weather"
    none = ask(client, script("call get_weather {}", "say No."), tools=[WEATHER], tool_choice={"type": "none"})
    assert [block.type for block in none.content] == ["text"]
    web: Any = {"type": "web_search_20250305", "name": "web_search"}
    ask(client, question, tools=[web])
    assert logged(caller, question)["left_out_tools"] == ["web_search_20250305"]
    for choice in ({"type": "tool", "name": "web_search"}, {"type": "any"}):
        with pytest.raises(anthropic.BadRequestError, match="tool_choice"):
            ask(client, "Hello.", tools=[web], tool_choice=choice)
    with pytest.raises(anthropic.BadRequestError, match="two tools named"):
        ask(client, "Hello.", tools=[WEATHER, WEATHER])


def test_calls_at_once_are_blocks_one_after_the_other(client: Anthropic) -> None:
    def part(index: int, arguments: str, name: str = "") -> dict[str, Any]:
        head = {"id": f"c{index}"} if name else {}
        function = {"name": name, "arguments": arguments} if name else {"arguments": arguments}
        return {"tool_calls": [{"index": index, **head, "function": function}]}

    mixed = told(
        {"content": "Both."},
        part(0, '{"city"', "get_weather"),
        part(1, '{"zone":', "get_time"),
        part(0, ': "Bern"}'),
        part(1, " 1}"),
        part(2, "", "get_none"),
        part(3, "plain ", "get_text"),
        part(3, "words"),
        STOPPED,
    )
    whole = ask(client, mixed, model="lab/told")
    events, message = streamed(client, mixed, model="lab/told")
    for answer in (whole, message):
        assert [block.type for block in answer.content] == ["text", *["tool_use"] * 4]
        assert [block.input for block in answer.content[1:]] == [
            {"city": "Bern"},
            {"zone": 1},
            {},
            {"arguments": "plain words"},
        ]
        assert answer.stop_reason == "tool_use"
    borders = [name for name in events if name in ("content_block_start", "content_block_stop")]
    assert borders == ["content_block_start", "content_block_stop"] * 5


# ------------------------------------------------------------------------------------------- contents


def test_texts_images_and_documents_are_handed_on(client: Anthropic, lab: ModelLab, question: str) -> None:
    said = [
        {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}},
        {"type": "text", "text": question, "cache_control": {"type": "ephemeral"}},
    ]
    ask(client, user(said), model="lab/chat")
    assert lab.sent("/chat/completions", question)["messages"][0]["content"] == [
        {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
        {"type": "text", "text": question},
    ]
    plain = {"type": "text", "media_type": "text/plain", "data": "Once upon a time."}
    blocks = {"type": "content", "content": [{"type": "text", "text": "There was."}]}
    found = {
        "type": "search_result",
        "source": "https://x.org",
        "title": "X",
        "content": [{"type": "text", "text": "Y"}],
    }
    texts = [
        {"type": "document", "source": plain, "title": "A tale", "context": "Old."},
        {"type": "document", "source": blocks},
        {"type": "document", "source": {"type": "content", "content": "A king."}},
        found,
        {"type": "text", "text": question},
    ]
    foreign = [
        {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "x"}},
        {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []},
        {"type": "text", "text": "I have searched."},
    ]
    middle = {"role": "system", "content": "Be kind."}
    ask(client, "Hi", {"role": "assistant", "content": foreign}, middle, user(texts), model="lab/chat", system="Short.")
    content = f"A tale\nOld.\nOnce upon a time.\nThere was.\nA king.\nX\nhttps://x.org\nY\n{question}"
    assert lab.sent("/chat/completions", question)["messages"] == [
        {"role": "system", "content": "Short."},
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "I have searched."},
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": content},
    ]


@pytest.mark.parametrize(
    ("block", "word"),
    [
        ({"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "JV"}}, "'base64'"),
        ({"type": "image", "source": {"type": "file", "file_id": "file_1"}}, "'file'"),
        ({"type": "image", "source": {"type": "url", "url": "file:///etc/passwd"}}, "source"),
        ({"type": "container_upload", "file_id": "file_1"}, "'container_upload'"),
        ({"type": "video"}, "'video'"),
    ],
)
def test_what_is_not_taken_is_refused_by_its_name(client: Anthropic, block: Any, word: str) -> None:
    with pytest.raises(anthropic.BadRequestError, match=word) as caught:
        ask(client, user([block]))
    body: Any = caught.value.body
    assert body["error"]["type"] == "invalid_request_error"
    assert "messages.0" in str(caught.value)


# --------------------------------------------------------------------------------------------- tokens


def test_tokens_are_counted(client: Anthropic, caller: Caller) -> None:
    counted = client.messages.count_tokens(
        model="scripted/fast", messages=[user("One two three")], system="Four five", tools=[WEATHER]
    )
    assert counted.input_tokens == 5
    body = {"model": "lab/chat", "messages": [user("word " * 400)]}
    estimated = caller.post("/v1/messages/count_tokens?beta=true", body)
    assert estimated.headers["x-tokens-estimated"] == "true"
    assert estimated.json["input_tokens"] > 400


# --------------------------------------------------------------------------------------------- models


def test_models_are_listed_in_anthropics_form(client: Anthropic, caller: Caller, lab: ModelLab) -> None:
    listed = list(client.models.list(limit=3))
    ids = [model.id for model in listed]
    assert {"scripted/fast", "lab/chat"} <= {*ids}
    assert len(ids) == len({*ids}) > 3
    assert "lab/embed" not in ids
    first = client.models.list(limit=2)
    assert (first.first_id, first.last_id, first.has_more) == (ids[0], ids[1], True)
    back = client.models.list(limit=2, before_id=ids[3])
    assert [model.id for model in back.data] == ids[1:3]
    one = client.models.retrieve("scripted/fast")
    assert (one.type, one.id, one.display_name, one.created_at.year) == (
        "model",
        "scripted/fast",
        "scripted/fast",
        1970,
    )
    with pytest.raises(anthropic.BadRequestError, match="after_id"):
        client.models.list(after_id="nobody")
    with pytest.raises(anthropic.NotFoundError):
        client.models.retrieve("nobody/knows")
    assert caller.get("/v1/models").json["object"] == "list"


# --------------------------------------------------------------------------------------------- errors


def test_a_refusal_is_told_in_anthropics_words(client: Anthropic, caller: Caller, question: str) -> None:
    for stream in (False, True):
        with pytest.raises(anthropic.BadRequestError, match="too hot") as caught:
            ask(client, f"{question} {stream}", model="lab/strict", stream=stream)
        body: Any = caught.value.body
        assert body["type"] == "error"
        assert caught.value.request_id
        assert logged(caller, f"{question} {stream}")["status"] == "failed"
    for line, kind in (
        ("fail 500 it broke", anthropic.InternalServerError),
        ("fail 429 slow", anthropic.RateLimitError),
    ):
        for stream in (False, True):
            with pytest.raises(kind):
                ask(client, script(line), stream=stream)
    with pytest.raises(anthropic.NotFoundError, match="nothing"):
        ask(client, "Hello.", model="scripted/nothing")


def test_a_context_too_long_is_told_as_clients_look_for_it(client: Anthropic) -> None:
    with pytest.raises(anthropic.BadRequestError, match="prompt is too long: "):
        ask(client, "Hello.", model="lab/full")


def test_what_fails_later_is_an_event(client: Anthropic, caller: Caller, question: str) -> None:
    with pytest.raises(anthropic.APIStatusError, match="cut its answer"):
        streamed(client, question, model="lab/cut")
    assert logged(caller, question)["status"] == "failed"
    body = {"model": "scripted/fast", "max_tokens": 9, "messages": [user(script("say Hi.", "cut"))], "stream": True}
    with caller.open("POST", "/v1/messages", body) as response:
        *_, last = response.read().strip().split(b"\n\n")
    name, data = last.split(b"\n")
    assert name == b"event: error"
    error = json.loads(data.removeprefix(b"data: "))
    assert (error["type"], error["error"]["type"]) == ("error", "api_error")
    assert error["request_id"]


def test_a_caller_who_leaves_is_logged_with_what_had_come(client: Anthropic, caller: Caller, lab: ModelLab) -> None:
    question = f"slow {uuid.uuid4()}"
    lab.left.clear()
    with client.messages.stream(model="lab/slow", max_tokens=9, messages=[user(question)]) as stream:
        assert next(iter(stream.text_stream))
    row = logged(caller, question)
    assert row["status"] == "cancelled"
    assert row["choices"][0]["message"]["content"]
    assert lab.left.wait(15)


@pytest.mark.parametrize(
    ("method", "path", "status", "kind"),
    [
        ("GET", "/v1/messages", 405, "invalid_request_error"),
        ("GET", "/v1/messages/batches", 404, "not_found_error"),
        ("POST", "/v1/messages/count_tokens", 400, "invalid_request_error"),
    ],
)
def test_other_errors_have_the_same_form(caller: Caller, method: str, path: str, status: int, kind: str) -> None:
    answer = caller.ask(method, path, {} if method == "POST" else None)
    error = answer.json
    assert (answer.status, error["type"], error["error"]["type"]) == (status, "error", kind)
    assert {*error} == {"type", "error", "request_id"}
    assert {*error["error"]} == {"type", "message"}
    assert answer.headers["request-id"] == error["request_id"]


# --------------------------------------------------------------------------------------------- agents


def test_an_agent_answers_as_a_turn_of_the_log(client: Anthropic, caller: Caller, question: str) -> None:
    agent = Talk(caller, name=question, toolgroups=["builtin::demo"], client_tools=[tool("ask_user", "question")]).agent
    lines = ["say I look.", 'call get_weather {"city": "Bern"}', "then", "think Hm.", "say It is cold."]
    whole = ask(client, script(*lines), model=f"agent/{question}", thinking={"type": "adaptive"})
    _, message = streamed(client, script(*lines), model=f"agent/{question}")
    assert [block.type for block in whole.content] == ["text", "thinking", "text"]
    assert "".join(block.text for block in message.content) == "I look.\n\nIt is cold."
    assert whole.usage.output_tokens > 0
    [row] = caller.get(f"/v1/logs/turns?q=id:{whole.turn_id}").json["data"]
    assert (row["agent_id"], row["status"], row["counts"]["tools"]) == (agent, "completed", 1)

    asked = user(script('call ask_user {"question": "?"}', "then", "say Then red."))
    waiting = ask(client, asked, model=f"agent/{question}")
    [call] = waiting.content
    assert (waiting.stop_reason, call.name, call.input) == ("tool_use", "ask_user", {"question": "?"})
    answered = user([{"type": "tool_result", "tool_use_id": call.id, "content": "red"}])
    done = ask(client, asked, {"role": "assistant", "content": waiting.content}, answered, model=f"agent/{question}")
    assert (done.content[0].text, done.turn_id) == ("Then red.", waiting.turn_id)

    bare = client.messages.count_tokens(model="scripted/fast", messages=[user("Hello.")]).input_tokens
    assert client.messages.count_tokens(model=f"agent/{agent}", messages=[user("Hello.")]).input_tokens >= bare
    with pytest.raises(anthropic.BadRequestError, match="tools: an agent has its own"):
        ask(client, "Hello.", model=f"agent/{question}", tools=[WEATHER])
    with pytest.raises(anthropic.InternalServerError, match="it broke"):
        ask(client, script("fail 500 it broke"), model=f"agent/{question}")
    with pytest.raises(anthropic.NotFoundError):
        ask(client, "Hello.", model="agent/nobody")

"""How responses end: complete, cut short, refused by a guardrail, failed; and what they used."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from typing import Any

import openai
import pytest
from openai import OpenAI

from tests.responses.live.test_conversations import assert_valid
from tests.safety.live.test_shields import CANNED
from tests.support.live.caller import Caller, script
from tests.support.live.held_model import HeldModel
from tests.support.live.mcp_process import McpProcess
from tests.support.live.openai_api import (
    MODEL,
    answered,
    asked,
    created,
    frames_of,
    function,
    streamed,
    text,
    turns,
    types,
)
from tests.support.live.process import ServerProcess, eventually
from tests.support.model_lab import ModelLab

pytestmark = pytest.mark.server


@pytest.fixture
def client(openai_client: OpenAI) -> OpenAI:
    return openai_client


@pytest.fixture
def judged(guarded: ServerProcess) -> Iterator[OpenAI]:
    """The client of the server that has shields."""
    with OpenAI(base_url=f"{guarded.base}/v1", api_key="none", max_retries=0) as client:
        yield client


@pytest.fixture
def judging(guarded: ServerProcess) -> Caller:
    return Caller(guarded.port)


@pytest.fixture
def mark() -> str:
    return f"mark{uuid.uuid4().hex}"


# ------------------------------------------------------------------------------------------- cut short


def test_the_bound_of_tokens_makes_a_response_incomplete(client: OpenAI) -> None:
    line = script("repeat 40 word")
    response = client.responses.create(model=MODEL, input=line, max_output_tokens=16)
    assert response.status == "incomplete"
    assert response.incomplete_details is not None
    assert response.incomplete_details.reason == "max_output_tokens"
    assert response.output_text.split() == ["word"] * 16
    assert response.usage is not None
    assert response.usage.output_tokens == 16
    assert response.completed_at is None
    assert client.responses.retrieve(response.id) == response

    events = list(client.responses.create(model=MODEL, input=line, max_output_tokens=16, stream=True))
    last = events[-1]
    assert last.type == "response.incomplete"
    assert last.response.status == "incomplete"
    assert client.responses.retrieve(last.response.id) == last.response


@pytest.mark.parametrize(
    ("line", "status", "reason"),
    [
        ("length", "incomplete", "max_output_tokens"),
        ("finish content_filter", "incomplete", "content_filter"),
        ("finish stop", "completed", None),
    ],
)
def test_an_answer_that_ends_early_says_why(caller: Caller, line: str, status: str, reason: str | None) -> None:
    response = created(caller, "say Half", line)
    assert response["status"] == status
    assert response["incomplete_details"] == ({"reason": reason} if reason else None)
    assert caller.get(f"/v1/responses/{response['id']}").json == response
    frames = streamed(caller, asked("say Half", line))
    assert frames[-1].type == f"response.{status}"


def test_what_is_cut_in_a_call_is_not_called(client: OpenAI) -> None:
    words = " ".join(["word"] * 40)
    tools: Any = [function("look", "at")]
    response = client.responses.create(
        model=MODEL, input=script(f'call look {{"at": "{words}"}}'), tools=tools, max_output_tokens=16
    )
    assert response.status == "incomplete"
    assert [item.type for item in response.output if item.type == "function_call"] == []


BOIL = 'call get_boiling_point {"liquid_name": "polyjuice"}'


@pytest.mark.parametrize("stream", [False, True])
def test_the_bound_of_rounds_makes_a_response_incomplete(
    client: OpenAI, held: HeldModel, mcp: McpProcess, stream: bool
) -> None:
    tools: Any = [{"type": "mcp", "server_label": "lab", "server_url": mcp.url, "require_approval": "never"}]
    lines = script(BOIL, "then", BOIL, "then", BOIL, "then", "say Done.")
    given: Any = client.responses.create(
        model=MODEL, input=lines, tools=tools, extra_body={"max_infer_iters": 2}, stream=stream
    )
    events: list[Any] = list(given) if stream else []
    response = events[-1].response if stream else given
    assert not events or events[-1].type == "response.incomplete"
    assert (response.status, response.incomplete_details.reason) == ("incomplete", "max_output_tokens")
    assert response.output_text == ""
    assert client.responses.retrieve(response.id) == response

    answer = held.hold()
    answer.end("Well.")
    client.responses.create(model="held/held", input=answer.question, previous_response_id=response.id)
    assert_valid(answer.asked[0])


def test_usage_is_of_all_inferences(client: OpenAI, mcp: McpProcess) -> None:
    tools: Any = [{"type": "mcp", "server_label": "lab", "server_url": mcp.url, "require_approval": "never"}]
    one = client.responses.create(model=MODEL, input=script("say one two three"), tools=tools)
    two = client.responses.create(model=MODEL, input=script(BOIL, "then", "say one two three"), tools=tools)
    assert one.usage is not None
    assert two.usage is not None
    assert one.usage.output_tokens == 3
    assert two.usage.output_tokens > 3
    assert two.usage.input_tokens > 2 * one.usage.input_tokens
    assert two.usage.total_tokens == two.usage.input_tokens + two.usage.output_tokens


# --------------------------------------------------------------------------------------------- usage


def test_what_was_used_is_counted(client: OpenAI) -> None:
    response = client.responses.create(model=MODEL, input=script("think one two", "say three four five"))
    usage = response.usage
    assert usage is not None
    assert (usage.output_tokens, usage.output_tokens_details.reasoning_tokens) == (5, 2)
    assert usage.input_tokens > 0
    assert usage.total_tokens == usage.input_tokens + usage.output_tokens
    assert usage.input_tokens_details.cached_tokens == 0


# ----------------------------------------------------------------------------------------- guardrails


def refusal_of(response: Any) -> str:
    """The words of a response that is one refusal and nothing else."""
    [message] = response.output
    [part] = message.content
    assert (message.type, message.role, message.status) == ("message", "assistant", "completed")
    assert part.type == "refusal"
    return str(part.refusal)


def guarding(*names: Any) -> dict[str, Any]:
    return {"guardrails": list(names)}


@pytest.mark.parametrize("guard", ["guard", {"type": "guard"}])
def test_what_may_not_be_asked_is_refused_and_not_inferred(judged: OpenAI, judging: Caller, guard: Any) -> None:
    response = judged.responses.create(model=MODEL, input="how to build a bomb", extra_body=guarding(guard))
    assert (response.status, refusal_of(response), response.output_text) == ("completed", CANNED, "")
    assert judged.responses.retrieve(response.id) == response
    row = turns(judging, "bomb")[0]
    assert [step["type"] for step in row["steps"]] == ["shield_call"]


def test_what_may_not_be_said_is_replaced_before_it_is_told(judged: OpenAI, judging: Caller) -> None:
    body = asked("think sk-abcdef12", "say the key is", "say sk-abcdef12 of course", **guarding("polite"))
    frames = streamed(judging, body)
    told = b"".join(frame.raw for frame in frames)
    assert b"the key" not in told
    assert b"sk-abcdef12" not in told
    assert types(frames) == [
        "created",
        "in_progress",
        "output_item.added",
        "content_part.added",
        "refusal.delta",
        "refusal.done",
        "content_part.done",
        "output_item.done",
        "completed",
    ]
    last = frames[-1].data["response"]
    assert judging.get(f"/v1/responses/{last['id']}").json == last
    again = frames_of(judging.get(f"/v1/responses/{last['id']}?stream=true").body)
    assert [frame.raw for frame in again] == [frame.raw for frame in frames]
    assert refusal_of(judged.responses.retrieve(last["id"])) == CANNED


def test_what_passes_is_told_whole(judged: OpenAI) -> None:
    line = script("think Hm.", "say Bread is fine.")
    events = list(judged.responses.create(model=MODEL, input=line, extra_body=guarding("guard"), stream=True))
    last: Any = events[-1]
    assert (last.type, last.response.output_text) == ("response.completed", "Bread is fine.")
    assert [item.type for item in last.response.output] == ["reasoning", "message"]
    assert judged.responses.retrieve(last.response.id) == last.response


def test_a_running_answer_is_not_shown_before_it_is_judged(judged: OpenAI, judging: Caller, lab: ModelLab) -> None:
    """Neither a reader of the row nor one of the stream sees a word of it."""
    lab.go.clear()
    question = f"slow {uuid.uuid4()}"
    response = judged.responses.create(model="lab/slow", input=question, extra_body=guarding("polite"), background=True)
    eventually(lambda: any(question in str(sent) for _, sent in lab.seen))
    assert judged.responses.retrieve(response.id).output == []
    judged.responses.cancel(response.id)
    ended = judged.responses.retrieve(response.id)
    assert (ended.status, ended.output) == ("cancelled", [])
    body = judging.get(f"/v1/responses/{response.id}?stream=true").body
    assert b"output_text" not in body


def test_what_was_refused_is_known_to_the_next_response(judged: OpenAI, lab: ModelLab, mark: str) -> None:
    first = judged.responses.create(model=MODEL, input=f"{mark} how to build a bomb", extra_body=guarding("guard"))
    judged.responses.create(model="lab/chat", input=f"{mark} and bread?", previous_response_id=first.id)
    messages = lab.sent("/chat/completions", f"{mark} and bread?")["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant", "user"]
    assert messages[1]["content"] == CANNED


def test_a_guardrail_that_is_none_is_refused(judged: OpenAI) -> None:
    with pytest.raises(openai.BadRequestError, match="guardrails: Shield 'nobody' not found"):
        judged.responses.create(model=MODEL, input="hi", extra_body=guarding("nobody"))


def test_a_guardrail_without_a_verdict_fails_the_response(judged: OpenAI) -> None:
    with pytest.raises(openai.InternalServerError, match="no verdict"):
        judged.responses.create(model=MODEL, input="hi", extra_body=guarding("mute"))
    events = list(judged.responses.create(model=MODEL, input="hi", extra_body=guarding("mute"), stream=True))
    last = events[-1]
    assert last.type == "response.failed"
    assert last.response.error is not None
    assert "no verdict" in last.response.error.message


def test_guardrails_hold_whatever_else_a_request_speaks_of(judging: Caller) -> None:
    """Words that look like settings do not open the door."""
    parameters = {"type": "object", "properties": {}, "guardrails": []}
    tool = {"type": "function", "name": "look", "parameters": parameters}
    body = asked("say the key is", "say sk-abcdef12 of course", tools=[tool], **guarding("polite"))
    assert b"the key" not in b"".join(frame.raw for frame in streamed(judging, body))


def test_guardrails_judge_before_a_function_is_called(judging: Caller) -> None:
    line = 'call look {"at": "it"}'
    body = asked("say sk-abcdef12", line, tools=[function("look", "at")], **guarding("polite"))
    frames = streamed(judging, body)
    assert b"sk-abcdef12" not in b"".join(frame.raw for frame in frames)
    [item] = frames[-1].data["response"]["output"]
    assert item["content"] == [{"type": "refusal", "refusal": CANNED}]


# ------------------------------------------------------------------------------------------- failures


@pytest.mark.parametrize(
    ("line", "status", "code"),
    [
        ("fail 500 on fire", 502, "server_error"),
        ("fail 429 too many", 429, "rate_limit_exceeded"),
        ("fail 400 too hot", 400, "server_error"),
        ("cut", 502, "server_error"),
    ],
)
def test_a_failing_endpoint_is_told_by_its_kind(caller: Caller, line: str, status: int, code: str, mark: str) -> None:
    answer = caller.post("/v1/responses", asked(f"# {mark}", line))
    assert answer.status == status, answer.body
    assert answer.headers["x-should-retry"] == "false"  # it has been tried, and it is in the log
    [row] = turns(caller, mark)
    assert row["status"] == "failed"

    frames = streamed(caller, asked("say Half", line))
    last = frames[-1].data["response"]
    assert (frames[-1].type, last["status"]) == ("response.failed", "failed")
    assert last["error"]["message"]
    assert last["error"]["code"] in (code, "invalid_prompt" if status == 400 else code)
    assert caller.get(f"/v1/responses/{last['id']}").json == last
    assert text(last) == "Half"
    again = frames_of(caller.get(f"/v1/responses/{last['id']}?stream=true").body)
    assert [frame.raw for frame in again] == [frame.raw for frame in frames]


def test_the_client_sees_a_failure_as_what_it_is(client: OpenAI) -> None:
    with pytest.raises(openai.RateLimitError, match="too many"):
        client.responses.create(model=MODEL, input=script("fail 429 too many"))
    with pytest.raises(openai.InternalServerError, match="on fire"):
        client.responses.create(model=MODEL, input=script("fail 500 on fire"))


def test_the_same_client_does_not_repeat_a_failure(server: ServerProcess, caller: Caller, mark: str) -> None:
    with (
        OpenAI(base_url=f"{server.base}/v1", api_key="none", max_retries=2) as client,
        pytest.raises(openai.InternalServerError),
    ):
        client.responses.create(model=MODEL, input=script(f"# {mark}", "fail 500 on fire"))
    assert len(turns(caller, mark)) == 1


def test_a_failed_response_may_be_built_upon(client: OpenAI, held: HeldModel) -> None:
    events = list(client.responses.create(model=MODEL, input=script("say Half", "fail 500 x"), stream=True))
    failed: Any = events[-1]
    answer = held.hold()
    answer.end("Well.")
    client.responses.create(model="held/held", input=answer.question, previous_response_id=failed.response.id)
    roles = [message["role"] for message in answer.asked[0]]
    assert roles[-1] == "user"
    assert "tool" not in roles


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("model", ["scripted/nobody", "nobody/nothing"])
def test_an_unknown_model_is_not_found_before_a_stream(client: OpenAI, model: str, stream: bool) -> None:
    """A stream that began before the endpoint had refused, on a busy machine, says so in its last event."""

    def refusal() -> openai.NotFoundError | None:
        try:
            answer: Any = client.responses.create(model=model, input="hi", stream=stream)
        except openai.NotFoundError as error:
            return error
        assert stream, "one that is not streamed waits for its end"
        assert "has no model" in list(answer)[-1].response.error.message
        return None

    error = next(filter(None, (refusal() for _ in range(5))), None)
    assert error is not None, "each stream began before the endpoint had refused"
    assert f"Model '{model}' not found. Use 'client.models.list()' to list available Models." in str(error)
    assert (error.code, error.param) == ("model_not_found", "model")


# ------------------------------------------------------------------------------------------ the request


def test_settings_reach_the_endpoint(judged: OpenAI, lab: ModelLab, mark: str) -> None:
    judged.responses.create(
        model="lab/chat",
        input=mark,
        instructions="Be brief.",
        temperature=0.25,
        top_p=0.5,
        max_output_tokens=99,
        extra_body={"presence_penalty": 0.5, "frequency_penalty": -0.5},
        reasoning={"effort": "low"},
        text={"format": {"type": "json_object"}, "verbosity": "low"},
        safety_identifier="ana",
        prompt_cache_key="k",
    )
    sent = lab.sent("/chat/completions", mark)
    expected = {
        "model": "chat",
        "temperature": 0.25,
        "top_p": 0.5,
        "presence_penalty": 0.5,
        "frequency_penalty": -0.5,
        "reasoning_effort": "low",
        "verbosity": "low",
        "response_format": {"type": "json_object"},
        "safety_identifier": "ana",
        "prompt_cache_key": "k",
        "stream_options": {"include_usage": True},
    }
    assert {name: sent.get(name) for name in expected} == expected
    assert 99 in (sent.get("max_tokens"), sent.get("max_completion_tokens"))
    assert sent["messages"][0] == {"role": "system", "content": "Be brief."}


def test_what_was_not_said_is_left_to_the_endpoint(judged: OpenAI, lab: ModelLab, mark: str) -> None:
    judged.responses.create(model="lab/chat", input=mark)
    sent = lab.sent("/chat/completions", mark)
    assert set(sent) <= {"model", "messages", "stream", "stream_options"}


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"temperature": 2.1}, "temperature"),
    ({"top_p": 1.1}, "top_p"),
    ({"max_tool_calls": 0}, "max_tool_calls"),
    ({"max_output_tokens": 15}, "max_output_tokens"),
    ({"max_infer_iters": 0}, "max_infer_iters"),
    ({"top_logprobs": 21}, "top_logprobs"),
    ({"metadata": {str(number): "x" for number in range(17)}}, "metadata"),
    ({"metadata": {"k" * 65: "x"}}, "metadata"),
    ({"metadata": {"k": "x" * 513}}, "metadata"),
    ({"metadata": {"k": 1}}, "metadata"),
    ({"include": ["everything"]}, "include"),
    ({"truncation": "some"}, "truncation"),
    ({"prompt": "pmpt_1"}, "prompt"),
    ({"context_management": [{"type": "clear"}]}, "context_management"),
    ({"previous_response_id": "resp_x", "conversation": "conv_x"}, "previous_response_id"),
    ({"conversation": "x"}, "conv_"),
    ({"input": []}, "input"),
    ({"input": [{"type": "nonsense"}]}, "input"),
    ({"tools": [{"name": "untyped"}]}, "tools"),
    ({"tools": [{"type": "function", "function": {"name": "nested"}}]}, "tools"),
    ({"text": {"format": {"type": "json_schema"}}}, "text"),
    ({"reasoning": {"effort": "heroic"}}, "reasoning"),
]


@pytest.mark.parametrize(("wrong", "named"), REFUSED, ids=[name for _, name in REFUSED])
def test_what_cannot_be_is_refused_by_its_name(client: OpenAI, wrong: dict[str, Any], named: str) -> None:
    body: Any = {"model": MODEL, "input": "hi", **wrong}
    with pytest.raises(openai.BadRequestError, match=named):
        client.responses.create(model=MODEL, input="hi", extra_body=body)


def test_nulls_and_unknown_fields_are_taken(caller: Caller) -> None:
    names = "instructions tools tool_choice metadata include text reasoning store stream temperature conversation"
    body = {**asked("say Hello"), **dict.fromkeys(names.split()), "something_new": {"x": 1}, "include": []}
    assert text(answered(caller.post("/v1/responses", body)).json) == "Hello"


# -------------------------------------------------------------------------------------------- crashes


def test_a_crash_ends_a_response_as_failed(start_server: Callable[..., ServerProcess], held: HeldModel) -> None:
    """Where it is not to go on: what had been typed is kept, and the chain and the conversation can go on."""
    own_server = start_server(RESUME_RUNS="0")
    caller, answer = Caller(own_server.port), held.hold()
    conversation = caller.post("/v1/conversations").json["id"]
    body = {"model": "held/held", "input": answer.question, "conversation": conversation, "background": True}
    name = answered(caller.post("/v1/responses", body)).json["id"]
    answer.say("Half an answer")
    path = f"/v1/responses/{name}"
    with caller.open("GET", f"{path}?stream=true") as response:
        while b"Half an answer" not in response.readline():
            pass
    own_server.kill()
    caller.port = own_server.start().port

    ended = eventually(lambda: (now := caller.get(path).json)["status"] == "failed" and now)
    assert ended["error"]["code"] == "server_error"
    assert "interrupted" in ended["error"]["message"]
    assert text(ended) in ("", "Half an answer")
    frames = frames_of(caller.get(f"{path}?stream=true").body)
    assert frames[-1].type == "response.failed"
    assert frames[-1].data["response"] == ended
    assert [frame.data["sequence_number"] for frame in frames] == list(range(len(frames)))
    for field, known in (("conversation", conversation), ("previous_response_id", name)):
        assert text(answered(caller.post("/v1/responses", asked("say On.", **{field: known}))).json) == "On."

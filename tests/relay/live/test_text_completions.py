"""Text completions with OpenAI's client: handed on, streamed, said by the scripted model."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import openai
import pytest
from openai import OpenAI, Stream
from openai.types import Completion

from tests.support.live.caller import Caller
from tests.support.live.process import ServerProcess
from tests.support.model_lab import ModelLab

pytestmark = pytest.mark.server


@pytest.fixture(params=["/v1", "/v1/openai/v1"])
def client(guarded: ServerProcess, request: pytest.FixtureRequest) -> Iterator[OpenAI]:
    with OpenAI(base_url=f"{guarded.base}{request.param}", api_key="none", max_retries=0) as client:
        yield client


@pytest.fixture
def prompt() -> str:
    return f"text {uuid.uuid4()}"


def texts(chunks: Any) -> dict[int, str]:
    """What a stream says, by its choices."""
    said: dict[int, str] = {}
    for chunk in chunks:
        for choice in chunk.choices:
            said[choice.index] = said.get(choice.index, "") + choice.text
    return said


# ------------------------------------------------------------------------------------------- handed on


def test_a_request_is_handed_on_as_it_came(client: OpenAI, lab: ModelLab, prompt: str) -> None:
    more = {"echo": True, "logprobs": 2, "suffix": "z", "n": 3, "best_of": 4, "guided_regex": "a"}
    answer = client.completions.create(model="lab/chat", prompt=prompt, max_tokens=7, extra_body=more)
    assert (answer.choices[0].text, answer.choices[0].finish_reason) == (f"{prompt} and on", "stop")
    assert (answer.id, answer.model, answer.system_fingerprint) == ("cmpl-1", "lab/chat", "fp")
    assert answer.usage is not None
    assert answer.usage.total_tokens == 9
    assert lab.sent("/completions", prompt) == {"model": "chat", "prompt": prompt, "max_tokens": 7, **more}


@pytest.mark.parametrize("usage", [True, False])
def test_a_stream_is_handed_on(client: OpenAI, lab: ModelLab, prompt: str, usage: bool) -> None:
    chunks = list(
        client.completions.create(
            model="lab/chat", prompt=[prompt, "b"], stream=True, stream_options={"include_usage": usage}
        )
    )
    assert texts(chunks) == {0: f"{prompt} and on", 1: "b and on"}
    assert {(chunk.id, chunk.model) for chunk in chunks} == {("cmpl-1", "lab/chat")}
    assert [chunk.usage.total_tokens for chunk in chunks if chunk.usage] == ([9] if usage else [])
    assert lab.sent("/completions", prompt)["stream"] is True


def test_tokens_are_for_the_endpoint(client: OpenAI, lab: ModelLab) -> None:
    client.completions.create(model="lab/chat", prompt=[[1, 2], [3, 771]])
    assert lab.sent("/completions", "771")["prompt"] == [[1, 2], [3, 771]]


@pytest.mark.parametrize("stream", [False, True])
def test_a_refusal_is_told(client: OpenAI, stream: bool) -> None:
    with pytest.raises(openai.BadRequestError, match="not for this model"):
        client.completions.create(model="lab/strict", prompt="x", stream=stream)


def test_an_answer_that_breaks_off_is_no_answer(client: OpenAI) -> None:
    with pytest.raises(openai.APIError, match="cut its answer"):
        list(client.completions.create(model="lab/cut", prompt="x", stream=True))


def test_a_caller_who_leaves_ends_it(client: OpenAI, lab: ModelLab) -> None:
    lab.left.clear()
    stream = client.completions.create(model="lab/slow", prompt="some words", stream=True)
    assert next(iter(stream)).choices[0].text
    stream.close()
    assert lab.left.wait(15)


def test_nothing_of_it_is_logged(client: OpenAI, guarded: ServerProcess, prompt: str) -> None:
    client.completions.create(model="lab/chat", prompt=prompt)
    assert prompt not in Caller(guarded.port).get("/v1/chat/completions?limit=100").body.decode()


# ------------------------------------------------------------------------------------ the scripted model


def test_the_scripted_model_goes_on(client: OpenAI) -> None:
    answer = client.completions.create(model="scripted/fast", prompt="!script\nthink hm\nsay It stands there.")
    assert (answer.choices[0].text, answer.choices[0].finish_reason) == ("It stands there.", "stop")
    assert (answer.object, answer.model) == ("text_completion", "scripted/fast")
    assert answer.id.startswith("cmpl-")
    assert answer.usage is not None
    assert answer.usage.completion_tokens == 4
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + 4


def test_several_prompts_have_several_answers(client: OpenAI) -> None:
    prompts = ["!script say a", "!script say b"]
    answer = client.completions.create(model="scripted/fast", prompt=prompts, n=2)
    assert [(one.index, one.text) for one in answer.choices] == [(0, "a"), (1, "a"), (2, "b"), (3, "b")]
    assert answer.usage is not None
    assert answer.usage.completion_tokens == 4


@pytest.mark.parametrize("usage", [True, False])
def test_the_scripted_model_streams(client: OpenAI, usage: bool) -> None:
    prompts = ["!script say one two three", "!script say four"]
    chunks = list(
        client.completions.create(
            model="scripted/fast", prompt=prompts, stream=True, stream_options={"include_usage": usage}
        )
    )
    assert texts(chunks) == {0: "one two three", 1: "four"}
    ends = [choice.finish_reason for chunk in chunks for choice in chunk.choices if choice.finish_reason]
    assert ends == ["stop", "stop"]
    assert len({chunk.id for chunk in chunks}) == 1
    assert [chunk.usage.completion_tokens for chunk in chunks if chunk.usage] == ([4] if usage else [])


@pytest.mark.parametrize(
    ("more", "text", "reason"),
    [({"max_tokens": 2}, "one two", "length"), ({"stop": " th"}, "one two", "stop"), ({"stop": ["x"]}, None, "stop")],
)
@pytest.mark.parametrize("stream", [False, True])
def test_it_ends_where_it_should(client: OpenAI, more: Any, text: str | None, reason: str, stream: bool) -> None:
    asked = {"model": "scripted/fast", "prompt": "!script say one two three", **more}
    found: Completion | Stream[Completion] = client.completions.create(**asked, stream=stream)
    chunks: list[Completion] = list(found) if isinstance(found, Stream) else [found]
    assert isinstance(found, Stream) == stream
    assert texts(chunks) == {0: text or "one two three"}
    assert chunks[-1].choices[0].finish_reason == reason


@pytest.mark.parametrize(
    "more",
    [{"echo": True}, {"logprobs": 1}, {"suffix": "z"}, {"best_of": 2}, {"n": 129}],
    ids=lambda more: next(iter(more)),
)
def test_what_it_cannot_do_is_refused_by_name(client: OpenAI, more: dict[str, Any]) -> None:
    with pytest.raises(openai.BadRequestError) as refused:
        client.completions.create(model="scripted/fast", prompt="x", **more)
    assert refused.value.param == next(iter(more))


@pytest.mark.parametrize("stream", [False, True])
def test_its_failures_are_told(client: OpenAI, stream: bool) -> None:
    with pytest.raises(openai.NotFoundError):
        client.completions.create(model="scripted/none", prompt="x", stream=stream)
    prompt = "!script\nsay a\nfail 500 broken"
    with pytest.raises(openai.APIError, match="broken"):
        list(client.completions.create(model="scripted/fast", prompt=prompt, stream=stream))

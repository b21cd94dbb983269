"""Whatever a model sends is stored and can be read again, by the API, the lists and the pages."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest

from agents.base import ids
from agents.base.access import Actor
from agents.base.store import keys
from agents.loop.inference.base import CallPart, Chunk, Finish, InferenceRequest, Model, Reasoning, Text
from agents.record.schemas.content import ToolDef, Usage
from tests.loop.test_loop import tool
from tests.server.api.test_bad_input import CLIENT
from tests.support.builders import make_turn
from tests.support.cases import sparing
from tests.support.inprocess import json_of
from tests.support.input_corpus import EVERYTHING, HOSTILE

pytestmark = pytest.mark.usefixtures("_served", "_quiet")


class Hostile:
    """A model that answers with these chunks."""

    name = "hostile"

    def __init__(self, chunks: Sequence[Chunk]) -> None:
        self._chunks = chunks

    async def stream(self, request: InferenceRequest) -> AsyncIterator[Chunk]:
        for chunk in self._chunks:
            yield chunk

    async def models(self) -> list[Model]:
        return []

    async def close(self) -> None:
        return None


def readable(actor: Actor, chunks: Sequence[Chunk], **more: Any) -> dict[str, Any]:
    """The turn as the API gives it, after a look at everywhere else it is shown."""
    made = make_turn(actor, inference=Hostile(chunks), **more)
    agent, session = made.agent.public_id, ids.public(ids.Kind.SESSION, made.session)
    path = f"/v1/agents/{agent}/session/{session}"
    for shown in (path, f"{path}/turn/{made.public_id}/events", "/v1/logs/turns", "/logs/", f"/sessions/{session}/"):
        assert CLIENT.get(shown).status_code == 200, shown
    page = f"/turns/{made.public_id}/"
    for view in ("", "?view=raw", "?view=timeline", "turn.json", "events.jsonl", "parts/"):
        assert CLIENT.get(page + view).status_code == 200, view
    return dict(json_of(CLIENT.get(f"{path}/turn/{made.public_id}")))


@pytest.fixture
def actor() -> Actor:
    return keys.local()


END = Finish("stop", Usage(input_tokens=1, output_tokens=1))


WORDS = {**HOSTILE, "everything": EVERYTHING}


@pytest.mark.parametrize("name", sparing(WORDS, "only NUL", "blanks", "a megabyte of lines", "everything"))
def test_hostile_words_are_kept(name: str, actor: Actor) -> None:
    text = WORDS[name]
    turn = readable(actor, [Reasoning(text), Text(text), END])
    assert turn["output_message"]["content"] == text
    assert turn["status"] == "completed"


ARGUMENTS = {
    "no JSON": "{oops",
    "a list": "[1]",
    "null": "null",
    "empty": "",
    "NaN": '{"n": NaN}',
    "1e400": '{"n": 1e400}',
    "2**70": '{"n": 1180591620717411303424}',
    "5,000 digits": '{"n": ' + "9" * 5_000 + "}",
    "lone surrogate": '{"s": "\\ud800"}',
    "escaped NUL": '{"s\\u0000": "\\u0000"}',
    "raw NUL": '{"s": "\x00"}',
    "deep": '{"a":' * 5_000 + "1" + "}" * 5_000,
    "deep list": '{"a":' + "[" * 5_000 + "]" * 5_000 + "}",
    "hundred levels": '{"a":' * 100 + "1" + "}" * 100,
    "duplicate keys": '{"a": 1, "a": 2}',
    "prototype": '{"__proto__": {"x": 1}, "constructor": 1}',
    "ten thousand keys": "{" + ",".join(f'"k{number}": {number}' for number in range(10_000)) + "}",
    "a megabyte": '{"s": "' + "x" * 2**20 + '"}',
}


@pytest.mark.parametrize("name", sparing(ARGUMENTS, "no JSON", "lone surrogate", "raw NUL", "deep"))
@pytest.mark.parametrize("runs", ["here", "at the client"])
def test_hostile_arguments_are_kept(name: str, runs: str, actor: Actor) -> None:
    chunks: list[Chunk] = [CallPart(0, ARGUMENTS[name], call_id="c1", name="lookup"), END]
    if runs == "here":
        turn = readable(actor, chunks, server_tools=tool(), max_infer_iters=2)
        assert [step["step_type"] for step in turn["steps"]] == ["inference", "tool_execution", "inference"]
    else:
        turn = readable(actor, chunks, client_tools=[ToolDef(name="lookup")])
        assert turn["status"] == "awaiting_input"
    [call] = turn["steps"][0]["model_response"]["tool_calls"]
    assert call["arguments_json"] == (ARGUMENTS[name] or "{}")


@pytest.mark.parametrize(
    "name", ["", "\x00", "no such tool", "x" * 5_000, "<script>", "look\x00up", "a\nb", "\u202e", "__class__"]
)
def test_a_call_of_a_tool_that_is_none_is_kept(name: str, actor: Actor) -> None:
    turn = readable(actor, [CallPart(0, "{}", call_id="c1", name=name), END], server_tools=tool(), max_infer_iters=2)
    assert turn["steps"][0]["model_response"]["tool_calls"][0]["tool_name"] == name


@pytest.mark.parametrize("reason", [None, "", "x" * 5_000, "\x00", "stop\x00", "content_filter", "<b>"])
def test_an_unknown_reason_to_stop_is_kept(reason: str | None, actor: Actor) -> None:
    assert readable(actor, [Text("words"), Finish(reason, None)])["output_message"]["content"] == "words"


def test_many_calls_at_once_are_kept(actor: Actor) -> None:
    parts = [CallPart(index, "{}", call_id=f"c{index}", name="lookup") for index in range(100)]
    turn = readable(actor, [*parts, END], server_tools=tool(), max_infer_iters=2)
    assert len(turn["steps"]) > 1


def test_the_same_id_for_two_calls_is_kept(actor: Actor) -> None:
    parts = [CallPart(index, "{}", call_id="same", name="lookup") for index in range(2)]
    readable(actor, [*parts, END], server_tools=tool(), max_infer_iters=2)


def test_silence_is_an_answer_too(actor: Actor) -> None:
    assert readable(actor, [END])["output_message"]["content"] == ""

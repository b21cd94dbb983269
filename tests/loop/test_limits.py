"""What bounds a run: a history too long for the model, and how many calls may be made."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import msgspec
import pytest

from agents.base.errors import ProviderError
from agents.loop.inference.base import Chunk, Finish, InferenceRequest, Text
from agents.record.schemas.content import ToolDef
from tests.loop.play import events, make_run, play
from tests.loop.test_loop import tool


def said(role: str, text: str) -> bytes:
    return msgspec.json.encode({"role": role, "content": text})


@dataclass
class Narrow:
    """A model that takes so many messages; ``asked`` are those it was sent."""

    room: int
    name: str = "narrow"
    asked: list[list[Any]] = field(default_factory=list)

    async def stream(self, request: InferenceRequest) -> AsyncIterator[Chunk]:
        self.asked.append([msgspec.json.decode(message) for message in request.messages])
        if len(request.messages) > self.room:
            raise ProviderError("too long", provider="narrow", upstream_status=400, code="context_length_exceeded")
        yield Text("short")
        yield Finish("stop")


HISTORY = [said(role, f"{number}") for number in range(8) for role in ("user", "assistant")]


def test_a_history_too_long_is_cut_at_a_message_of_the_user() -> None:
    model = Narrow(room=6)
    entries = play(make_run("", inference=model, history=HISTORY, instructions="Be brief.", truncates=True))

    assert events(entries)[-1].status == "completed"
    assert [len(messages) for messages in model.asked] == [18, 10, 6]
    system, first, *_ = model.asked[-1]
    assert (system["role"], first) == ("system", {"role": "user", "content": "6"})


@pytest.mark.parametrize("more", [{}, {"truncates": True, "history": HISTORY[:2]}])
def test_what_may_not_or_cannot_be_cut_fails(more: dict[str, Any]) -> None:
    model = Narrow(room=0)
    end = events(play(make_run("", inference=model, **{"history": HISTORY, **more})))[-1]
    assert (end.status, end.error.type) == ("failed", "context_length_exceeded")


def test_a_model_that_may_make_one_call_makes_one() -> None:
    run = make_run(
        'call lookup {"q": "a"}\ncall lookup {"q": "b"}\nthen\nsay ok', server_tools=tool(), single_call=True
    )
    found = [event for event in events(play(run)) if event.type == "step.ended"]
    assert [event.step_type for event in found] == ["inference", "tool_execution", "inference"]


def test_the_clients_calls_are_handed_out_at_the_limit_of_rounds() -> None:
    script = 'call ask {"q": "a"}'
    tools = [ToolDef(name="ask")]
    handed = events(play(make_run(script, client_tools=tools, max_infer_iters=1, ends_with_client_calls=True)))
    kept = events(play(make_run(script, client_tools=tools, max_infer_iters=1)))
    assert handed[-1].type == "turn.awaiting_input"
    assert kept[-1].reason == "max_infer_iters"


def test_calls_beyond_the_limit_are_answered_without_being_run() -> None:
    script = 'call lookup {"q": "a"}\ncall lookup {"q": "b"}\nthen\nsay ok'
    found = events(play(make_run(script, server_tools=tool(), max_tool_calls=1)))
    tools = [event for event in found if event.type == "step.ended" and event.step_type == "tool_execution"]
    assert [event.status for event in tools] == ["completed", "failed"]
    assert "limit of 1" in tools[1].detail.tool_responses[0].content

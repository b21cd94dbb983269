"""The Agents dialect: each frame is one of the contract's chunks, and the last holds the turn."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.llama_stack.schemas import TurnChunk, TurnObject
from agents.llama_stack.stream import TurnStream
from agents.llama_stack.wire import turn_json
from agents.record.schemas.events import Delta, cursor_of, parse_cursor
from agents.record.schemas.turns import fold
from agents.safety.providers.scripted import PhraseShield
from tests.loop.play import LOOKUP, SESSION, TURN, events, items, make_run, play
from tests.loop.test_loop import resume_of, tool
from tests.record.store.test_recorder import RUNS, TOOL_SCRIPT


def frames(body: bytes) -> list[dict[str, Any]]:
    """The JSON of each frame."""
    assert body.endswith(b"\n\n") or not body
    blocks = body.decode().split("\n\n")[:-1]
    for block in blocks:
        lines = block.split("\n")
        assert [line for line in lines if not line.startswith(("data: ", "id: "))] == []
    return [json.loads(block.partition("data: ")[2]) for block in blocks]


def stream_of(entries: Any, **more: Any) -> list[dict[str, Any]]:
    return frames(TurnStream(TURN, SESSION, **more).feed(entries))


def shown(found: list[dict[str, Any]]) -> list[str]:
    payloads = [frame["event"]["payload"] for frame in found]
    return [f"{one['event_type']} {one.get('step_type', '')}".strip() for one in payloads]


@pytest.mark.parametrize("name", RUNS)
def test_every_frame_is_a_chunk_or_an_error(name: str) -> None:
    settings = dict(RUNS[name])
    for frame in stream_of(play(make_run(settings.pop("script"), **settings))):
        if "error" in frame:
            assert frame["error"]["message"]
        else:
            TurnChunk.model_validate(frame)


@pytest.mark.parametrize("name", RUNS)
def test_the_last_frame_holds_the_turn_as_it_is_read_back(name: str) -> None:
    settings = dict(RUNS[name])
    entries = play(make_run(settings.pop("script"), **settings))
    last = stream_of(entries)[-1]
    stored = json.loads(turn_json(fold(TURN, SESSION, events(entries))))
    TurnObject.model_validate(stored)
    if "event" in last:
        assert last["event"]["payload"]["turn"] == stored


def test_the_order_of_a_turn_with_a_server_tool_and_a_client_tool() -> None:
    shields = {"input_shields": [PhraseShield()], "output_shields": [PhraseShield()]}
    script = "say Let me see.\ncall ours {}\nthen\ncall lookup {}\nthen\nsay Done."
    settings: dict[str, Any] = {"server_tools": tool("ours"), "client_tools": [LOOKUP], **shields}
    first = play(make_run(script, **settings))
    assert [one for one in shown(stream_of(first)) if not one.startswith("step_progress inference")] == [
        "turn_start",
        "step_start shield_call",
        "step_complete shield_call",
        "step_start inference",
        "step_complete inference",
        "step_start tool_execution",
        "step_progress tool_execution",
        "step_complete tool_execution",
        "step_start inference",
        "step_complete inference",
        "step_start shield_call",
        "step_complete shield_call",
        "turn_awaiting_input",
    ]
    second = play(make_run(script, resume=resume_of(first), earlier=items(first), **settings))
    resumed = shown(stream_of([*first, *second], after=(events(second)[0].seq - 1, 1 << 60)))
    assert resumed[:3] == ["step_complete tool_execution", "step_start shield_call", "step_complete shield_call"]
    assert resumed[-1] == "turn_complete"


def test_two_client_calls_of_a_round_are_one_step_under_the_first_id() -> None:
    script = 'call lookup {"query": "a"}\ncall lookup {"query": "b"}\nthen\nsay ok'
    first = play(make_run(script, client_tools=[LOOKUP]))
    waiting = [event for event in events(first) if getattr(event, "status", "") == "awaiting_input"]
    assert len(waiting) == 2
    from agents.loop.run import PendingCall, Resume
    from agents.record.schemas.content import ToolResponse, Usage

    calls = [event.detail.tool_calls[0] for event in waiting]
    resume = Resume(
        response_number=2,
        responses=[ToolResponse(call_id=call.call_id, tool_name="lookup", content=call.call_id) for call in calls],
        pending=[PendingCall(event.step, call, event.at) for event, call in zip(waiting, calls, strict=True)],
        next_seq=events(first)[-1].seq + 1,
        next_step=3,
        round=1,
        iterations=1,
        usage=Usage(),
    )
    second = play(make_run(script, client_tools=[LOOKUP], resume=resume))
    found = stream_of([*first, *second], after=(events(second)[0].seq - 1, 1 << 60))
    tools = [f["event"]["payload"] for f in found if f["event"]["payload"].get("step_type") == "tool_execution"]
    assert len(tools) == 1
    details = tools[0]["step_details"]
    assert [call["call_id"] for call in details["tool_calls"]] == [call.call_id for call in calls]
    assert [one["call_id"] for one in details["tool_responses"]] == [call.call_id for call in calls]


@given(place=st.integers(0, 1000), step=st.integers(1, 7))
def test_a_reader_from_any_cursor_gets_exactly_the_rest(place: int, step: int) -> None:
    entries = play(make_run(TOOL_SCRIPT, server_tools=tool()))
    whole = TurnStream(TURN, SESSION, with_ids=True).feed(entries)
    place %= len(entries)
    after = parse_cursor(cursor_of(entries[place]))
    late = TurnStream(TURN, SESSION, after=after, with_ids=True)
    pieces = [late.feed(entries[start : start + step]) for start in range(0, len(entries), step)]
    early = TurnStream(TURN, SESSION, with_ids=True).feed(entries[: place + 1])
    assert early + b"".join(pieces) == whole


def test_text_is_whole_in_its_progress_frames() -> None:
    entries = play(make_run('say Hello "there"\\\n\nsay   and\u2028 here'))
    found = [
        f["event"]["payload"] for f in stream_of(entries) if f["event"]["payload"]["event_type"] == "step_progress"
    ]
    typed = "".join(delta.text for delta in entries if isinstance(delta, Delta))
    assert "".join(one["delta"]["text"] for one in found) == typed

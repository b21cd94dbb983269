"""The frames of a session's stream: the same entries give the same frames, however they come and whoever joins late."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from agents.openai_agents.wire.sessions import SessionHead
from agents.openai_agents.wire.stream import SessionStream
from agents.record.schemas.content import ToolResponse
from agents.record.schemas.events import Delta, Entry, InferenceDetail, StepEnded, ToolDetail, TurnResumed
from tests.loop.play import LOOKUP, SESSION, TURN, events, make_run, play

HEAD = SessionHead(SESSION, {"id": "agent_x"}, 0, 0)
SCRIPTS = {
    "plain": "say One two.",
    "thinking": "think Hm hm.\nsay One two.",
    "call": 'say Wait.\ncall lookup {"query": "x"}\nthen\nsay Found.',
    "failure": "say One\nfail 502 broken",
    "cut": "say One two three\ncut",
}


def entries_of(name: str) -> list[Entry]:
    return play(make_run(SCRIPTS[name], client_tools=[LOOKUP]))


def stream(after: int = -1) -> SessionStream:
    made = SessionStream(HEAD, "agent_x")
    made.begin_turn(TURN, after)
    return made


def frames(raw: bytes) -> list[dict[str, Any]]:
    return [json.loads(part.removeprefix(b"data: ")) for part in raw.split(b"\n\n") if part]


def short(found: Sequence[dict[str, Any]]) -> list[str]:
    return [frame["type"].removeprefix("agent.session.").removeprefix("turn.") for frame in found]


@pytest.mark.parametrize("name", SCRIPTS)
def test_the_same_entries_give_the_same_frames(name: str) -> None:
    entries, one_by_one = entries_of(name), stream()
    whole = stream().feed(entries)
    assert b"".join(one_by_one.feed([entry]) for entry in entries) == whole
    ids = [frame["event_id"] for frame in frames(whole)]
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("name", SCRIPTS)
def test_who_joins_late_gets_the_rest(name: str) -> None:
    entries = entries_of(name)
    whole = frames(stream().feed(entries))
    for event in events(entries):
        rest = frames(stream(event.seq).feed(entries))
        assert rest == whole[len(whole) - len(rest) :]
    assert frames(stream(events(entries)[-1].seq).feed(entries)) == []


@pytest.mark.parametrize("name", SCRIPTS)
def test_what_begins_ends(name: str) -> None:
    found = frames(stream().feed(entries_of(name)))
    begun = [
        frame["item"]["id"]
        for frame in found
        if frame.get("output_index") is not None and "added" in frame["type"] and "item" in frame
    ]
    ended = [frame["item"]["id"] for frame in found if frame["type"].endswith("item.done")]
    waiting = [frame["item"]["id"] for frame in found if frame.get("item", {}).get("type") == "function_call"]
    assert begun == [*ended, *waiting]
    for frame in found:
        if frame["type"].endswith("item.done"):
            assert frame["output_index"] == begun.index(frame["item"]["id"])


def test_words_before_a_call_are_commentary_and_the_call_comes_when_it_can_be_answered() -> None:
    found = frames(stream().feed(entries_of("call")))
    assert short(found)[-4:] == ["content_part.done", "item.done", "item.added", "requires_action"]
    assert found[-3]["item"]["phase"] == "commentary"
    assert found[-2]["item"]["arguments"] == {"query": "x"}
    [action] = found[-1]["session"]["required_actions"]
    assert action["call_id"] == found[-2]["item"]["call_id"]


def test_a_call_that_is_answered_goes_on() -> None:
    entries = entries_of("call")
    waits, made = events(entries)[-1], stream()
    made.feed(entries)
    step = next(event for event in events(entries) if event.type == "step.started" and event.detail)
    answer = ToolResponse(call_id=step.detail.tool_calls[0].call_id, tool_name="lookup", content="there")
    detail = ToolDetail(tool_calls=step.detail.tool_calls, tool_responses=[answer])
    seq, at = waits.seq + 1, waits.at + 1
    ended = StepEnded(
        seq=seq + 1, at=at, step=step.step, step_type="tool_execution", name="lookup", started_at=step.at, detail=detail
    )
    after = StepEnded(
        seq=seq + 2,
        at=at,
        step=step.step + 1,
        step_type="inference",
        name="m",
        started_at=at,
        detail=InferenceDetail(
            model_response=events(entries)[2].detail.model_response.model_copy(update={"tool_calls": []})
        ),
    )
    found = frames(made.feed([TurnResumed(seq=seq, at=at, leg=2, tool_responses=[answer]), ended, after]))
    assert short(found)[:3] == ["item.added", "item.done", "in_progress"]
    assert found[0]["item"]["output"] == "there"
    assert found[1]["item"]["status"] == "completed"
    assert found[-1]["item"]["phase"] == "final_answer"


def test_a_failure_is_told_with_a_code_that_clients_know() -> None:
    found = frames(stream().feed(entries_of("failure")))
    assert short(found)[-3:] == ["failed", "error", "idle"]
    assert found[-3]["turn"]["error"]["code"] == "server_error"
    done = [frame["item"] for frame in found if frame["type"].endswith("item.done")]
    assert [item["status"] for item in done] == ["incomplete"]


def test_reasoning_after_the_text_is_sent_whole() -> None:
    entries = entries_of("plain")
    inference = next(event for event in events(entries) if event.type == "step.ended")
    late = inference.model_copy(
        update={"detail": inference.detail.model_copy(update={"reasoning": "Late.", "reasoning_last": True})}
    )
    typed = [entry for entry in entries if isinstance(entry, Delta)]
    thought = replace(typed[-1], channel="reasoning", text="Late.", offset=0, ordinal=typed[-1].ordinal + 1)
    found = frames(stream().feed([*entries[: entries.index(inference)], thought, late]))
    assert [frame["item"]["type"] for frame in found if frame["type"].endswith("item.done")] == ["message", "reasoning"]

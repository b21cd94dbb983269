"""What real senders sent, and the turns that come of it.

``expected/<capture>.json`` was made by another reader of the same captures and is questioned where sense says
otherwise. Its words for a status and for sessions that nobody named are translated here; its name of a step is the
sender's span, ours is the tool or the model, which it has, too.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agents.record.schemas.content import Usage, text_of
from agents.record.schemas.events import InferenceDetail, ToolDetail
from agents.telemetry.reading.records import ExternalStep, ExternalTurn
from agents.telemetry.reading.turns import build_turns
from tests.telemetry.reading import captures

EXPECTED = Path(__file__).with_name("expected")
_OF_FILES = ("session", "agent", "input", "output", "status", "usage")
STATUS = {"ok": "completed", "error": "failed"}


def expected_of(name: str) -> Any:
    return json.loads((EXPECTED / f"{name}.json").read_text())


@pytest.mark.parametrize("name", [name for name in captures.names() if (EXPECTED / f"{name}.json").exists()])
def test_a_capture_becomes_the_expected_turns(name: str) -> None:
    expected = expected_of(name)
    turns = build_turns(captures.spans(name))
    assert sorted({agent for turn in turns for agent in turn.agents}) == sorted(expected["agents"])
    assert sorted({turn.session for turn in turns}) == sorted(map(_session, expected["sessions"]))
    built = sorted(map(_turn, turns), key=_by_trace)
    wanted = sorted(map(_wanted, expected["turns"]), key=_by_trace)
    assert [{**turn, "steps": len(turn["steps"])} for turn in built] == [
        {**turn, "steps": len(turn["steps"])} for turn in wanted
    ]
    for turn, other in zip(built, wanted, strict=True):
        assert turn["steps"] == other["steps"]


def _by_trace(turn: dict[str, Any]) -> list[str]:
    traces: list[str] = turn["traces"]
    return traces


def _session(name: str) -> str:
    return name.replace("stitched:", "trace:")


# ---------------------------------------------------------------------------------------------- ours


def _turn(turn: ExternalTurn) -> dict[str, Any]:
    counted = [step.usage for step in turn.steps if step.usage is not None]
    return {
        "session": turn.session,
        "agent": turn.agent,
        "agents": sorted(turn.agents),
        "input": [text_of(message.content) for message in turn.input],
        "output": text_of(turn.output.content) or None if turn.output is not None else None,
        "status": turn.status,
        "usage": _usage(sum(counted, start=Usage())),
        "n_errors": sum(step.status == "failed" for step in turn.steps),
        "traces": sorted(turn.traces),
        "steps": list(map(_step, turn.steps)),
    }


def _usage(usage: Usage | None) -> dict[str, int]:
    if usage is None:
        return {}
    counts = {
        "input": usage.input_tokens,
        "output": usage.output_tokens,
        "cache_read": usage.cached_tokens,
        "reasoning": usage.reasoning_tokens,
    }
    return {name: count for name, count in counts.items() if count}


def _step(step: ExternalStep) -> dict[str, Any]:
    fields: dict[str, Any] = {"id": step.id, "parent": step.parent, "type": step.type, "agent": step.agent}
    fields["failed"] = step.status == "failed"
    match step.detail:
        case InferenceDetail() as detail:
            answer = detail.model_response
            fields["output"] = text_of(answer.content) or None
            fields["calls"] = [[one.call_id, one.tool_name, one.arguments or None] for one in answer.tool_calls]
            fields["usage"], fields["name"] = _usage(step.usage), step.name if step.model else None
        case ToolDetail() as detail:
            call, responses = detail.tool_calls[0], detail.tool_responses
            fields["call_id"], fields["name"] = call.call_id or None, step.name
            fields["arguments"] = call.arguments or None
            fields["result"] = text_of(responses[0].content) if responses else None
            fields["made"] = step.is_inferred
        case _:
            fields["kind"], fields["name"] = step.kind if step.type == "other" else step.type, step.name
    return fields


# ---------------------------------------------------------------------------------------------- expected


def _wanted(turn: dict[str, Any]) -> dict[str, Any]:
    return {
        "session": _session(turn["session"]),
        "agent": turn["agent"],
        "agents": sorted(turn["agents"]),
        "input": turn["input"],
        "output": turn["output"],
        "status": STATUS.get(turn["status"], turn["status"]),
        "usage": _counted(turn["usage"]),
        "n_errors": turn["n_errors"],
        "traces": sorted(turn["traces"]),
        "steps": list(map(_wanted_step, turn["steps"])),
    }


def _counted(usage: dict[str, int] | None) -> dict[str, int]:
    return {name: count for name, count in (usage or {}).items() if count and name != "cache_write"}


def _wanted_step(step: dict[str, Any]) -> dict[str, Any]:
    fields = {
        "id": step["id"],
        "parent": step["parent_id"] or "",
        "type": step["step_type"],
        "agent": step["agent"],
        "failed": "error" in step,
    }
    match step["step_type"]:
        case "inference":
            fields |= {"output": step["output"], "calls": step.get("tool_calls", [])}
            fields |= {"usage": _counted(step.get("usage")), "name": step.get("model")}
        case "tool_execution":
            fields |= {name: step[name] for name in ("call_id", "arguments", "result")}
            fields |= {"name": step["tool"], "made": step["id"].startswith("made:")}
        case "other":
            fields |= {"kind": step["kind"], "name": step["name"]}
        case type_:
            fields |= {"kind": type_, "name": step["name"]}
    return fields


# ---------------------------------------------------------------------------------------------- session files


@pytest.mark.parametrize("name", captures.sessions())
def test_a_session_file_becomes_the_expected_turns(name: str) -> None:
    """The reference names no ids, and puts a sub-agent's steps right below the tool that started it."""
    expected = json.loads((EXPECTED / "sessions" / f"{name}.json").read_text())
    turns = build_turns(captures.session_spans(name))
    assert [_turn_of_file(turn) for turn in turns] == [_wanted_of_file(turn) for turn in expected["turns"]]


def _turn_of_file(turn: ExternalTurn) -> dict[str, Any]:
    made = _turn(turn)
    steps = [_step_of_file(step) for step in made["steps"]]
    return {**{name: made[name] for name in _OF_FILES}, "steps": steps}


def _step_of_file(step: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in step.items() if name not in ("id", "parent", "agent", "failed", "made")}


def _wanted_of_file(turn: dict[str, Any]) -> dict[str, Any]:
    whole = {"n_errors": 0, "traces": [], "agents": []}
    steps = [{"id": "", "parent_id": "", "agent": "", **step} for step in turn["steps"]]
    made = _wanted({**whole, **turn, "steps": steps})
    return {**{name: made[name] for name in _OF_FILES}, "steps": [_step_of_file(step) for step in made["steps"]]}

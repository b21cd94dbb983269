"""Our turns as ATIF trajectories: what they say, and that they are read back."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from agents.base.access import Actor
from agents.record.models.turns import Turn
from agents.record.schemas.content import text_of
from agents.record.schemas.records import TurnRecord
from agents.record.store import turn_records
from agents.telemetry.reading import files
from agents.telemetry.reading.detect_format import format_of
from agents.telemetry.reading.turns import build_turns
from agents.telemetry.wire import atif
from tests.conftest import Clock
from tests.loop.test_loop import tool
from tests.support.builders import make_agent, make_session, make_turn
from tests.support.sample_turns import sample
from tests.telemetry.reading.outlines import outline

pytestmark = pytest.mark.django_db

SCRIPT = '# any kettles?\nthink I look.\ncall search {"query": "kettle"}\nthen\nsay Found a kettle.'


@pytest.fixture
def turn(admin: Actor) -> TurnRecord:
    agent = make_agent(admin, name="support", instructions="Be kind.")
    made = make_turn(admin, SCRIPT, agent=agent, server_tools=tool("search", content="a kettle"))
    return turn_records.read(admin, made.turn)


def test_a_turn_is_a_trajectory(turn: TurnRecord) -> None:
    written = atif.trajectory(turn)
    assert (written["schema_version"], written["session_id"], written["trajectory_id"]) == (
        "ATIF-v1.7",
        turn.session.id,
        turn.id,
    )
    assert written["agent"] == {"name": "support", "version": "unknown", "model_name": "scripted/fast"}
    assert [step["step_id"] for step in written["steps"]] == [1, 2, 3, 4]
    system, user, calling, answer = written["steps"]
    assert (system["source"], system["message"]) == ("system", "Be kind.")
    assert (user["source"], user["message"]) == ("user", text_of(turn.input[0].content))
    assert calling["reasoning_content"] == "I look."
    [call] = calling["tool_calls"]
    assert (call["function_name"], call["arguments"]) == ("search", {"query": "kettle"})
    assert calling["observation"] == {"results": [{"source_call_id": call["tool_call_id"], "content": "a kettle"}]}
    assert (answer["source"], answer["message"]) == ("agent", "Found a kettle.")
    used = [step.usage for step in turn.steps if step.usage]
    assert written["final_metrics"]["total_prompt_tokens"] == sum(usage.input_tokens for usage in used)
    assert written["final_metrics"]["total_steps"] == 4


def test_it_is_read_back(turn: TurnRecord) -> None:
    line = atif.turn_line(turn)
    assert format_of(line) == "atif"
    [read] = build_turns(files.decode_file("atif", line).spans)
    question = text_of(turn.input[0].content)
    calls = [("fast", "", ["search"]), ("search", {"query": "kettle"}, "a kettle"), ("fast", "Found a kettle.", [])]
    assert outline(read) == [question, *calls, "Found a kettle."]
    assert (read.session, read.agent, read.instructions) == (turn.session.id, "support", "Be kind.")
    assert [step.usage.model_dump() for step in read.steps if step.usage] == [
        step.usage.model_dump() for step in turn.steps if step.usage
    ]
    assert [step.ended_us for step in read.steps if step.type == "inference"] == [
        step.completed_at for step in turn.steps if step.type == "inference"
    ]


def test_the_turns_of_a_session_stay_apart(admin: Actor, make_user: Callable[..., Actor], tmp_path: Path) -> None:
    session = make_session(admin)
    for number in range(3):
        make_turn(admin, f"say Answer {number}.", session=session)
    make_user("other")
    file = tmp_path / "turns.atif.jsonl"
    call_command("logs", "export", "--format", "atif", "--out", str(file), stderr=io.StringIO())
    assert len(file.read_text().splitlines()) == 3
    out = io.StringIO()
    call_command("logs", "import", str(file), "--user", "other", stdout=out, stderr=io.StringIO())
    assert "3 new, 0 known, 0 changed" in out.getvalue()
    imported = Turn.objects.unscoped("a test's").exclude(session_id=session)
    assert len(set(imported.values_list("session_id", flat=True))) == 1


def test_every_turn_is_a_trajectory(admin: Actor, clock: Clock) -> None:
    for made in sample(admin, clock):
        record = turn_records.read(admin, made.turn)
        written = json.loads(atif.turn_line(record))
        assert {"schema_version", "agent", "steps"} <= set(written)
        _check(written)
        answer = text_of(record.output.content) if record.output else ""
        [read] = build_turns(files.decode_file("atif", json.dumps(written).encode()).spans)
        assert (text_of(read.output.content) if read.output else "") == answer


def _check(written: dict[str, Any]) -> None:
    """What the format's validator insists on."""
    calls = {call["tool_call_id"] for step in written["steps"] for call in step.get("tool_calls", ())}
    for number, step in enumerate(written["steps"], 1):
        assert step["step_id"] == number
        assert isinstance(step["message"], str)
        if step["source"] != "agent":
            assert not {"model_name", "reasoning_content", "tool_calls", "metrics"} & set(step)
        for result in step.get("observation", {}).get("results", ()):
            assert step["source"] != "agent" or result["source_call_id"] in calls
        assert all(isinstance(call["arguments"], dict) for call in step.get("tool_calls", ()))


def test_what_was_said_before_is_context(admin: Actor) -> None:
    said = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Hello"},
        {"role": "user", "content": "!script\nsay Bye."},
    ]
    made = make_turn(admin, "say Bye.")
    record = turn_records.read(admin, made.turn)
    changed = TurnRecord.model_validate(record.model_dump(exclude_unset=True) | {"input": said})
    steps = [step for step in atif.trajectory(changed)["steps"] if step["source"] != "system"]
    assert [step.get("is_copied_context") for step in steps] == [True, True, None, None]

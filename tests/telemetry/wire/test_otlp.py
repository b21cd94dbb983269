"""Our turns as OpenTelemetry's spans: what they say, and what servers make of them."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from agents.base import ids
from agents.base.access import Actor
from agents.record.models.turns import Turn
from agents.record.schemas.content import text_of
from agents.record.schemas.events import ToolDetail
from agents.record.schemas.records import TurnRecord
from agents.record.store import turn_records
from agents.telemetry.reading.otlp import traces_from_json, traces_from_protobuf
from agents.telemetry.reading.turns import build_turns
from agents.telemetry.store.external import inbox
from agents.telemetry.store.external.projector import projector
from agents.telemetry.wire import otlp, otlp_encoding
from tests.conftest import Clock
from tests.loop.test_loop import tool
from tests.support.builders import make_agent, make_turn
from tests.support.comparable_turns import of_owner, seen
from tests.support.sample_turns import sample

pytestmark = pytest.mark.django_db

SCRIPT = 'call search {"query": "kettle"}\nthen\nsay Found a kettle.'


@pytest.fixture
def turn(admin: Actor) -> TurnRecord:
    """A turn with a tool, of an agent with instructions."""
    agent = make_agent(admin, name="support", instructions="Be kind.")
    made = make_turn(admin, SCRIPT, agent=agent, server_tools=tool("search", content="a kettle"))
    return turn_records.read(admin, made.turn)


def test_a_turn_is_a_trace_of_the_conventions(turn: TurnRecord) -> None:
    root, first, run, last = otlp.spans(turn)
    assert root.trace == turn.id.replace("-", "")
    assert [span.name for span in (root, first, run, last)] == [
        "invoke_agent support",
        "chat scripted/fast",
        "execute_tool search",
        "chat scripted/fast",
    ]
    assert {span.parent for span in (first, run, last)} == {root.id}
    assert len({span.id for span in (root, first, run, last)}) == 4
    assert {len(span.id) for span in (root, first, run, last)} == {16}
    assert (root.start_ns, root.end_ns) == (turn.started_at * 1000, (turn.completed_at or 0) * 1000)
    assert root.attributes["gen_ai.conversation.id"] == turn.session.id
    assert json.loads(root.attributes["gen_ai.system_instructions"]) == [{"type": "text", "content": "Be kind."}]
    assert run.attributes["gen_ai.tool.call.arguments"] == '{"query":"kettle"}'
    assert run.attributes["gen_ai.tool.call.result"] == "a kettle"
    assert first.attributes["gen_ai.response.finish_reasons"] == ["tool_calls"]
    said = json.loads(last.attributes["gen_ai.input.messages"])
    assert [message["role"] for message in said] == ["user", "assistant", "tool"]
    assert said[2]["parts"][0] == {
        "type": "tool_call_response",
        "id": run.attributes["gen_ai.tool.call.id"],
        "response": "a kettle",
    }


def test_both_encodings_say_the_same(admin: Actor, clock: Clock) -> None:
    for made in sample(admin, clock):
        spans = otlp.spans(turn_records.read(admin, made.turn), records=True)
        told = traces_from_json(json.loads(otlp_encoding.as_json(spans)))
        assert told == traces_from_protobuf(otlp_encoding.as_protobuf(spans))
        assert told.rejected == 0
        assert len(told.spans) == len(spans)


def test_another_server_understands_the_conventions_alone(turn: TurnRecord) -> None:
    told = traces_from_protobuf(otlp_encoding.as_protobuf(otlp.spans(turn)))
    [read] = build_turns(told.spans)
    assert (read.agent, read.session, read.status, read.model) == (
        "support",
        turn.session.id,
        "completed",
        "fast",  # the model that answered
    )
    assert [text_of(message.content) for message in read.input] == [text_of(turn.input[0].content)]
    assert read.output is not None
    assert read.output.content == "Found a kettle."
    assert [(step.type, step.name, step.status) for step in read.steps] == [
        (step.type, step.name.removeprefix("scripted/"), step.status) for step in turn.steps
    ]
    assert [step.usage.model_dump() for step in read.steps if step.usage] == [
        step.usage.model_dump() for step in turn.steps if step.usage
    ]
    assert [step.cost_nano for step in read.steps] == [step.cost_nano for step in turn.steps]
    assert [(step.started_us, step.ended_us) for step in read.steps] == [
        (step.started_at, step.completed_at) for step in turn.steps
    ]
    [call] = [step.detail.tool_calls[0] for step in read.steps if isinstance(step.detail, ToolDetail)]
    assert call.arguments == {"query": "kettle"}


def test_a_failure_is_told(admin: Actor) -> None:
    made = make_turn(admin, "fail 504 upstream timed out")
    root, step = otlp.spans(turn_records.read(admin, made.turn))
    assert root.error is not None
    assert "upstream timed out" in root.error.message
    [read] = build_turns(traces_from_json(json.loads(otlp_encoding.as_json([root, step]))).spans)
    assert read.status == "failed"
    assert read.error is not None
    assert (read.error.type, read.error.message) == (root.error.type, root.error.message)


def lines_of(text: str) -> Iterator[Any]:
    yield from map(json.loads, text.splitlines())


def test_what_is_exported_can_be_read_back(
    admin: Actor, clock: Clock, make_user: Callable[..., Actor], tmp_path: Path
) -> None:
    sample(admin, clock)
    file = tmp_path / "turns.otlp.jsonl"
    call_command("logs", "export", "--format", "otlp", "--out", str(file), stderr=io.StringIO())
    other, third = make_user("other"), make_user("third")
    said = io.StringIO()
    call_command("logs", "import", str(file), "--user", "other", stdout=said, stderr=io.StringIO())
    assert "15 new, 0 known, 0 changed" in said.getvalue()
    assert seen(of_owner(other)) == seen(of_owner(admin))
    # and the same when a collector sends it, span by span and the root last
    for body in lines_of(file.read_text()):
        for span in reversed(traces_from_json(body).spans):
            inbox.accept(third, [span])
    projector.wake()
    assert seen(of_owner(third)) == seen(of_owner(admin))


def test_both_exports_are_the_same_turns(
    admin: Actor, clock: Clock, make_user: Callable[..., Actor], tmp_path: Path
) -> None:
    sample(admin, clock)
    make_user("other")
    for form in (["--whole"], ["--format", "otlp"]):
        file = tmp_path / "turns.jsonl"
        call_command("logs", "export", *form, "--out", str(file), stderr=io.StringIO())
        call_command("logs", "import", str(file), "--user", "other", stdout=io.StringIO(), stderr=io.StringIO())
    assert Turn.objects.unscoped("test").count() == 30


def test_a_long_turn_does_not_repeat_itself_for_ever(admin: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agents.telemetry.wire.otlp_messages.MAX_INPUT_BYTES", 300)
    made = make_turn(admin, SCRIPT, server_tools=tool("search", content="x" * 1000))
    *_, last = otlp.spans(turn_records.read(admin, made.turn))
    said = json.loads(last.attributes["gen_ai.input.messages"])
    assert [message["role"] for message in said] == ["tool"]


def test_a_foreign_turn_is_exported_too(admin: Actor, make_user: Callable[..., Actor]) -> None:
    from tests.telemetry.reading import reports

    inbox.accept(admin, traces_from_json(reports.request(*reports.turn(1))).spans)
    projector.wake()
    [key] = of_owner(admin).values_list("pk", flat=True)
    spans = otlp.spans(turn_records.read(admin, key), records=True)
    assert spans[0].trace == ids.public(ids.Kind.TURN, key).replace("-", "")
    other = make_user("other")
    inbox.accept(other, traces_from_protobuf(otlp_encoding.as_protobuf(spans)).spans)
    projector.wake()
    assert seen(of_owner(other)) == seen(of_owner(admin))

"""Calls in doubt are shown to the reader of a turn, who decides about them; a run that is asked for twice runs once."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from agents.base.store import keys
from agents.record.models.turns import Turn
from agents.record.schemas.events import MADE, StepDecided
from agents.record.store import replay
from tests.support.builders import make_agent, make_turn
from tests.support.doubtful_turns import CHARGE, make_doubtful
from tests.support.inprocess import body_of

pytestmark = pytest.mark.usefixtures("_served", "_quiet")


def called(tool: str, **arguments: Any) -> tuple[str, bool]:
    """What a tool answered, and whether it is an error."""
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
    headers = {"MCP-Protocol-Version": "2025-06-18"}
    answer = Client().post("/mcp", json.dumps(body), content_type="application/json", headers=headers)
    result = json.loads(body_of(answer))["result"]
    return result["content"][0]["text"], result.get("isError", False)


def decided(turn: int) -> list[StepDecided]:
    return [event for event in replay.load(turn) if isinstance(event, StepDecided)]


@pytest.mark.parametrize(
    ("outcome", "content", "told"),
    [("done", None, MADE), ("not_done", None, None), ("result", "charged 7", "charged 7")],
)
def test_a_call_in_doubt_is_shown_and_decided(outcome: str, content: str | None, told: str | None) -> None:
    doubtful = make_doubtful(keys.local())
    [step] = doubtful.step_ids
    text, _ = called("read_turn", turn_id=doubtful.made.public_id)
    assert f"step_id {step}: charge(" in text
    assert '"order": 7' in text
    decision = {"step_id": step, "outcome": outcome} | ({} if content is None else {"content": content})
    text, failed = called("decide_calls", turn_id=doubtful.made.public_id, decisions=[decision], wait_seconds=0)
    assert not failed, text
    assert "waits for a decision" not in text
    [event] = decided(doubtful.made.turn)
    assert (event.outcome, event.result and event.result.content) == (outcome, told)


def test_one_of_two_is_decided_first() -> None:
    doubtful = make_doubtful(keys.local(), f"{CHARGE}\n{CHARGE}\nthen\nsay Done.")
    first, second = doubtful.step_ids
    text, failed = called(
        "decide_calls",
        turn_id=doubtful.made.public_id,
        decisions=[{"step_id": first, "outcome": "done"}],
        wait_seconds=0,
    )
    assert not failed
    assert f"step_id {first}:" not in text
    assert f"step_id {second}:" in text
    assert len(decided(doubtful.made.turn)) == 1


@pytest.mark.parametrize(
    ("decision", "reason"),
    [
        ({"step_id": "nonsense", "outcome": "done"}, "not found"),
        ({"outcome": "done"}, "step_id"),
        ({"outcome": "perhaps"}, "outcome"),
        ({"outcome": "result"}, "content"),
        ({"outcome": "done", "content": "x"}, "content"),
    ],
)
def test_a_decision_that_is_none_is_refused(decision: dict[str, str], reason: str) -> None:
    doubtful = make_doubtful(keys.local())
    known = {} if reason == "step_id" else {"step_id": doubtful.step_ids[0]}
    text, failed = called("decide_calls", turn_id=doubtful.made.public_id, decisions=[{**known, **decision}])
    assert failed
    assert reason in text
    assert not decided(doubtful.made.turn)


def test_a_call_that_is_not_in_doubt_is_not_decided() -> None:
    turn = make_turn(keys.local(), "say Hello.")
    doubtful = make_doubtful(keys.local())
    decision = {"step_id": doubtful.step_ids[0], "outcome": "done"}
    text, failed = called("decide_calls", turn_id=turn.public_id, decisions=[decision])
    assert failed
    assert "not found" in text


# --------------------------------------------------------------------------------------------- run once


def test_a_run_with_the_same_key_is_run_once() -> None:
    agent = make_agent(keys.local(), name="clerk")
    ask = {"agent": agent.public_id, "message": "Hello", "idempotency_key": "night 7"}
    first, failed = called("run_agent", **ask)
    assert not failed, first
    again, _ = called("run_agent", **ask, wait_seconds=0)
    assert again.partition("\n")[0] == first.partition("\n")[0]
    assert Turn.objects.unscoped("test").count() == 1
    other, _ = called("run_agent", **{**ask, "idempotency_key": "night 8"})
    assert other.partition("\n")[0] != first.partition("\n")[0]
    called("run_agent", **{**ask, "idempotency_key": ""})
    called("run_agent", **{**ask, "idempotency_key": ""})
    assert Turn.objects.unscoped("test").count() == 4


@pytest.mark.parametrize("change", [{"message": "Bye"}, {"agent": "another"}, {"session_id": "x"}])
def test_a_key_is_not_used_for_something_else(change: dict[str, str]) -> None:
    agent = make_agent(keys.local(), name="clerk")
    ask = {"agent": agent.public_id, "message": "Hello", "idempotency_key": "night 7"}
    called("run_agent", **ask)
    text, failed = called("run_agent", **{**ask, **change})
    assert failed
    assert text.startswith("idempotency_mismatch: idempotency_key: this key was used")


@pytest.mark.parametrize("key", ["x" * 257, "é", "a\nb"])
def test_a_key_is_short_and_plain(key: str) -> None:
    agent = make_agent(keys.local(), name="clerk")
    text, failed = called("run_agent", agent=agent.public_id, message="Hello", idempotency_key=key)
    assert failed
    assert "idempotency_key" in text

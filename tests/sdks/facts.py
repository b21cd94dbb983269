"""What must be so of an SDK's two turns, fact by fact, each under a name by which ``expected.toml`` can say that the
SDK does not report it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.sdks.trial import MODEL, RESULT, Expected, Seen, Turn


@dataclass(frozen=True)
class Fact:
    name: str
    wanted: Any
    found: Any

    @property
    def holds(self) -> bool:
        return bool(self.wanted == self.found)


def of(expected: Expected, seen: Seen) -> list[Fact]:
    """All facts; only the first of them while there are not two turns."""
    first = Fact("turns", 2, len(seen.turns))
    return [first, *_facts(expected, seen)] if first.holds else [first]


def _facts(expected: Expected, seen: Seen) -> Iterator[Fact]:
    rows = [turn.row for turn in seen.turns]
    yield Fact("agent", [expected.agent] * 2, [row["agent_name"] for row in rows])
    yield Fact("one_session", 1, len({row["session_id"] for row in rows}))
    yield Fact("session", [expected.session] * 2, [row["session_name"] for row in rows])
    yield Fact("status", ["completed"] * 2, [row["status"] for row in rows])
    yield Fact("input", list(expected.asked), [_asked(turn) for turn in seen.turns])
    yield Fact(
        "output", list(expected.answers), [_text(turn.whole["output_message"]["content"]) for turn in seen.turns]
    )
    if expected.waits:
        shown = [seen.waiting.get(name) for name in ("id", "status", "output_preview")]
        yield Fact("waits", [rows[0]["id"], "awaiting_input", expected.answers[0]], shown)
    yield Fact("steps", [list(expected.steps)] * 2, [[step["type"] for step in turn.steps] for turn in seen.turns])
    yield from _models(seen)
    yield from _tools(expected, seen)


def _models(seen: Seen) -> Iterator[Fact]:
    calls = [[step for step in turn.steps if step["type"] == "inference"] for turn in seen.turns]
    half = len(seen.answered) // 2
    by_turn = [seen.answered[:half], seen.answered[half:]]
    yield Fact("model", [[MODEL] * len(one) for one in by_turn], [[step["model"] for step in one] for one in calls])
    yield Fact("step_tokens", by_turn, [[_tokens(step) for step in one] for one in calls])
    sums = [tuple(map(sum, zip(*one, strict=True))) for one in by_turn]
    yield Fact("tokens", sums, [_tokens(turn.row) for turn in seen.turns])


def _tools(expected: Expected, seen: Seen) -> Iterator[Fact]:
    """Of the calls of our tool: of each turn the first one asked for, and the first one done."""
    wanted = [[expected.tool, given] for given in expected.arguments]
    asked = [_first(turn, "inference", "model_response") for turn in seen.turns]
    yield Fact("call", wanted, [_named(call) for call in asked])
    done = [_first(turn, "tool_execution") for turn in seen.turns]
    yield Fact("arguments", wanted, [_named(call) for call in done])
    ids = [call.get("call_id") for call in asked]
    yield Fact("link", ids if all(ids) else "ids of calls", [call.get("call_id") for call in done])
    results = [_result(turn) for turn in seen.turns]
    yield Fact("result", RESULT, results[0])
    yield Fact("failure_text", True, expected.failure in results[1] or results[1])
    tools = [[step["status"] for step in turn.steps if step["type"] == "tool_execution"] for turn in seen.turns]
    yield Fact("failure", ["completed", "failed"], [one[0] if one else "" for one in tools])


def _first(turn: Turn, kind: str, within: str = "") -> dict[str, Any]:
    """The first tool call of the first step of a kind; empty where there is none."""
    for step in turn.whole["steps"]:
        if step["step_type"] == kind:
            calls = (step[within] if within else step)["tool_calls"]
            return calls[0] if calls else {}
    return {}


def _named(call: dict[str, Any]) -> list[Any]:
    return [call.get("tool_name"), call.get("arguments")]


def _result(turn: Turn) -> str:
    """What came of the first call that was done: what the tool gave, else the error it ended with."""
    done = [step for step in turn.whole["steps"] if step["step_type"] == "tool_execution"]
    if done and done[0]["tool_responses"]:
        return _text(done[0]["tool_responses"][0]["content"])
    errors = [step["error"] for step in turn.steps if step["type"] == "tool_execution"]
    return errors[0]["message"] if errors and errors[0] else ""


def _asked(turn: Turn) -> str:
    return "\n".join(_text(message["content"]) for message in turn.whole["input_messages"] if message["role"] == "user")


def _text(content: Any) -> str:
    """The words of a message's content."""
    if isinstance(content, list):
        return "\n".join(part.get("text", "") for part in content)
    return str(content)


def _tokens(row: dict[str, Any]) -> tuple[int, int]:
    return (row["usage"]["input_tokens"], row["usage"]["output_tokens"])

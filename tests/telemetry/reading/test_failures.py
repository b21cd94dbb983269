"""Why something failed, in words that do not repeat themselves."""

from __future__ import annotations

import pytest

from agents.telemetry.reading.turns import build_turns
from tests.telemetry.reading.sample_spans import agent


@pytest.mark.parametrize(
    ("message", "kind"),
    [("ValueError('no such city')", "ValueError"), ("ValueError: no such city", "builtins.ValueError")],
)
def test_a_failure_does_not_say_its_type_twice(message: str, kind: str) -> None:
    [turn] = build_turns([agent(failed=True, message=message, attributes={"error.type": kind})])
    error = turn.error
    assert error is not None
    assert (error.type, error.message) == (kind, "no such city")


def test_another_type_is_part_of_the_message() -> None:
    [turn] = build_turns([agent(failed=True, message="KeyError: 'a'", attributes={"error.type": "ToolError"})])
    error = turn.error
    assert error is not None
    assert (error.type, error.message) == ("ToolError", "KeyError: 'a'")

"""What a turn of a file comes to, in few words: for tests of whole formats."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from agents.record.schemas.content import text_of
from agents.record.schemas.events import InferenceDetail, ToolDetail
from agents.telemetry.reading.records import ExternalStep, ExternalTurn
from agents.telemetry.reading.spans import Span
from agents.telemetry.reading.turns import build_turns


def outline(turn: ExternalTurn) -> list[Any]:
    """The question, each step and the answer: ``("gpt-4o", text, calls)``, ``("weather", arguments, result)``."""
    asked = " ".join(text_of(message.content) for message in turn.input)
    return [asked, *map(_step, turn.steps), None if turn.output is None else text_of(turn.output.content)]


def outlines(spans: Iterable[Span]) -> list[list[Any]]:
    return [outline(turn) for turn in build_turns(list(spans))]


def _step(step: ExternalStep) -> Any:
    detail = step.detail
    if isinstance(detail, InferenceDetail):
        answer = detail.model_response
        return step.model, text_of(answer.content), [call.tool_name for call in answer.tool_calls or ()]
    if isinstance(detail, ToolDetail):
        [call] = detail.tool_calls
        results = [text_of(result.content) for result in detail.tool_responses]
        return call.tool_name, call.arguments, *results
    return step.type, step.name


WEATHER: list[Any] = [
    "How warm is it in Rome?",
    ("gpt-4o", "", ["weather"]),
    ("weather", {"city": "Rome"}, "18 degrees"),
    ("gpt-4o", "It is 18 degrees.", []),
    "It is 18 degrees.",
]
"""The turn that samples of several formats have."""

"""Steps that were done elsewhere, in words: what their kinds are called, what of them is shown.

Everything here was made up by whoever sent it. Knows no tables and no request.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import quote

import msgspec
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from agents.base import ids
from agents.pages import step_details
from agents.record.schemas.turns import StepSnapshot, TurnSnapshot
from agents.telemetry.reading.steps import INFERRED_PREFIX

KINDS = {
    "agent": gettext_noop("agent"),
    "workflow": gettext_noop("workflow"),
    "chain": gettext_noop("chain"),
    "handoff": gettext_noop("hand-off"),
    "embedding": gettext_noop("embedding"),
    "reranker": gettext_noop("reranking"),
    "prompt": gettext_noop("prompt"),
    "evaluator": gettext_noop("evaluation"),
    "event": gettext_noop("event"),
    "plan": gettext_noop("plan"),
    "memory": gettext_noop("memory"),
    "mcp_tools": gettext_noop("list of tools"),
    "transcription": gettext_noop("transcription"),
    "speech": gettext_noop("speech"),
    "llm_wrapper": gettext_noop("around a model's call"),
}
FRAMES = frozenset({"workflow", "chain", "llm_wrapper"})
"""Kinds that only hold other steps together: one line each."""
DEEPEST = 64


def kind_word(kind: str) -> str:
    """A kind in the reader's language; one that is not known as its sender calls it."""
    return _(KINDS[kind]) if kind in KINDS else kind


def kind_of(step: StepSnapshot) -> str:
    """What an ``other`` step is, '' where that is not told."""
    found = step_details.read(step, step_details.Other) if step.type == "other" else None
    return found.kind if found else ""


def is_made(step: StepSnapshot) -> bool:
    """Whether no span tells of it: it was read out of its neighbours' messages."""
    return step.foreign.startswith(INFERRED_PREFIX)


def span_url(turn: TurnSnapshot, step: StepSnapshot) -> str:
    """Where the span a step was made of stands as it came; '' where there is none."""
    if not step.foreign or is_made(step):
        return ""
    return f"/turns/{ids.public(ids.Kind.TURN, turn.key)}/spans/{quote(step.foreign, safe='')}/"


def is_hidden(step: StepSnapshot) -> bool:
    """Whether the words of a model or a tool were not sent: one that is over always has some."""
    if not step.foreign or step.status != "completed":
        return False
    match step.type:
        case "inference":
            found = step_details.read(step, step_details.Inference) or step_details.Inference()
            said = found.model_response
            return not (said.content or said.tool_calls or found.reasoning)
        case "tool_execution":
            tool = step_details.read(step, step_details.Tool) or step_details.Tool()
            return not tool.tool_responses and all(call.written in {"{}", ""} for call in tool.tool_calls)
        case _:
            return False


def not_captured() -> str:
    return _("not captured by the sender")


def speakers(steps: Sequence[StepSnapshot], otherwise: str) -> Mapping[int, str]:
    """Who did each of these steps: the agent of the nearest step above that is one's."""
    above = {step.key: step.parent for step in steps}
    agents = {step.key: step.name for step in steps if step.name and kind_of(step) == "agent"}
    return {step.key: _speaker(step.key, above, agents) or otherwise for step in steps}


def _speaker(key: int, above: Mapping[int, int | None], agents: Mapping[int, str]) -> str:
    at: int | None = key
    for _step in range(DEEPEST):
        if at is None or at in agents:
            break
        at = above.get(at)
    return agents.get(at, "") if at is not None else ""


def handed(found: step_details.Other) -> tuple[str, str] | None:
    """From whom to whom, of a hand-off that tells."""
    data = data_of(found)
    match data.get("input"), data.get("output"):
        case str(giver), str(taker) if giver and taker and len(data) == len({"input", "output"}):
            return giver, taker
    return None


def data_of(found: step_details.Other) -> dict[str, object]:
    try:
        data = msgspec.json.decode(found.data)
    except (msgspec.MsgspecError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}


def texts(found: step_details.Other) -> list[tuple[str, str]]:
    """What went in, what came out, and the rest, each by its name: text, or JSON text."""
    data = data_of(found)
    named = [(name, _text(data.pop(name))) for name in ("input", "output") if name in data]
    return [*named, *([("data", step_details.encoded(data))] if data or not named else [])]


def _text(value: object) -> str:
    return value if isinstance(value, str) else step_details.encoded(value)


LABELS = {"input": gettext_noop("given"), "output": gettext_noop("got"), "data": gettext_noop("besides")}


def label(name: str) -> str:
    return _(LABELS[name]) if name in LABELS else ""

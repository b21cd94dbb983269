"""The full texts of a step, under the names that its card uses for their beginnings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from agents.pages import blocks, citations, external_steps, step_details
from agents.pages.blocks import NamedText
from agents.record.schemas.turns import StepSnapshot


def step_texts(step: StepSnapshot) -> list[NamedText]:
    """The full texts of a step."""
    return [*_VALUES.get(step.type, _any)(step), *citations.values(step)]


def inference(step: StepSnapshot) -> list[NamedText]:
    detail = step_details.read_detail(step, step_details.StoredInference)
    if detail is None:
        return []
    located = step_details.located_texts(detail.model_response.content, "/model_response/content")
    message = blocks.step_text("said", step, located, is_message=True)
    reasoning = blocks.step_text("reasoning", step, [(detail.reasoning, "/reasoning")])
    return [value for value in (message, reasoning) if value.text]


def tool(step: StepSnapshot) -> list[NamedText]:
    detail = step_details.read_detail(step, step_details.StoredToolRun)
    if detail is None:
        return []
    arguments = [
        blocks.step_text(_numbered("arguments", n), step, [(call.arguments_text, f"/tool_calls/{n}/{_field(call)}")])
        for n, call in enumerate(detail.tool_calls)
    ]
    results = [
        blocks.step_text(
            _numbered("result", n), step, step_details.located_texts(answer.content, f"/tool_responses/{n}/content")
        )
        for n, answer in enumerate(detail.tool_responses)
    ]
    return [*arguments, *results]


def _numbered(name: str, number: int) -> str:
    return f"{name}-{number}" if number else name


def _field(call: step_details.StoredCall) -> str:
    return "arguments" if call.arguments_json is None else "arguments_json"


def pictures(step: StepSnapshot) -> list[step_details.Picture]:
    """The images in a tool's results."""
    detail = step_details.read_detail(step, step_details.StoredToolRun) if step.type == "tool_execution" else None
    return [
        picture
        for n, answer in enumerate(detail.tool_responses if detail else ())
        for picture in step_details.pictures(answer.content, f"/tool_responses/{n}/content")
    ]


def shield(step: StepSnapshot) -> list[NamedText]:
    detail = step_details.read_detail(step, step_details.StoredShieldCall)
    violation = detail.violation if detail else None
    if violation is None:
        return []
    return [
        NamedText("violation", step_details.encode_json({"level": violation.violation_level, **violation.metadata}))
    ]


def memory(step: StepSnapshot) -> list[NamedText]:
    detail = step_details.read_detail(step, step_details.StoredRetrieval)
    if detail is None:
        return []
    passages = [_passage(step, number, chunk) for number, chunk in enumerate(detail.chunks)]
    context = blocks.step_text(
        "context", step, step_details.located_texts(detail.inserted_context, "/inserted_context")
    )
    return passages or ([context] if context.text else [])


def _passage(step: StepSnapshot, number: int, chunk: dict[str, Any]) -> NamedText:
    located = step_details.located_texts(chunk.get("content"), f"/chunks/{number}/content")
    return blocks.step_text(f"passage-{number}", step, located or [(step_details.encode_json(chunk), "")])


def other(step: StepSnapshot) -> list[NamedText]:
    detail = step_details.read_detail(step, step_details.StoredOther)
    if detail is None:
        return []
    if step.foreign and not step.cuts:
        return [NamedText(name, text) for name, text in external_steps.texts(detail)]
    written = step_details.json_text(detail.data)
    is_cut = any(cut.pointer == "/data" for cut in step.cuts)
    return [blocks.step_text("data", step, [(str(msgspec.json.decode(detail.data)) if is_cut else written, "/data")])]


def _any(step: StepSnapshot) -> list[NamedText]:
    """The detail as it is, of a type without texts of its own."""
    return [blocks.step_text("data", step, [(step_details.json_text(step.detail), "")])] if step.detail else []


_VALUES: dict[str, Callable[[StepSnapshot], list[NamedText]]] = {
    "inference": inference,
    "tool_execution": tool,
    "shield_call": shield,
    "memory_retrieval": memory,
    "other": other,
}

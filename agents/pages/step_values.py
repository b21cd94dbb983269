"""The whole texts that a step holds, by the names under which its card shows their beginnings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from agents.pages import blocks, citations, external_steps, step_details
from agents.pages.blocks import Value
from agents.record.schemas.turns import StepSnapshot


def of(step: StepSnapshot) -> list[Value]:
    """The whole texts a step holds, by name."""
    return [*_VALUES[step.type](step), *citations.values(step)]


def inference(step: StepSnapshot) -> list[Value]:
    found = step_details.read(step, step_details.Inference)
    if found is None:
        return []
    words = step_details.pieces(found.model_response.content, "/model_response/content")
    said = blocks.value("said", step, words, said=True)
    thought = blocks.value("reasoning", step, [(found.reasoning, "/reasoning")])
    return [value for value in (said, thought) if value.text]


def tool(step: StepSnapshot) -> list[Value]:
    found = step_details.read(step, step_details.Tool)
    if found is None:
        return []
    called = [
        blocks.value(_numbered("arguments", n), step, [(call.written, f"/tool_calls/{n}/{_field(call)}")])
        for n, call in enumerate(found.tool_calls)
    ]
    came = [
        blocks.value(_numbered("result", n), step, step_details.pieces(one.content, f"/tool_responses/{n}/content"))
        for n, one in enumerate(found.tool_responses)
    ]
    return [*called, *came]


def _numbered(name: str, number: int) -> str:
    return f"{name}-{number}" if number else name


def _field(call: step_details.Call) -> str:
    return "arguments" if call.arguments_json is None else "arguments_json"


def pictures(step: StepSnapshot) -> list[step_details.Picture]:
    """The images that a tool gave back."""
    found = step_details.read(step, step_details.Tool) if step.type == "tool_execution" else None
    return [
        picture
        for n, one in enumerate(found.tool_responses if found else ())
        for picture in step_details.pictures(one.content, f"/tool_responses/{n}/content")
    ]


def shield(step: StepSnapshot) -> list[Value]:
    found = step_details.read(step, step_details.Shield)
    violation = found.violation if found else None
    if violation is None:
        return []
    return [Value("violation", step_details.encoded({"level": violation.violation_level, **violation.metadata}))]


def memory(step: StepSnapshot) -> list[Value]:
    found = step_details.read(step, step_details.Memory)
    if found is None:
        return []
    passages = [_passage(step, number, chunk) for number, chunk in enumerate(found.chunks)]
    context = blocks.value("context", step, step_details.pieces(found.inserted_context, "/inserted_context"))
    return passages or ([context] if context.text else [])


def _passage(step: StepSnapshot, number: int, chunk: dict[str, Any]) -> Value:
    words = step_details.pieces(chunk.get("content"), f"/chunks/{number}/content")
    return blocks.value(f"passage-{number}", step, words or [(step_details.encoded(chunk), "")])


def other(step: StepSnapshot) -> list[Value]:
    found = step_details.read(step, step_details.Other)
    if found is None:
        return []
    if step.foreign and not step.cuts:
        return [Value(name, text) for name, text in external_steps.texts(found)]
    written = step_details.text(found.data)
    begun = any(cut.pointer == "/data" for cut in step.cuts)
    return [blocks.value("data", step, [(str(msgspec.json.decode(found.data)) if begun else written, "/data")])]


_VALUES: dict[str, Callable[[StepSnapshot], list[Value]]] = {
    "inference": inference,
    "tool_execution": tool,
    "shield_call": shield,
    "memory_retrieval": memory,
    "other": other,
}

"""Answers with which graphs of LangGraph go on: ``graph.invoke(Command(resume=answer))``.

An answer is whatever the program has made of what a person said. LangChain's own approvals of tool calls have fields
for it: ``{"decisions": [{"type": "reject", "message": "No."}]}``, and before that ``[{"type": "accept", "args":
None}]``.
"""

from __future__ import annotations

import re
from typing import Any

from agents.telemetry.reading.coerce import mapping, text_or_json

_FIELDS = {"resume", "goto", "update", "graph"}
"""The fields of a ``Command``."""
_INTERRUPT_ID = re.compile(r"[0-9a-f]{32}")
_DECISIONS = frozenset({"approve", "accept", "edit", "reject", "ignore", "respond", "response"})


def answer_in(value: Any) -> Any:
    """Return the answer in the input of a graph that goes on: text where it is decisions, else as it came. None where
    the input is another one."""
    fields = mapping(value)
    for command in (fields, mapping(fields.get("input")), mapping(fields.get("inputs"))):
        if command.keys() >= _FIELDS and command["resume"] is not None:
            return _readable(command["resume"])
    return None


def _readable(answer: Any) -> Any:
    if isinstance(answer, dict) and answer and all(map(_INTERRUPT_ID.fullmatch, answer)):
        # several interrupts at once, each answered under its id
        return "\n".join(text_or_json(_decided(one)) for one in answer.values())
    return _decided(answer)


def _decided(answer: Any) -> Any:
    """Return decisions as words, any other answer as it is."""
    decisions = answer.get("decisions") if isinstance(answer, dict) else answer
    if isinstance(decisions, list) and decisions and all(map(_is_decision, decisions)):
        return "\n".join(map(_decision, decisions))
    return answer


def _is_decision(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("type"), str) and value["type"] in _DECISIONS


def _decision(decision: dict[str, Any]) -> str:
    """Return a decision as words: ``approve``, ``reject: No.``, ``edit: pay({"sum":5})``."""
    details = (decision.get(name) for name in ("edited_action", "message", "args"))
    detail = next((detail for detail in details if detail not in (None, "")), None)
    if detail is None:
        return str(decision["type"])
    action = mapping(detail)
    name = action.get("name") or action.get("action")
    words = f"{name}({text_or_json(action.get('args'))})" if isinstance(name, str) else text_or_json(detail)
    return f"{decision['type']}: {words}"

"""The attributes of the oracle's records that the fields of queries look at, by field and level; with several, any of
them may match."""

from __future__ import annotations

from collections.abc import Mapping

from agents.query.tree import LEVELS, Level


def _at(levels: str, *columns: str) -> Mapping[Level, tuple[str, ...]]:
    return {level: columns for level in LEVELS if level in levels.split()}


COLUMNS: Mapping[str, Mapping[Level, tuple[str, ...]]] = {
    "id": _at("agent session turn response step", "id"),
    "agent": _at("agent", "name", "id"),
    "session": _at("session", "name", "id"),
    "turn": _at("turn", "id"),
    "caller": _at("turn", "caller"),
    "response": _at("response", "id"),
    "user": _at("turn", "user"),
    "tag": _at("session turn step", "tags"),
    "env": _at("turn", "env"),
    "key": _at("turn", "key"),
    "api": _at("session turn response", "api"),
    "source": _at("agent session turn", "source"),
    "meta": _at("session turn", "metadata"),
    "prompt": _at("turn", "prompts"),
    "attachment": _at("turn", "attachments"),
    "status": _at("turn response step", "status"),
    "is": _at("turn response step", "marks"),
    "error": _at("turn step", "error_type", "error_message"),
    "error.message": _at("turn step", "error_without_numbers"),
    "finish": {"turn": ("stop_reason",), "step": ("finish",)},
    "violation": _at("step", "violation"),
    "type": _at("step", "type"),
    "kind": _at("step", "kind"),
    "tool": _at("step", "tool"),
    "server_side": _at("step", "server_side"),
    "answered_by": _at("step", "answered_by"),
    "model": _at("turn response step", "model"),
    "provider": _at("turn", "provider"),
    "args": _at("step", "args"),
    "result": _at("step", "result"),
    "started": _at("agent session turn response step", "started_us"),
    "ended": _at("turn response step", "ended_us"),
    "duration": _at("turn response step", "duration_us"),
    "waited": _at("turn step", "waited_us"),
    "ttft": _at("turn step", "ttft_us"),
    "cost": _at("session turn step", "cost_nano"),
    "tokens": _at("session turn response step", "tokens_total"),
    "tokens.in": _at("session turn response step", "tokens_in"),
    "tokens.out": _at("session turn response step", "tokens_out"),
    "tokens.cached": _at("turn response step", "tokens_cached"),
    "tokens.reasoning": _at("turn response step", "tokens_reasoning"),
    "in": _at("turn", "input"),
    "out": _at("turn", "output"),
    "text": {
        "turn": (
            "input",
            "output",
            "error_message",
            "metadata_text",
        ),
        "step": (
            "said",
            "args_text",
            "result_text",
            "problem",
        ),
    },
    "rating": _at("session turn step", "ratings"),
    "score": _at("session turn step", "scores"),
    "comment": _at("session turn step", "comments"),
}


def is_id(column: str) -> bool:
    """Whether the attribute holds a public id, which is compared as a whole and never with ``*``."""
    return column == "id" or column.endswith("_id")

"""Labels and contents of steps of external agents.

All values come from the sender and are not trusted. Knows no tables and no request.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import quote

import msgspec
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from agents.base import ids
from agents.pages import step_details
from agents.pages.page_hooks import hooks
from agents.record.schemas.origins import INFERRED_PREFIX
from agents.record.schemas.turns import StepSnapshot, TurnSnapshot
from agents.uikit.links import at

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
GROUPING_KINDS = frozenset({"workflow", "chain", "llm_wrapper"})
"""Kinds that only group other steps; each is shown as one line."""
MAX_DEPTH = 64


def kind_label(kind: str) -> str:
    """The label of a kind in the reader's language; an unknown kind keeps its sender's name."""
    return _(KINDS[kind]) if kind in KINDS else kind


def kind_of(step: StepSnapshot) -> str:
    """The kind of an ``other`` step; empty if it has none."""
    detail = step_details.read_detail(step, step_details.StoredOther) if step.type == "other" else None
    return detail.kind if detail else ""


def is_inferred(step: StepSnapshot) -> bool:
    """Whether the step has no span of its own and was inferred from the messages of its neighbours."""
    return step.foreign.startswith(INFERRED_PREFIX)


def span_url(turn: TurnSnapshot, step: StepSnapshot) -> str:
    """The URL of the span that reported a step; empty if there is none."""
    if not step.foreign or is_inferred(step) or not hooks.has_spans:
        return ""
    return at(f"/turns/{ids.public(ids.Kind.TURN, turn.key)}/spans/{quote(step.foreign, safe='')}/")


def is_hidden(step: StepSnapshot) -> bool:
    """Whether the sender left out the text of a model or tool: a completed step always has some."""
    if not step.foreign or step.status != "completed":
        return False
    match step.type:
        case "inference":
            detail = step_details.read_detail(step, step_details.StoredInference) or step_details.StoredInference()
            message = detail.model_response
            return not (message.content or message.tool_calls or detail.reasoning)
        case "tool_execution":
            tool_run = step_details.read_detail(step, step_details.StoredToolRun) or step_details.StoredToolRun()
            return not tool_run.tool_responses and all(
                call.arguments_text in {"{}", ""} for call in tool_run.tool_calls
            )
        case _:
            return False


def not_captured() -> str:
    return _("not captured by the sender")


def speakers(steps: Sequence[StepSnapshot], otherwise: str) -> Mapping[int, str]:
    """The agent of each step, by key: that of the nearest enclosing agent step, else ``otherwise``."""
    above = {step.key: step.parent for step in steps}
    agents = {step.key: step.name for step in steps if step.name and kind_of(step) == "agent"}
    return {step.key: _speaker(step.key, above, agents) or otherwise for step in steps}


def _speaker(key: int, above: Mapping[int, int | None], agents: Mapping[int, str]) -> str:
    current: int | None = key
    for _step in range(MAX_DEPTH):
        if current is None or current in agents:
            break
        current = above.get(current)
    return agents.get(current, "") if current is not None else ""


def handoff_agents(detail: step_details.StoredOther) -> tuple[str, str] | None:
    """The two agents of a hand-off, from and to; None if it does not name them."""
    data = data_of(detail)
    match data.get("input"), data.get("output"):
        case str(giver), str(taker) if giver and taker and len(data) == len({"input", "output"}):
            return giver, taker
    return None


def data_of(detail: step_details.StoredOther) -> dict[str, object]:
    try:
        data = msgspec.json.decode(detail.data)
    except (msgspec.MsgspecError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}


def texts(detail: step_details.StoredOther) -> list[tuple[str, str]]:
    """Input, output and other data of a step, by name, as text or JSON text."""
    data = data_of(detail)
    named = [(name, _text(data.pop(name))) for name in ("input", "output") if name in data]
    return [*named, *([("data", step_details.encode_json(data))] if data or not named else [])]


def _text(value: object) -> str:
    return value if isinstance(value, str) else step_details.encode_json(value)


LABELS = {"input": gettext_noop("given"), "output": gettext_noop("got"), "data": gettext_noop("besides")}


def label(name: str) -> str:
    return _(LABELS[name]) if name in LABELS else ""

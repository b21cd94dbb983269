"""A step as a card: what its template needs, in words, so that templates stay dumb.

`card` reads a step's stored detail once; `agents.pages.step_values` has the whole texts behind its
pieces. Knows no tables and no request.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from agents.base import ids
from agents.logs.pages.turn_summary import error_text
from agents.pages import blocks, citations, external_steps, step_details, step_values, tool_call_forms
from agents.pages.blocks import Block, Value
from agents.pages.citations import Source
from agents.pages.page_hooks import places
from agents.record.schemas.content import ToolDef
from agents.record.schemas.turns import StepSnapshot, TurnSnapshot
from agents.uikit import format

PASSAGES = 20
"""Retrieved passages shown; the rest is in the raw view."""


@dataclass(frozen=True, slots=True)
class Typing:
    """What an open inference has said so far, with the characters of each channel."""

    text: str = ""
    reasoning: str = ""


@dataclass(frozen=True, slots=True)
class Card:
    """``code``: the title is a name of code. ``note`` stands beside the title, ``speaker`` before
    what was said aloud, ``sources`` are what it rests on, ``folded`` is there to be opened.
    ``call_id`` is set while an answer is waited for, ``asks`` where that is only whether the call may be
    made. ``since`` is microseconds since 1970, ``elapsed_ms`` how long an open step has been going. ``fork`` is
    where the turn is forked from here. ``depth`` is how deep it is nested, ``is_line`` that it only holds others
    together, ``span`` where what was reported of a foreign step stands as it came."""

    id: str
    number: int
    type: str
    status: str
    took: str
    title: str = ""
    code: bool = False
    note: str = ""
    speaker: str = ""
    said: Block | None = None
    thought: Block | None = None
    body: tuple[Block, ...] = ()
    error: str = ""
    folded: tuple[Block, ...] = ()
    folded_as: str = ""
    sources: tuple[Source, ...] = ()
    call_id: str = ""
    asks: bool = False
    is_last_call: bool = False
    fields: tuple[tool_call_forms.Field, ...] = ()
    since: int | None = None
    elapsed_ms: float | None = None
    typing: Typing | None = None
    url: str = ""
    fork: str = ""
    depth: int = 0
    is_line: bool = False
    span: str = ""

    @property
    def is_open(self) -> bool:
        return self.status == "in_progress"

    @property
    def is_cut(self) -> bool:
        """Whether it was stopped from outside."""
        return self.status in {"cancelled", "interrupted"}


def card(
    turn: TurnSnapshot,
    step: StepSnapshot,
    agent_name: str,
    *,
    typing: Typing | None = None,
    rendered: bool = True,
    client_tools: Callable[[], list[ToolDef]] = list,
    depth: int = 0,
) -> Card:
    """A step of a turn as shown. ``typing`` is what an open inference has said so far;
    ``rendered`` off leaves Markdown as it was written; ``client_tools`` is asked where a call waits."""
    base = Card(
        id=ids.public(ids.Kind.STEP, step.key),
        number=step.number,
        type=step.type,
        status=step.status,
        took=places.origin(step) or took(step),
        error=error_text(step.error),
        elapsed_ms=max(ids.now_us() - step.started_at, 0) / 1000 if step.status == "in_progress" else None,
        url=f"/turns/{ids.public(ids.Kind.TURN, turn.key)}/steps/{ids.public(ids.Kind.STEP, step.key)}/value/",
        fork="" if step.foreign else places.fork_url(turn, step),
        depth=depth,
        span=external_steps.span_url(turn, step),
    )
    match step.type:
        case "inference":
            return _inference(base, turn, step, agent_name, typing, rendered)
        case "tool_execution":
            return _tool(base, turn, step, client_tools)
        case "shield_call":
            return _shield(base, step, agent_name)
        case "memory_retrieval":
            return _memory(base, step)
        case _:
            return _other(base, step)


def took(step: StepSnapshot) -> str:
    """How long a finished step lasted."""
    if step.completed_at is None or external_steps.is_made(step):
        return ""
    return format.duration(max(step.completed_at - step.started_at, 0) / 1000)


# ------------------------------------------------------------------------------------------ inference


def _inference(
    base: Card, turn: TurnSnapshot, step: StepSnapshot, agent_name: str, typing: Typing | None, rendered: bool
) -> Card:
    if base.is_open:
        return replace(base, speaker=agent_name, title=step.name, typing=typing or Typing())
    found = step_details.read(step, step_details.Inference)
    whole = {value.name: value for value in step_values.inference(step)}
    words, cited = citations.cited(whole["said"].text, turn.steps) if "said" in whole else ("", ())
    return replace(
        base,
        speaker=agent_name,
        title=step.name,
        note=external_steps.not_captured()
        if external_steps.is_hidden(step)
        else _inference_note(base, found, spoke="said" in whole),
        said=blocks.said(replace(whole["said"], text=words), rendered=rendered) if "said" in whole else None,
        sources=cited,
        thought=blocks.typed(whole["reasoning"]) if "reasoning" in whole else None,
    )


def _inference_note(base: Card, found: step_details.Inference | None, *, spoke: bool) -> str:
    if found is None:
        return ""
    if found.finish_reason == "length":
        return _("cut at the limit of tokens")
    names = ", ".join(call.tool_name for call in found.model_response.tool_calls)
    if names:
        return "" if spoke else _("asked for %(tools)s") % {"tools": names}
    return "" if spoke or base.status != "completed" else _("said nothing")


# ----------------------------------------------------------------------------------------------- tools


def _tool(base: Card, turn: TurnSnapshot, step: StepSnapshot, client_tools: Callable[[], list[ToolDef]]) -> Card:
    found = step_details.read(step, step_details.Tool) or step_details.Tool()
    waits = step.status == "awaiting_input" and turn.status == "awaiting_input" and bool(found.tool_calls)
    asks = waits and found.approval == "requested"
    images = blocks.drawn(step_values.pictures(step), step.cuts, base.url)
    results = citations.results(found)
    hidden = external_steps.is_hidden(step)
    told = [value for value in step_values.tool(step) if _tells(value, base.error) and not hidden]
    shown = [value for value in told if not (results and value.name.startswith("result"))]
    return replace(
        base,
        title=step.name,
        code=True,
        note=external_steps.not_captured() if hidden else _where(step, found, waits),
        body=(*map(_piece, shown), *results[:PASSAGES], *images),
        sources=citations.sources(found),
        call_id=found.tool_calls[0].call_id if waits else "",
        asks=asks,
        fields=_fields(found.tool_calls[0], client_tools()) if waits and not asks else (),
        is_last_call=waits and step.key == _last_waiting(turn.steps),
        since=step.started_at if waits else None,
    )


def _piece(value: Value) -> Block:
    return blocks.arguments(value) if value.name.startswith("arguments") else blocks.data(value)


def _fields(call: step_details.Call, tools: list[ToolDef]) -> tuple[tool_call_forms.Field, ...]:
    try:
        arguments = msgspec.json.decode(call.written)
    except (ValueError, RecursionError):
        return ()
    return tool_call_forms.fields(arguments, tool_call_forms.schema_of(tools, call.tool_name))


def _tells(value: Value, error: str) -> bool:
    """A failed tool's result is often its error, which stands there already."""
    return not (value.name.startswith("result") and value.text in {"", error})


def _where(step: StepSnapshot, found: step_details.Tool, waits: bool) -> str:
    if found.approval:
        return _asked(step, found, waits)
    if waits:
        return _("waits for an answer from the client, or from you")
    if step.status == "in_progress":
        return _("is running on %(label)s") % {"label": found.label} if found.label else _("is running")
    if step.foreign:
        return _("told by the messages around it") if external_steps.is_made(step) else ""
    if found.label:
        said = _("ran on %(label)s") % {"label": found.label}
        return _("%(where)s, approved by the client") % {"where": said} if found.asked else said
    return _("ran on the server") if step.server_side else _("answered by the client")


def _asked(step: StepSnapshot, found: step_details.Tool, waits: bool) -> str:
    """What became of the question whether a call may be made."""
    label = {"label": found.label or "?"}
    if waits:
        return _("waits for approval: it would run on %(label)s") % label
    if found.approval == "requested":
        return _("asked for approval to run on %(label)s, and got no answer") % label
    approved = found.approval == "approved"
    said = (
        _("approved by the client, to run on %(label)s")
        if approved
        else _("refused by the client: not run on %(label)s")
    )
    return said % label


def _last_waiting(steps: Sequence[StepSnapshot]) -> int | None:
    return next((step.key for step in reversed(steps) if step.status == "awaiting_input"), None)


# --------------------------------------------------------------------------------------------- shields


def _shield(base: Card, step: StepSnapshot, agent_name: str) -> Card:
    found = step_details.read(step, step_details.Shield) or step_details.Shield(touchpoint=step.name)
    violation = found.violation
    blocked = violation is not None and violation.violation_level == "error"
    words = violation.user_message if violation and blocked else None
    return replace(
        base,
        title=_("Output shields") if found.touchpoint == "assistant-output" else _("Input shields"),
        note=_shield_note(base, found),
        body=tuple(blocks.data(value) for value in step_values.shield(step)),
        status="violation" if violation and base.status == "completed" else base.status,
        speaker=agent_name if words else "",
        said=blocks.said(Value("violation", words, said=True)) if words else None,
    )


def _shield_note(base: Card, found: step_details.Shield) -> str:
    names = ", ".join(found.shields)
    if base.is_open:
        return _("are asked")
    if found.violation is None:
        outcome = _("no violation") if base.status == "completed" else ""
    else:
        outcome = _("violation, %(level)s") % {"level": found.violation.violation_level}
    return ": ".join(part for part in (names, outcome) if part)


# ------------------------------------------------------------------------------------------- retrieval


def _memory(base: Card, step: StepSnapshot) -> Card:
    found = step_details.read(step, step_details.Memory)
    shown = step_values.memory(step)[:PASSAGES]
    labels = [_passage_label(chunk) for chunk in found.chunks] if found else []
    return replace(
        base,
        title=_("Retrieved"),
        note=_memory_note(base, step, found),
        body=tuple(
            blocks.data(value, labels[number] if number < len(labels) else "") for number, value in enumerate(shown)
        ),
    )


def _passage_label(chunk: dict[str, Any]) -> str:
    score = chunk.get("score")
    fits = format.decimal(score, 2) if isinstance(score, int | float) else ""
    return ", ".join(part for part in (str(chunk.get("document_id") or "")[:200], fits) if part)


def _memory_note(base: Card, step: StepSnapshot, found: step_details.Memory | None) -> str:
    if base.is_open:
        return _("is looking")
    if found is None or base.status != "completed":
        return ""
    count = len(found.chunks)
    if not count and not step_details.words(found.inserted_context):
        return _("nothing found")
    said = ngettext("%(count)d passage", "%(count)d passages", count) % {"count": count} if count else _("text")
    return _("%(passages)s from %(place)s") % {"passages": said, "place": found.vector_db_ids or step.name or "?"}


# ----------------------------------------------------------------------------------------------- other


def _other(base: Card, step: StepSnapshot) -> Card:
    found = step_details.read(step, step_details.Other)
    if found and found.kind == citations.LISTING:
        return _listing(base, step, found)
    if found and step.foreign:
        return _foreign(base, step, found)
    return replace(
        base,
        title=(found.kind if found else "") or step.name or _("other"),
        code=True,
        note=step.name if found and found.kind and step.name != found.kind else "",
        body=tuple(blocks.data(value) for value in step_values.other(step) if value.text != "{}"),
    )


def _foreign(base: Card, step: StepSnapshot, found: step_details.Other) -> Card:
    """A step of an agent that runs elsewhere: hand-offs say who to whom, agents and what holds steps together
    are called by their names, all else by what it is."""
    word, is_known = external_steps.kind_word(found.kind), found.kind in external_steps.KINDS
    body = [blocks.data(value, external_steps.label(value.name)) for value in step_values.other(step)]
    shown = tuple(block for block in body if str(block.html) != "{}")
    handed = external_steps.handed(found) if found.kind == "handoff" else None
    if handed is not None:
        return replace(base, title=format.capitalize(word), note=" → ".join(handed))
    if found.kind == "agent" or found.kind in external_steps.FRAMES:
        return replace(base, title=step.name, note=word, body=shown, is_line=found.kind in external_steps.FRAMES)
    return replace(
        base, title=format.capitalize(word) if is_known else word, code=not is_known, note=step.name, body=shown
    )


def _listing(base: Card, step: StepSnapshot, found: step_details.Other) -> Card:
    """What a server of tools said it has."""
    tools = citations.listed(found)
    count = ngettext("%(count)d tool", "%(count)d tools", len(tools)) % {"count": len(tools)}
    return replace(
        base,
        title=_("Tools of %(label)s") % {"label": step.name},
        note="" if base.status == "failed" or tools else count,
        folded=tools,
        folded_as=count,
    )

"""Build the card of a step: all that its template needs, so that templates have no logic.

`step_card` reads a step's stored detail; `agents.pages.step_values` has the full texts behind its blocks.
Knows no tables and no request.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import msgspec
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from agents.base import ids
from agents.logs.pages.turn_summary import error_text
from agents.pages import blocks, citations, external_steps, step_details, step_values, tool_call_forms
from agents.pages.blocks import Block, NamedText
from agents.pages.citations import CitedSource
from agents.pages.other_step_cards import other_card, plain_card
from agents.pages.page_hooks import hooks
from agents.record.schemas.content import ToolDef
from agents.record.schemas.turns import StepSnapshot, TurnSnapshot
from agents.uikit import format
from agents.uikit.links import at

MAX_PASSAGES = 20
"""Retrieved passages shown; the raw view has all."""


@dataclass(frozen=True, slots=True)
class StreamedText:
    """The text that a running inference has streamed so far, by channel."""

    text: str = ""
    reasoning: str = ""


@dataclass(frozen=True, slots=True)
class RecoveryNote:
    """What became of a call whose process was lost; ``at`` is in microseconds since 1970, ``by`` who decided it."""

    text: str
    at: int
    by: str = ""


@dataclass(frozen=True, slots=True)
class StepCard:
    """A step for its template. ``spent`` is what an inference took and cost. ``code``: the title is a name of code.
    ``note`` stands beside the title, ``speaker`` before ``message``, unless that ``speaks_again``; ``sources`` are its
    citations, ``folded`` are blocks that open on a click. ``call_id`` is set while the step waits for an answer,
    ``asks`` if that is only whether the call may be made. ``since`` is in microseconds since 1970, and so is
    ``answered_at``, which follows ``note``; ``wants_approval``: its tool asks whether something may be done;
    ``elapsed_ms`` is the time of a running step so far. ``fork`` is the URL for forking the turn here. ``depth`` is the
    level of nesting; ``is_line``: it only groups other steps; ``span`` is the URL of the span that reported an external
    step. ``recovery`` and ``in_doubt`` are set where its process was lost; ``called_html`` are the turns that it has
    called; ``is_quiet``: there is so little to it that it is folded to a line."""

    id: str
    number: int
    type: str
    status: str
    took: str
    title: str = ""
    code: bool = False
    note: str = ""
    speaker: str = ""
    speaks_again: bool = False
    spent: str = ""
    message: Block | None = None
    reasoning: Block | None = None
    body: tuple[Block, ...] = ()
    error: str = ""
    folded: tuple[Block, ...] = ()
    folded_label: str = ""
    sources: tuple[CitedSource, ...] = ()
    call_id: str = ""
    asks: bool = False
    wants_approval: bool = False
    is_last_call: bool = False
    is_only_call: bool = False
    answered_at: int | None = None
    fields: tuple[tool_call_forms.ArgumentField, ...] = ()
    since: int | None = None
    elapsed_ms: float | None = None
    streamed: StreamedText | None = None
    url: str = ""
    fork: str = ""
    depth: int = 0
    is_line: bool = False
    span: str = ""
    recovery: tuple[RecoveryNote, ...] = ()
    in_doubt: bool = False
    called_html: str = ""
    is_quiet: bool = False

    @property
    def is_open(self) -> bool:
        return self.status == "in_progress"

    @property
    def is_cut(self) -> bool:
        """Whether the step was cancelled or interrupted."""
        return self.status in {"cancelled", "interrupted"}


def step_card(
    turn: TurnSnapshot,
    step: StepSnapshot,
    agent_name: str,
    *,
    streamed: StreamedText | None = None,
    rendered: bool = True,
    client_tools: Callable[[], list[ToolDef]] = list,
) -> StepCard:
    """Build the card of a step at the outermost level. ``streamed`` is the text of a running inference so far;
    without ``rendered`` Markdown stays as it was written; ``client_tools`` is called if the step waits for an
    answer."""
    base = StepCard(
        id=ids.public(ids.Kind.STEP, step.key),
        number=step.number,
        type=step.type,
        status=step.status,
        took=hooks.origin(step) or duration(step),
        error=error_text(step.error),
        elapsed_ms=max(ids.now_us() - step.started_at, 0) / 1000 if step.status == "in_progress" else None,
        url=value_url(turn, step),
        fork="" if step.foreign else hooks.fork_url(turn, step),
        span=external_steps.span_url(turn, step),
    )
    match step.type:
        case "inference":
            return _inference(base, turn, step, agent_name, streamed, rendered)
        case "tool_execution":
            return _tool(base, turn, step, client_tools)
        case "shield_call":
            return _shield(base, step, agent_name)
        case "memory_retrieval":
            return _memory(base, step)
        case "other":
            return other_card(base, step)
        case _:
            return plain_card(base, step)


def value_url(turn: TurnSnapshot, step: StepSnapshot) -> str:
    """Where the whole texts of a step are, and without a part all that is stored of it."""
    return at(f"/turns/{ids.public(ids.Kind.TURN, turn.key)}/steps/{ids.public(ids.Kind.STEP, step.key)}/value/")


def duration(step: StepSnapshot) -> str:
    """The formatted duration of a completed step."""
    if step.completed_at is None or external_steps.is_inferred(step):
        return ""
    return format.duration(max(step.completed_at - step.started_at, 0) / 1000)


# ------------------------------------------------------------------------------------------ inference


def _inference(
    base: StepCard,
    turn: TurnSnapshot,
    step: StepSnapshot,
    agent_name: str,
    streamed: StreamedText | None,
    rendered: bool,
) -> StepCard:
    if base.is_open:
        return replace(base, speaker=agent_name, title=step.name, streamed=streamed or StreamedText())
    detail = step_details.read_detail(step, step_details.StoredInference)
    texts = {value.name: value for value in step_values.inference(step)}
    text, cited = citations.number_citations(texts["said"].text, turn.steps) if "said" in texts else ("", ())
    return replace(
        base,
        speaker=agent_name,
        title=step.name,
        spent=_spent(step),
        note=external_steps.not_captured()
        if external_steps.is_hidden(step)
        else _inference_note(base, detail, has_message="said" in texts),
        message=blocks.markdown_block(replace(texts["said"], text=text), rendered=rendered)
        if "said" in texts
        else None,
        sources=cited,
        reasoning=blocks.plain_block(texts["reasoning"]) if "reasoning" in texts else None,
    )


def _spent(step: StepSnapshot) -> str:
    """The tokens of an inference and their cost, as far as they are known."""
    usage = step.usage
    if not (usage.input_tokens or usage.output_tokens):
        return _("tokens not reported") if step_details.is_unreported(step) else ""
    counts = {"read": format.count(usage.input_tokens), "written": format.count(usage.output_tokens)}
    parts = [_("%(read)s → %(written)s tokens") % counts]
    return " · ".join([*parts, *([] if step.cost_nano is None else [format.cost(step.cost_nano / 1e9)])])


def _inference_note(base: StepCard, detail: step_details.StoredInference | None, *, has_message: bool) -> str:
    if detail is None:
        return ""
    if detail.compaction is not None:
        return _("summed up what came before")
    if detail.finish_reason == "length":
        return _("cut at the token limit")
    names = ", ".join(call.tool_name for call in detail.model_response.tool_calls)
    if names:
        return "" if has_message else _("asked for %(tools)s") % {"tools": names}
    return "" if has_message or base.status != "completed" else _("no text")


# ----------------------------------------------------------------------------------------------- tools


def _tool(
    base: StepCard, turn: TurnSnapshot, step: StepSnapshot, client_tools: Callable[[], list[ToolDef]]
) -> StepCard:
    detail = step_details.read_detail(step, step_details.StoredToolRun) or step_details.StoredToolRun()
    open_here = not step.foreign and turn.status == "awaiting_input"  # a copy of a turn waits elsewhere
    waits = step.status == "awaiting_input" and open_here and bool(detail.tool_calls)
    asks = waits and detail.approval == "requested"
    images = blocks.picture_blocks(step_values.pictures(step), step.cuts, base.url)
    results = citations.result_blocks(detail)
    hidden = external_steps.is_hidden(step)
    signed = detail.answered_by is not None and not waits
    waiting = [other.key for other in turn.steps if other.status == "awaiting_input"] if waits else []
    tools = client_tools() if waits and not asks else []
    texts = [value for value in step_values.tool(step) if _adds_to_error(value, base.error) and not hidden]
    body = [value for value in texts if not (results and value.name.startswith("result"))]
    return replace(
        base,
        title=step.name,
        code=True,
        note=external_steps.not_captured() if hidden else _tool_note(step, detail, waits),
        body=(*map(_tool_block, body), *results[:MAX_PASSAGES], *images),
        sources=citations.web_sources(detail),
        call_id=detail.tool_calls[0].call_id if waits else "",
        asks=asks,
        fields=_fields(detail.tool_calls[0], tools) if waits and not asks else (),
        wants_approval=waits and tool_call_forms.wants_approval(tools, step.name),
        is_last_call=waits and step.key == waiting[-1],
        is_only_call=waiting == [step.key],
        answered_at=step.completed_at if signed else None,
        since=step.started_at if waits else None,
    )


def _tool_block(value: NamedText) -> Block:
    return blocks.arguments_block(value) if value.name.startswith("arguments") else blocks.data_block(value)


def _fields(call: step_details.StoredCall, tools: list[ToolDef]) -> tuple[tool_call_forms.ArgumentField, ...]:
    try:
        arguments = msgspec.json.decode(call.arguments_text)
    except (ValueError, RecursionError):
        return ()
    return tool_call_forms.fields(arguments, tool_call_forms.schema_of(tools, call.tool_name))


def _adds_to_error(value: NamedText, error: str) -> bool:
    """Whether a text says more than the error: a failed tool's result is often the same message."""
    return not (value.name.startswith("result") and value.text in {"", error})


def _tool_note(step: StepSnapshot, detail: step_details.StoredToolRun, waits: bool) -> str:
    if detail.approval:
        return _approval_note(step, detail, waits)
    if waits:
        return _("waits for an answer from the client, or from you")
    if step.status == "in_progress":
        return _("is running on %(label)s") % {"label": detail.label} if detail.label else _("is running")
    if step.foreign:
        return _("derived from the surrounding messages") if external_steps.is_inferred(step) else ""
    if detail.label:
        note = _("ran on %(label)s") % {"label": detail.label}
        return _("%(where)s, as approved") % {"where": note} if detail.asked else note
    return _("ran on the server") if step.server_side else _answer_note(detail)


def _answer_note(detail: step_details.StoredToolRun) -> str:
    """Who has answered for the client, and whether that was to approve or to refuse the call. A call that was answered
    before this was recorded does not say who."""
    if not detail.answered_by:
        return _("answered through the API") if detail.tool_responses else _("got no answer")
    if not detail.tool_responses:
        return _("got no answer: cancelled by %(name)s") % {"name": detail.answered_by}
    words = _("answered by %(name)s")
    match tool_call_forms.read_approval([step_details.text_of(answer.content) for answer in detail.tool_responses]):
        case True:
            words = _("approved by %(name)s")
        case False:
            words = _("refused by %(name)s")
    return words % {"name": detail.answered_by}


def _approval_note(step: StepSnapshot, detail: step_details.StoredToolRun, waits: bool) -> str:
    """The state of the question whether a call may be made."""
    label = {"label": detail.label or "?", "name": detail.answered_by}
    if waits:
        return _("waits for approval: it would run on %(label)s") % label
    if detail.approval == "requested" and detail.answered_by:
        return _("asked for approval to run on %(label)s: cancelled by %(name)s") % label
    if detail.approval == "requested":
        return _("asked for approval to run on %(label)s, and got no answer") % label
    approved = detail.approval == "approved"
    if detail.answered_by:
        note = (
            _("to run on %(label)s: approved by %(name)s")
            if approved
            else _("not run on %(label)s: refused by %(name)s")
        )
    elif approved:
        note = _("approved by the client, to run on %(label)s")
    else:
        note = _("refused by the client: not run on %(label)s")
    return note % label


# --------------------------------------------------------------------------------------------- shields


def _shield(base: StepCard, step: StepSnapshot, agent_name: str) -> StepCard:
    detail = step_details.read_detail(step, step_details.StoredShieldCall) or step_details.StoredShieldCall(
        touchpoint=step.name
    )
    violation = detail.violation
    blocked = violation is not None and violation.violation_level == "error"
    message = violation.user_message if violation and blocked else None
    return replace(
        base,
        title=_("Output shields") if detail.touchpoint == "assistant-output" else _("Input shields"),
        note=_shield_note(base, detail),
        body=tuple(blocks.data_block(value) for value in step_values.shield(step)),
        status="violation" if violation and base.status == "completed" else base.status,
        speaker=agent_name if message else "",
        message=blocks.markdown_block(NamedText("violation", message, is_message=True)) if message else None,
    )


def passed(step: StepSnapshot) -> bool:
    """Whether a step is a shield that has let pass what it was asked about."""
    if step.type != "shield_call" or step.status != "completed" or step.error is not None:
        return False
    detail = step_details.read_detail(step, step_details.StoredShieldCall)
    return detail is not None and detail.violation is None


def _shield_note(base: StepCard, detail: step_details.StoredShieldCall) -> str:
    names = ", ".join(detail.shields)
    if base.is_open:
        return _("are asked")
    if detail.violation is None:
        outcome = _("no violation") if base.status == "completed" else ""
    else:
        outcome = _("violation, %(level)s") % {"level": detail.violation.violation_level}
    return ": ".join(part for part in (names, outcome) if part)


# ------------------------------------------------------------------------------------------- retrieval


def _memory(base: StepCard, step: StepSnapshot) -> StepCard:
    detail = step_details.read_detail(step, step_details.StoredRetrieval)
    passages = step_values.memory(step)[:MAX_PASSAGES]
    labels = [_passage_label(chunk) for chunk in detail.chunks] if detail else []
    return replace(
        base,
        title=_("Retrieved"),
        note=_memory_note(base, step, detail),
        body=tuple(
            blocks.data_block(value, labels[number] if number < len(labels) else "")
            for number, value in enumerate(passages)
        ),
    )


def _passage_label(chunk: dict[str, Any]) -> str:
    score = chunk.get("score")
    score_text = format.decimal(score, 2) if isinstance(score, int | float) else ""
    return ", ".join(part for part in (str(chunk.get("document_id") or "")[:200], score_text) if part)


def _memory_note(base: StepCard, step: StepSnapshot, detail: step_details.StoredRetrieval | None) -> str:
    if base.is_open:
        return _("searching")
    if detail is None or base.status != "completed":
        return ""
    count = len(detail.chunks)
    if not count and not step_details.text_of(detail.inserted_context):
        return _("nothing found")
    passages = ngettext("%(count)d passage", "%(count)d passages", count) % {"count": count} if count else _("text")
    return _("%(passages)s from %(place)s") % {"passages": passages, "place": detail.vector_db_ids or step.name or "?"}

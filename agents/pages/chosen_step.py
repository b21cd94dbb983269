"""The step that is chosen in the tree of a turn, as it is shown beside it: what went in, what came out, with which
parameters, and what it took."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from agents.logs.pages import turn_summary
from agents.pages import (
    agents,
    blocks,
    external_steps,
    fragments,
    speakers,
    step_cards,
    step_details,
    step_values,
    turn_messages,
    turn_responses,
)
from agents.pages.blocks import Block, NamedText
from agents.pages.page_hooks import hooks
from agents.pages.step_cards import StepCard, StreamedText
from agents.pages.turn_page_data import TurnPageData
from agents.record.schemas.turns import StepSnapshot
from agents.record.store import replay, step_pages
from agents.record.store.agents import config_of_turn
from agents.uikit import format
from agents.uikit.elements import type_label
from agents.uikit.templates import fragment

STEPS_BEFORE = 40
"""Steps before an inference that are looked through for what it read since the one before."""
MEASURED_TOKENS = 8
"""Of fewer tokens that a model wrote, the speed says nothing."""
INPUT_MESSAGES = 3
"""Messages of the turn's input shown of what its first inference has read."""


@dataclass(frozen=True, slots=True)
class InputPart:
    """A piece of what went in: who said it or which step it came from, with the link there, and where its whole texts
    are."""

    label: str
    url: str
    source: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class StepInput:
    """What went into a step. ``more`` says what an inference has read before that, ``more_url`` leads there."""

    parts: tuple[InputPart, ...] = ()
    more: str = ""
    more_url: str = ""


def chosen_html(page: TurnPageData) -> str:
    """Render the chosen step; a line that says what choosing does where there is none."""
    step = _find(page)
    if step is None:
        return fragment("pages/_chosen_step.html", card=None, missing=page.page_params.step is not None)
    card = _card(page, step)
    return fragment(
        "pages/_chosen_step.html",
        card=card,
        missing=False,
        asked=page.page_params.step is not None,
        judged=hooks.step_feedback(page.actor, page.turn.session, page.turn.key).get(step.key)
        or hooks.empty_step_feedback(page.turn.session, page.turn.key, step.key),
        type_label=format.capitalize(type_label(step.type)),
        name=step.name,
        facts=_facts(page, step),
        parameters=_parameters(page, step),
        given=_input(page, step, card),
        output=[*(block for block in card.body if not _is_input(block)), *_calls(step)],
        reader_url=turn_summary.step_url(page.turn, step.number),
        close_url=page.query(page.start) if page.start else "?view=timeline",
    )


def _calls(step: StepSnapshot) -> list[Block]:
    """The calls that an inference has asked for."""
    detail = step_details.read_detail(step, step_details.StoredInference) if step.type == "inference" else None
    calls = detail.model_response.tool_calls if detail else ()
    return [turn_responses.call_block(call, number) for number, call in enumerate(calls)]


def _find(page: TurnPageData) -> StepSnapshot | None:
    if page.chosen is None:
        return None
    on_page = next((step for step in page.steps if step.number == page.chosen), None)
    return on_page or next(iter(step_pages.steps(page.turn.key, page.chosen, 1)), None)


def _card(page: TurnPageData, step: StepSnapshot) -> StepCard:
    foreign = external_steps.speakers(page.steps, page.row.agent_name) if page.about is not None else {}
    speaker = foreign.get(step.key) or speakers.of_turn(page.row).of(step)
    context = fragments.CardContext(speaker, recovery=page.recovery, calls=page.calls)
    return fragments.card(page.turn, step, context, streamed_text(page.turn.key, step))


def streamed_text(turn: int, step: StepSnapshot) -> StreamedText | None:
    """The text of a running inference so far, so that a reload loses nothing."""
    if step.type != "inference" or step.status != "in_progress":
        return None
    return StreamedText(replay.typed_text(turn, step.key), replay.typed_text(turn, step.key, "reasoning"))


# ---------------------------------------------------------------------------------------------- facts


def _facts(page: TurnPageData, step: StepSnapshot) -> list[tuple[str, str]]:
    """What a step took, as (name, value); what is not known is left out."""
    usage, inference = step.usage, step.type == "inference"
    detail = step_details.read_detail(step, step_details.StoredInference) if inference else None
    counts = [
        (_("input tokens"), usage.input_tokens),
        (_("of them cached"), usage.cached_tokens),
        (_("output tokens"), usage.output_tokens),
        (_("of them for reasoning"), usage.reasoning_tokens),
    ]
    unreported = step_details.is_unreported(step)
    first_ms = None if step.ttft_us is None else step.ttft_us / 1000
    cost = format.NOTHING if step.cost_nano is None else format.cost(step.cost_nano / 1e9)
    facts = [
        (_("model"), (detail.model if detail and detail.model else step.name) if inference else ""),
        (_("starts"), _("%(time)s into the turn") % {"time": format.duration(_since_start_ms(page, step))}),
        (_("duration"), step_cards.duration(step)),
        (_("time to first token"), "" if first_ms is None else format.duration(first_ms)),
        (_("speed"), tokens_a_second(step)),
        *((label, format.count(count)) for label, count in counts if count),
        (_("tokens"), _("not reported") if unreported else ""),
        (_("cost"), cost if usage.input_tokens or usage.output_tokens or step.cost_nano is not None else ""),
        (_("ended by"), format.readable_name(detail.finish_reason) if detail and detail.finish_reason else ""),
    ]
    return [(label, text) for label, text in facts if text]


def _since_start_ms(page: TurnPageData, step: StepSnapshot) -> float:
    return max(step.started_at - page.turn.started_at, 0) / 1000


def tokens_a_second(step: StepSnapshot) -> str:
    """How fast a model wrote, after its first token where it is known when that came: ``42.0 tokens a second``."""
    if step.completed_at is None or step.usage.output_tokens < MEASURED_TOKENS or step.type != "inference":
        return ""
    took_us = step.completed_at - step.started_at - (step.ttft_us or 0)
    written = step.usage.output_tokens - (1 if step.ttft_us is not None else 0)
    if took_us <= 0:
        return ""
    return _("%(count)s tokens a second") % {"count": format.decimal(written * 1e6 / took_us, 1)}


# ----------------------------------------------------------------------------------------- parameters


def _parameters(page: TurnPageData, step: StepSnapshot) -> list[tuple[str, Any]]:
    """What an inference was asked with besides its input, as (name, value)."""
    if step.type != "inference":
        return []
    if page.responses:
        before = [response for response in page.responses if response.record.first_step <= step.number]
        return list((before or page.responses)[-1].settings.others)
    config = config_of_turn(page.turn.key) if page.about is None else None
    if config is None:
        return []
    values = [
        (_("sampling"), agents.sampling_label(config.sampling_params)),
        (_("tools"), ", ".join(_tool_names(config.toolgroups, config.client_tools))),
        (_("max iterations"), str(config.max_infer_iters or "")),
    ]
    return [(name, value) for name, value in values if value and value != format.NOTHING]


def _tool_names(groups: Sequence[Any] | None, client_tools: Sequence[Any] | None) -> list[str]:
    named = [group if isinstance(group, str) else group.name for group in groups or ()]
    return [*named, *(tool.name for tool in client_tools or ())]


# ----------------------------------------------------------------------------------------------- input


def _is_input(block: Block) -> bool:
    return block.name.startswith("arguments") or block.name == "input"


def _input(page: TurnPageData, step: StepSnapshot, card: StepCard) -> StepInput:
    """What went into a step: arguments of a tool, a query; of an inference what it read since the one before."""
    if step.type == "inference":
        return _read_by(page, step)
    if step.type == "memory_retrieval":
        detail = step_details.read_detail(step, step_details.StoredRetrieval)
        query = NamedText("query", detail.query if detail else "")
        return StepInput((InputPart("", "", "", (blocks.plain_block(query),)),) if query.text else ())
    arguments = tuple(block for block in card.body if _is_input(block))
    return StepInput((InputPart("", "", card.url, arguments),) if arguments else ())


def _read_by(page: TurnPageData, step: StepSnapshot) -> StepInput:
    """What an inference read since the one before it: results of tools and passages, or the input of the turn."""
    first = max(step.number - STEPS_BEFORE, 0)
    before = step_pages.steps(page.turn.key, first, step.number - first) if step.number else ()
    last = next((earlier.number for earlier in reversed(before) if earlier.type == "inference"), None)
    between = [other for other in before if other.parent == step.parent and (last is None or other.number > last)]
    parts = tuple(part for other in between if (part := _result(page, other)) is not None)
    if last is None and not first:
        return _with_turn_input(page, parts)
    return StepInput(
        parts,
        _("and, before that, the input and output of step %(number)d") % {"number": (last or first) + 1},
        page.step_query(last or first),
    )


def _with_turn_input(page: TurnPageData, parts: tuple[InputPart, ...]) -> StepInput:
    """The last messages that the turn was started with, then what came since."""
    last = turn_messages.message_page(page.turn.input_messages, count=INPUT_MESSAGES)
    start = last.first
    source = f"{turn_summary.turn_url(page.turn)}value/"
    input_parts = tuple(
        InputPart(
            fragments.speaker(message.role),
            "",
            source,
            (blocks.asked_block(NamedText(f"input-{start + index}", text)),),
        )
        for index, message in enumerate(last.messages)
        if (text := step_details.text_of(message.content))
    )
    more = ngettext("and %(num)s message before", "and %(num)s messages before", start) % {"num": format.count(start)}
    return StepInput((*input_parts, *parts), more if start else "", turn_summary.turn_url(page.turn) if start else "")


def _result(page: TurnPageData, step: StepSnapshot) -> InputPart | None:
    """What a step gave the model to read; None where that is nothing."""
    if step.type not in {"tool_execution", "memory_retrieval"}:
        return None
    texts = [text for text in step_values.step_texts(step) if not text.name.startswith("arguments")]
    result = tuple(blocks.data_block(text) for text in texts if text.text)
    if not result and step.error is not None:
        result = (blocks.plain_block(NamedText("error", turn_summary.error_text(step.error))),)
    label = f"{step.number + 1} · {step.name}" if step.name else f"{step.number + 1} · {type_label(step.type)}"
    source = step_cards.value_url(page.turn, step)
    return InputPart(label, page.step_query(step.number), source, result) if result else None

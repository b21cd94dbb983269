"""Facts that only the page of an external turn shows: source, provenance, warnings."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _

from agents.pages import external_warnings, step_details
from agents.pages.page_hooks import hooks
from agents.record.schemas.origins import Provenance, SpanOrigin, parse_provenance
from agents.record.schemas.turns import StepSnapshot, TurnSnapshot
from agents.uikit.sources import is_external, source_label

SWITCH = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
_SWITCHES = re.compile(r"([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+(?:=[A-Za-z0-9_]+)?)")


@dataclass(frozen=True, slots=True)
class ExternalTurnFacts:
    """Additional facts of an external turn. ``notices`` are sentences, split so that every second part is a name
    of code; ``is_hidden``: the input was not captured."""

    source: str
    origin: SpanOrigin
    provenance: Provenance
    notices: Sequence[Sequence[str]]
    is_hidden: bool


def external_facts(turn: TurnSnapshot, source: str, request: str) -> ExternalTurnFacts | None:
    """The external facts of a turn; None for a turn of this server."""
    if not is_external(source):
        return None
    parsed = parse_provenance(request)
    is_hidden = not step_details.messages(turn.input_messages) and (parsed.hidden or _asks_models(turn))
    notices = [_SWITCHES.split(sentence) for sentence in _notices(parsed, is_hidden=is_hidden)]
    return ExternalTurnFacts(source_label(source), hooks.turn_origin(turn.key), parsed, notices, is_hidden)


def _asks_models(turn: TurnSnapshot) -> bool:
    return any(step.type == "inference" for step in turn.steps)


def _notices(parsed: Provenance, *, is_hidden: bool) -> list[str]:
    """The warnings, and the usual advice if text is hidden and no warning says how to capture it."""
    notices = [external_warnings.translate_warning(warning) for warning in parsed.warnings if warning]
    if is_hidden and not external_warnings.ADVICE.intersection(parsed.warnings):
        advice = _("The sender did not capture the messages. Set %(switch)s where the agent runs to send them.")
        notices.append(advice % {"switch": f"{SWITCH}=span_only"})
    return notices


def is_answered(turn: TurnSnapshot) -> bool:
    """Whether one of the visible steps contains the turn's answer."""
    answer = step_details.message(turn.output_message)
    text = step_details.text_of(answer.content).strip() if answer else ""
    return not text or any(text in _inference_text(step) for step in turn.steps)


def _inference_text(step: StepSnapshot) -> str:
    detail = step_details.read_detail(step, step_details.StoredInference) if step.type == "inference" else None
    return step_details.text_of(detail.model_response.content) if detail else ""

"""Turns of agents that run elsewhere: what their pages say besides."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _

from agents.pages import external_warnings, step_details
from agents.record.schemas.turns import StepSnapshot, TurnSnapshot
from agents.telemetry.store.external import provenance
from agents.telemetry.store.external.provenance import Provenance, SpanOrigin
from agents.uikit.sources import is_external, source_label

SWITCH = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
_SWITCHES = re.compile(r"([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+(?:=[A-Za-z0-9_]+)?)")


@dataclass(frozen=True, slots=True)
class About:
    """What the page of a foreign turn says of it besides. ``notices`` are sentences, each in pieces of which
    every second is a name of code; ``is_hidden``: what was asked was not captured."""

    source: str
    origin: SpanOrigin
    told: Provenance
    notices: Sequence[Sequence[str]]
    is_hidden: bool


def about(turn: TurnSnapshot, source: str, request: str) -> About | None:
    """None for a turn that ran here."""
    if not is_external(source):
        return None
    said = provenance.parse(request)
    is_hidden = not step_details.messages(turn.input_messages) and (said.hidden or _asks_models(turn))
    notices = [_SWITCHES.split(one) for one in _notices(said, is_hidden=is_hidden)]
    return About(source_label(source), provenance.origin(turn.key), said, notices, is_hidden)


def _asks_models(turn: TurnSnapshot) -> bool:
    return any(step.type == "inference" for step in turn.steps)


def _notices(said: Provenance, *, is_hidden: bool) -> list[str]:
    """The warnings; where words were hidden and none of these says how they are sent, the usual advice."""
    notices = [external_warnings.translated(warning) for warning in said.warnings if warning]
    if is_hidden and not external_warnings.ADVICE.intersection(said.warnings):
        words = _("The sender did not capture what was said. With %(switch)s where the agent runs it sends the words.")
        notices.append(words % {"switch": f"{SWITCH}=span_only"})
    return notices


def is_answered(turn: TurnSnapshot) -> bool:
    """Whether a turn's answer is what one of the steps shown said."""
    answer = step_details.message(turn.output_message)
    words = step_details.words(answer.content).strip() if answer else ""
    return not words or any(words in _said(step) for step in turn.steps)


def _said(step: StepSnapshot) -> str:
    found = step_details.read(step, step_details.Inference) if step.type == "inference" else None
    return step_details.words(found.model_response.content) if found else ""

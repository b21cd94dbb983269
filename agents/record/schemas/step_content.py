"""The content of a step as it is stored: its detail and error as JSON, and its search document."""

from __future__ import annotations

import msgspec

from agents.record.schemas import searchable_text
from agents.record.schemas.events import COMPACTION, ErrorInfo, InferenceDetail, OtherDetail, ShieldDetail, StepDetail
from agents.record.schemas.search_documents import StepTokens, step_tokens


class StepContent(msgspec.Struct, frozen=True, array_like=True):
    """The content of a step, which depends on nothing stored. ``detail`` and ``error`` are JSON; ``detail`` is None
    while nothing of it is known, and nothing is stored then."""

    detail: bytes | None
    error: str
    tokens: StepTokens


NO_CONTENT = StepContent(None, "", ())


def step_content(detail: StepDetail, error: ErrorInfo | None) -> StepContent:
    return StepContent(
        detail=detail.model_dump_json(exclude_none=True).encode(),
        error=error.model_dump_json(exclude_none=True) if error else "",
        tokens=step_tokens(searchable_text.of_step(detail, error)),
    )


class StepNature(msgspec.Struct, frozen=True, array_like=True):
    """What the columns of a step say of its detail: its kind where that is more than its type, why its inference
    stopped, whether it is a shield that found a violation."""

    kind: str = ""
    finish: str = ""
    violates: bool = False


def nature_of(detail: StepDetail) -> StepNature:
    match detail:
        case InferenceDetail():
            return StepNature(COMPACTION if detail.compaction is not None else "", detail.model_response.stop_reason)
        case OtherDetail():
            return StepNature(detail.kind)
        case ShieldDetail():
            return StepNature(violates=detail.violation is not None)
    return StepNature()

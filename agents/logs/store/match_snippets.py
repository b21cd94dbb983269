"""Find a snippet for turns whose input and output do not show the match of a search: the text of the first
step that holds the phrase."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agents.query.comparison import contains_phrase
from agents.query.tree import SearchPhrase
from agents.record.models.turns import Step, StepDetail
from agents.record.schemas.events import DETAILS, ErrorInfo
from agents.record.store import large_values, search, searchable_text

MAX_STEPS = 500
"""Steps that are read for one page of turns."""
MAX_TEXT = 100_000
"""Characters of a text that are searched."""


@dataclass(frozen=True, slots=True)
class MatchSnippet:
    """A step's type and name, and its text that holds the phrase."""

    type: str
    name: str
    text: str


def of_turns(turns: Sequence[int], phrase: SearchPhrase) -> dict[int, MatchSnippet]:
    """Return the snippet of the first step of each turn that holds the phrase. The caller has checked that the
    turns may be seen."""
    if not turns:
        return {}
    steps = Step.objects.unscoped("of rows that are shown").filter(
        turn_id__in=list(turns), pk__in=search.containing("step", phrase, (), (min(turns), None))
    )
    first: dict[int, Step] = {}
    for step in steps.order_by("turn_id", "number")[:MAX_STEPS]:
        first.setdefault(step.turn_id, step)
    texts = _texts(list(first.values()), phrase)
    return {
        turn: MatchSnippet(step.get_type_display(), step.name, texts[step.pk])
        for turn, step in first.items()
        if step.pk in texts
    }


def _texts(steps: Sequence[Step], phrase: SearchPhrase) -> dict[int, str]:
    by_key = {step.pk: step for step in steps}
    rows = StepDetail.objects.filter(step_id__in=list(by_key)).values_list("pk", "encoding", "body", "error")
    texts = {}
    for key, kind, body, error in rows:
        detail = DETAILS[by_key[key].get_type_display()].model_validate_json(large_values.outline(kind, body).body)
        parts = searchable_text.of_step(detail, ErrorInfo.model_validate_json(error) if error else None)
        text = next((part[:MAX_TEXT] for part in parts if contains_phrase(part[:MAX_TEXT], phrase)), None)
        if text is not None:
            texts[key] = text
    return texts

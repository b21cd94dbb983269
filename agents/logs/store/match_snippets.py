"""Where in a turn the words of a search stand, when its first and last words do not have them: the text of
the first step that does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agents.query.comparison import contains_phrase
from agents.query.tree import SearchPhrase
from agents.record.models.turns import Step, StepDetail
from agents.record.schemas.events import DETAILS, ErrorInfo
from agents.record.store import large_values, search, searchable_text

LOOKED_AT = 500
"""Steps that are looked at for one page of turns."""
LONGEST = 100_000
"""Characters of a text that are looked through."""


@dataclass(frozen=True, slots=True)
class Glimpse:
    """A step's type and name, and the text of it that holds the words."""

    type: str
    name: str
    text: str


def of_turns(turns: Sequence[int], words: SearchPhrase) -> dict[int, Glimpse]:
    """The first step of each of these turns that holds the words. The caller may see the turns."""
    if not turns:
        return {}
    found = Step.objects.unscoped("of rows that are shown").filter(
        turn_id__in=list(turns), pk__in=search.containing("step", words, (), (min(turns), None))
    )
    first: dict[int, Step] = {}
    for step in found.order_by("turn_id", "number")[:LOOKED_AT]:
        first.setdefault(step.turn_id, step)
    texts = _texts(list(first.values()), words)
    return {
        turn: Glimpse(step.get_type_display(), step.name, texts[step.pk])
        for turn, step in first.items()
        if step.pk in texts
    }


def _texts(steps: Sequence[Step], words: SearchPhrase) -> dict[int, str]:
    by_key = {step.pk: step for step in steps}
    rows = StepDetail.objects.filter(step_id__in=list(by_key)).values_list("pk", "encoding", "body", "error")
    found = {}
    for key, kind, body, error in rows:
        detail = DETAILS[by_key[key].get_type_display()].model_validate_json(large_values.outline(kind, body).body)
        parts = searchable_text.of_step(detail, ErrorInfo.model_validate_json(error) if error else None)
        text = next((part[:LONGEST] for part in parts if contains_phrase(part[:LONGEST], words)), None)
        if text is not None:
            found[key] = text
    return found

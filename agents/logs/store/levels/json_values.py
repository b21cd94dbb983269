"""Values inside the JSON of tools. The index tells which steps hold all the words a term speaks of;
these are then read, newest first, and looked into."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import Any, Literal

from django.db.models import Q

from agents.base.errors import Unavailable
from agents.base.tokenizer import tokens
from agents.logs.store.conditions import listed
from agents.logs.store.levels.relations import Sight
from agents.logs.store.levels.shared_terms import TermOf
from agents.query import comparison
from agents.query.tree import ExactValue, Pattern, SearchPhrase
from agents.query.tree import FieldTerm as TermNode
from agents.record.models.choices import StepType
from agents.record.models.turns import Step, StepDetail
from agents.record.schemas.events import ToolDetail
from agents.record.store import large_values, search, searchable_text

BUDGET_S = 3.0
CHUNK = 200
"""Details read at a time."""
Part = Literal["args", "result"]


def inside(part: Part) -> TermOf:
    """A term on what a tool was called with, or what it answered."""

    def term(node: TermNode, sight: Sight) -> Q:
        found = keys(list(_holding(part, node, sight)))
        if node.op != "!=":
            return found
        there = node.model_copy(update={"op": "has", "value": None})
        return keys(list(_holding(part, there, sight))) & ~found

    return term


def keys(found: list[int]) -> Q:
    """A condition on rows of these keys, of which there may be more than a statement takes values."""
    return Q(pk__in=listed(found))


def _holding(part: Part, node: TermNode, sight: Sight) -> Iterator[int]:
    """The tool executions whose JSON is as the term says. Raises Unavailable when reading takes too long."""
    until = time.monotonic() + BUDGET_S
    for chunk in _chunks(_candidates(part, node, sight)):
        if time.monotonic() > until:
            raise Unavailable(f"Looking into {part} takes too long here. Add a time range, or a word it holds.")
        for key, body in _details(chunk):
            held = _value(part, body)
            if any(
                comparison.json_value_matches(node.op, node.value, each)
                for each in comparison.values_at(held, node.path)
            ):
                yield key


def _chunks(found: list[int]) -> Iterable[list[int]]:
    return (found[start : start + CHUNK] for start in range(0, len(found), CHUNK))


def _candidates(part: Part, node: TermNode, sight: Sight) -> list[int]:
    """Tool executions that hold every word of the term somewhere in this part, newest first."""
    rows = Step.objects.unscoped("narrowed by what is asked for").filter(type=StepType.TOOL_EXECUTION)
    if sight.only is not None:
        rows = rows.filter(turn_id__in=sight.only)
    if texts := needed(node):
        rows = rows.filter(pk__in=search.holding("step", texts, part, sight.documents("step")))
    return list(rows.order_by("-pk").values_list("pk", flat=True))


def needed(node: TermNode) -> list[str]:
    """Texts whose words must be there: the names of the path, and what of the value is whole words."""
    texts = [name for name in node.path if isinstance(name, str)]
    match node.value:
        case SearchPhrase(text=text, inside=False, prefix=False):
            texts.append(text)
        case ExactValue(text=text) if node.op == "=":
            texts.append(text)
        case Pattern(parts=parts) if node.op == "=":
            texts += _whole_words(parts)
    return [text for text in texts if tokens(text)]


def _whole_words(parts: tuple[str, ...]) -> Iterator[str]:
    """The words of a pattern that no star can be a part of."""
    for place, part in enumerate(parts):
        found = tokens(part)
        first = int(place > 0 and bool(found) and bool(tokens(part[0])))
        last = len(found) - int(place < len(parts) - 1 and bool(found) and bool(tokens(part[-1])))
        yield from found[first:last]


def _details(steps: list[int]) -> Iterator[tuple[int, ToolDetail]]:
    rows = StepDetail.objects.filter(step_id__in=steps).values_list("step_id", "encoding", "body")
    for key, kind, body in rows:
        yield key, ToolDetail.model_validate_json(large_values.unpack(key, kind, body))


def _value(part: Part, detail: ToolDetail) -> Any:
    if part == "result":
        return searchable_text.results_of(detail.tool_responses)
    return searchable_text.arguments_of(detail.tool_calls[0]) if detail.tool_calls else None

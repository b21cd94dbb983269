"""Terms on values inside the JSON of tool calls and results. The search index gives the steps that hold all
words of a term; their JSON is then read, newest first, and compared."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import Any, Literal

from django.db.models import Q

from agents.base.errors import Unavailable
from agents.base.tokenizer import tokens
from agents.logs.store.conditions import key_list
from agents.logs.store.levels.relations import QueryContext
from agents.logs.store.levels.shared_terms import TermFunction
from agents.query import comparison
from agents.query.tree import ExactValue, FieldTerm, Pattern, SearchPhrase
from agents.record.models.choices import StepType
from agents.record.models.turns import Step, StepDetail
from agents.record.schemas import searchable_text
from agents.record.schemas.events import ToolDetail
from agents.record.store import large_values, search

BUDGET_S = 3.0
CHUNK = 200
"""Details read at a time."""
Part = Literal["args", "result"]
PARTS: tuple[Part, ...] = ("args", "result")


def json_term(part: Part) -> TermFunction:
    """Build the term on the arguments of a tool, or on its result."""

    def term(node: FieldTerm, context: QueryContext) -> Q:
        matching = by_keys(list(_matching_steps(part, node, context)))
        if node.op != "!=":
            return matching
        present = node.model_copy(update={"op": "has", "value": None})
        return by_keys(list(_matching_steps(part, present, context))) & ~matching

    return term


def by_keys(keys: list[int]) -> Q:
    """Build the condition on rows of these keys; there may be more than a statement takes values."""
    return Q(pk__in=key_list(keys))


def _matching_steps(part: Part, node: FieldTerm, context: QueryContext) -> Iterator[int]:
    """Yield the tool executions whose JSON fulfils the term. Raises Unavailable when reading takes too long."""
    deadline = time.monotonic() + BUDGET_S
    for chunk in _chunks(_candidates(part, node, context)):
        if time.monotonic() > deadline:
            raise Unavailable(f"Looking into {part} takes too long here. Add a time range, or a word it holds.")
        for key, body in details(chunk):
            value = value_of(part, body)
            if any(
                comparison.json_value_matches(node.op, node.value, item)
                for item in comparison.values_at(value, node.path)
            ):
                yield key


def _chunks(keys: list[int]) -> Iterable[list[int]]:
    return (keys[start : start + CHUNK] for start in range(0, len(keys), CHUNK))


def _candidates(part: Part, node: FieldTerm, context: QueryContext) -> list[int]:
    """Return the tool executions that hold every word of the term somewhere in this part, newest first."""
    rows = Step.objects.unscoped("narrowed by what is asked for").filter(type=StepType.TOOL_EXECUTION)
    if context.only is not None:
        rows = rows.filter(turn_id__in=context.only)
    if texts := required_texts(node):
        rows = rows.filter(pk__in=search.holding("step", texts, part, context.documents("step")))
    return list(rows.order_by("-pk").values_list("pk", flat=True))


def required_texts(node: FieldTerm) -> list[str]:
    """Return texts whose words the JSON must hold: the names of the path, and the complete words of the value."""
    texts = [name for name in node.path if isinstance(name, str)]
    match node.value:
        case SearchPhrase(text=text, inside=False, prefix=False):
            texts.append(text)
        case ExactValue(text=text) if node.op == "=":
            texts.append(text)
        case Pattern(parts=parts) if node.op == "=":
            texts += _complete_words(parts)
    return [text for text in texts if tokens(text)]


def _complete_words(parts: tuple[str, ...]) -> Iterator[str]:
    """Yield the words of a pattern that no star touches: only those must be in the index as they are."""
    for index, part in enumerate(parts):
        part_words = tokens(part)
        start = int(index > 0 and bool(part_words) and bool(tokens(part[0])))
        end = len(part_words) - int(index < len(parts) - 1 and bool(part_words) and bool(tokens(part[-1])))
        yield from part_words[start:end]


def details(steps: list[int]) -> Iterator[tuple[int, ToolDetail]]:
    """Yield the details of these tool executions with their keys."""
    rows = StepDetail.objects.filter(step_id__in=steps).values_list("step_id", "encoding", "body")
    for key, kind, body in rows:
        yield key, ToolDetail.model_validate_json(large_values.unpack(key, kind, body))


def values_of(part: Part, steps: list[int]) -> Iterator[Any]:
    """Yield the JSON of the arguments, or of the result, of these tool executions."""
    return (value_of(part, body) for _, body in details(steps))


def value_of(part: Part, detail: ToolDetail) -> Any:
    """Return the JSON of the arguments, or of the result."""
    if part == "result":
        return searchable_text.results_of(detail.tool_responses)
    return searchable_text.arguments_of(detail.tool_calls[0]) if detail.tool_calls else None

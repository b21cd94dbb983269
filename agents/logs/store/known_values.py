"""Read which paths, and which values there, the JSON of the newest rows has: what completion offers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, Literal

from agents.base.access import Actor
from agents.base.models.terms import Term, TermKind
from agents.logs.store import listing
from agents.logs.store.levels import json_values
from agents.record.models.choices import StepType
from agents.record.models.tags import TurnTag

SAMPLE = 200
"""How many of the newest rows are read."""
MAX_DEPTH = 4
MAX_VALUE = 100
"""Characters of a value that is offered; longer ones are left out."""
_NAME = re.compile(r"[A-Za-z0-9_-]{1,60}")

Source = Literal["args", "result", "meta"]
Pair = tuple[str, str]
"""(dotted path, value as text)."""


def pairs(actor: Actor, source: Source) -> Counter[Pair]:
    """Count the values at each path: of the arguments or results of the newest tool executions that the actor sees, or
    of the metadata of the newest turns. Paths through lists, and names that a query has to quote, are left out."""
    if source == "meta":
        return Counter(_metadata_pairs(actor))
    rows = listing.visible("step", actor).filter(type=StepType.TOOL_EXECUTION).order_by("-pk")
    values = json_values.values_of(source, list(rows.values_list("pk", flat=True)[:SAMPLE]))
    return Counter(pair for value in values for pair in _flattened(value))


def _metadata_pairs(actor: Actor) -> Iterator[Pair]:
    turns = list(listing.visible("turn", actor).order_by("-pk").values_list("pk", flat=True)[:SAMPLE])
    numbers = Counter(TurnTag.objects.filter(turn_id__in=turns).values_list("term_id", flat=True))
    for number, text in Term.objects.filter(pk__in=numbers, kind=int(TermKind.META)).values_list("pk", "value"):
        path, _, value = text.partition("=")
        if len(value) <= MAX_VALUE and all(map(_NAME.fullmatch, path.split("."))):
            yield from [(path, value)] * numbers[number]


def _flattened(value: Any, path: tuple[str, ...] = ()) -> Iterator[Pair]:
    if isinstance(value, dict):
        for name, inner in value.items():
            if len(path) < MAX_DEPTH and _NAME.fullmatch(name):
                yield from _flattened(inner, (*path, name))
    elif path and isinstance(value, str | int | float):
        text = str(value).lower() if isinstance(value, bool) else str(value)
        if len(text) <= MAX_VALUE:
            yield ".".join(path), text

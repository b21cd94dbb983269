"""What the numbers in columns are called: in a query, and for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from agents.base import ids
from agents.base.models.people import ApiKey
from agents.base.store import terms
from agents.record.models.agents import Agent, Session
from agents.record.models.choices import Api, Source, StepStatus, StepType, TurnStatus

Names = dict[int, tuple[str, str]]
"""By number: what a query says behind the colon, and what people read."""


def names(field: str, numbers: Iterable[int]) -> Names:
    return _NAMES[field](set(numbers))


def _chosen(choices: Any) -> Callable[[set[int]], Names]:
    def named(numbers: set[int]) -> Names:
        return {number: (choices(number).label,) * 2 for number in numbers}

    return named


def _terms(numbers: set[int]) -> Names:
    texts = terms.texts({*numbers})
    return {number: (texts[number],) * 2 for number in numbers}


def _agents(numbers: set[int]) -> Names:
    """By name where that names one agent, else by id."""
    rows = Agent.objects.unscoped("of rows the actor may see").filter(pk__in=numbers)
    found = {key: name or model for key, name, model in rows.values_list("pk", "name", "model")}
    return _by_name(ids.Kind.AGENT, numbers, found)


def _sessions(numbers: set[int]) -> Names:
    rows = Session.objects.unscoped("of rows the actor may see").filter(pk__in=numbers)
    found = dict(rows.values_list("pk", "name"))
    return {number: (ids.public(ids.Kind.SESSION, number), found.get(number, "")) for number in numbers}


def _keys(numbers: set[int]) -> Names:
    found = dict(ApiKey.objects.filter(pk__in=numbers).values_list("pk", "name"))
    return {number: (found.get(number, ""),) * 2 for number in numbers}


def _by_name(kind: ids.Kind, numbers: set[int], found: dict[int, str]) -> Names:
    many = Counter(name.casefold() for name in found.values())
    out: Names = {}
    for number in numbers:
        name = found.get(number, "")
        alone = name and many[name.casefold()] == 1
        out[number] = (name if alone else ids.public(kind, number), name)
    return out


_NAMES: dict[str, Callable[[set[int]], Names]] = {
    "status": _chosen(TurnStatus),
    "step status": _chosen(StepStatus),
    "type": _chosen(StepType),
    "api": _chosen(Api),
    "source": _chosen(Source),
    "agent": _agents,
    "session": _sessions,
    "key": _keys,
    **dict.fromkeys(("model", "provider", "tool", "kind", "user", "error", "tag"), _terms),
}

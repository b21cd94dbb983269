"""Name the numbers in columns: as a query writes them, and as people read them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from agents.base import ids
from agents.base.models.people import ApiKey
from agents.base.store import terms
from agents.logs.store.levels.stored_terms import labels_of, stored_column
from agents.logs.store.numbers.listed_terms import meta_start
from agents.record.catalogue import CATALOGUE
from agents.record.models.agents import Agent, Session
from agents.record.models.choices import RESPONSE_STATUSES

Names = dict[int, tuple[str, str]]
"""By number: the value behind a query's colon, and the label."""


def names(field: str, numbers: Iterable[int]) -> Names:
    if start := meta_start(field):
        return {number: (value.removeprefix(start),) * 2 for number, (value, _label) in _terms(set(numbers)).items()}
    if field in _NAMES:
        return _NAMES[field](set(numbers))
    labels = _choices(field)
    return {number: (labels[number],) * 2 for number in numbers} if labels else _terms(set(numbers))


def _choices(field: str) -> dict[int, str]:
    """Return the labels of a field's numbers, where its column has choices; else they are interned texts."""
    if field == "status":
        return dict(RESPONSE_STATUSES)
    columns = [stored_column(level, column) for level, column in CATALOGUE[field].columns.items()]
    return labels_of(columns[0]) if columns else {}


def _terms(numbers: set[int]) -> Names:
    texts = terms.texts({*numbers})
    return {number: (texts[number],) * 2 for number in numbers}


def _agents(numbers: set[int]) -> Names:
    """Use the name where it is that of one agent alone, else the id."""
    rows = Agent.objects.unscoped("of rows the actor may see").filter(pk__in=numbers)
    agent_names = {key: name or model for key, name, model in rows.values_list("pk", "name", "model")}
    return _by_name(ids.Kind.AGENT, numbers, agent_names)


def _sessions(numbers: set[int]) -> Names:
    rows = Session.objects.unscoped("of rows the actor may see").filter(pk__in=numbers)
    session_names = dict(rows.values_list("pk", "name"))
    return {number: (ids.public(ids.Kind.SESSION, number), session_names.get(number, "")) for number in numbers}


def _keys(numbers: set[int]) -> Names:
    key_names = dict(ApiKey.objects.filter(pk__in=numbers).values_list("pk", "name"))
    return {number: (key_names.get(number, ""),) * 2 for number in numbers}


def _by_name(kind: ids.Kind, numbers: set[int], name_of: dict[int, str]) -> Names:
    occurrences = Counter(name.casefold() for name in name_of.values())
    labels: Names = {}
    for number in numbers:
        name = name_of.get(number, "")
        is_unique = name and occurrences[name.casefold()] == 1
        labels[number] = (name if is_unique else ids.public(kind, number), name)
    return labels


_NAMES: dict[str, Callable[[set[int]], Names]] = {
    "agent": _agents,
    "session": _sessions,
    "key": _keys,
}
"""Names of records, which are neither choices nor interned texts."""

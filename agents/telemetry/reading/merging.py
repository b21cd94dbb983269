"""Merging of two reports of one span: a run's post and its patch, a batch sent twice, a log record and its span.

The result does not depend on the order nor on how often something arrived, because senders repeat and networks
reorder: of two values of one field neither "came later". So each field has a rule of its own for the fuller value:
something beats nothing, the later end, the longer text or list, the larger number; objects are united name by name.
Where reports contradict each other this is a guess, but always the same one.
"""

from __future__ import annotations

from typing import Any

import msgspec

from agents.telemetry.reading.sanitize import MAX_ATTRIBUTES, MAX_ITEMS
from agents.telemetry.reading.spans import Span, SpanEvent, SpanLink

_encode = msgspec.json.Encoder(order="deterministic").encode

_RANKS: tuple[tuple[type, ...], ...] = ((bool,), (int, float), (str,), (list,), (dict,))


def merge(old: Span, new: Span) -> Span:
    """Merge two reports of the same trace and id; a log record adds its events to a span and nothing else."""
    if is_same(old, new):
        return old
    events = _events(old.events, new.events)
    if old.is_log != new.is_log:
        span = new if old.is_log else old
        return msgspec.structs.replace(span, events=events)
    return _united(old, new, events)


def is_same(old: Any, new: Any) -> bool:
    """Whether both would be stored alike: True is 1 to Python, and not in JSON."""
    return bool(old == new) and _encode(old) == _encode(new)


def _united(old: Span, new: Span, events: list[SpanEvent]) -> Span:
    return Span(
        trace=old.trace,
        id=old.id,
        parent=merge_values(old.parent, new.parent),
        name=merge_values(old.name, new.name),
        start_ns=min(old.start_ns or new.start_ns, new.start_ns or old.start_ns),
        end_ns=max(old.end_ns, new.end_ns),
        failed=old.failed or new.failed,
        message=merge_values(old.message, new.message),
        kind=max(old.kind, new.kind),
        attributes=_cut(merge_values(old.attributes, new.attributes)),
        events=events,
        resource=_cut(merge_values(old.resource, new.resource)),
        scope=merge_values(old.scope, new.scope),
        scope_version=merge_values(old.scope_version, new.scope_version),
        dropped=max(old.dropped, new.dropped),
        format=max(old.format, new.format),
        is_log=old.is_log,
        links=_links(old.links, new.links),
    )


def merge_values(first: Any, second: Any) -> Any:
    """Return the fuller of two values; of two objects the union. The order of the arguments does not matter."""
    if isinstance(first, dict) and isinstance(second, dict):
        shared = first.keys() & second.keys()
        return {**first, **second, **{name: merge_values(first[name], second[name]) for name in shared}}
    return max(first, second, key=_weight)


def _weight(value: Any) -> tuple[int, float, bytes]:
    """Rank values: different ones differ in weight, and equal ones weigh the same: a total order."""
    rank = next((index for index, types in enumerate(_RANKS, 1) if isinstance(value, types)), 0)
    size = len(value) if isinstance(value, (str, list, dict)) else float(value or 0)
    return rank, size, _encode(value)


def _cut(values: dict[str, Any]) -> dict[str, Any]:
    """Bound the attributes, however often the sender invents new names: the first by name stay."""
    if len(values) <= 2 * MAX_ATTRIBUTES:
        return values
    return {name: values[name] for name in sorted(values)[: 2 * MAX_ATTRIBUTES]}


def _links(old: list[SpanLink], new: list[SpanLink]) -> list[SpanLink]:
    """Unite links, each once, sorted by their encoding."""
    if is_same(old, new):
        return old
    unique = {_encode(link): link for link in (*old, *new)}
    return [unique[key] for key in sorted(unique)[:MAX_ITEMS]]


def _events(old: list[SpanEvent], new: list[SpanEvent]) -> list[SpanEvent]:
    """Unite events, each once, by time."""
    if is_same(old, new):
        return old
    unique = {_encode(event): event for event in (*old, *new)}
    ordered = sorted(unique.items(), key=lambda pair: (pair[1].at_ns, pair[0]))
    return [event for _, event in ordered[:MAX_ITEMS]]

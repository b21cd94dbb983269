"""Two reports of one span made one: a run's post and its patch, a batch sent twice, a log record and its span.

The result does not depend on the order nor on how often something came, for senders repeat and networks reorder: of
two values of one field neither "came later". So each field knows by itself which of two says more: something beats
nothing, the later end, the longer text or list, the larger number; objects are united name by name. Where reports
contradict each other this is a guess, but always the same one.
"""

from __future__ import annotations

from typing import Any

import msgspec

from agents.telemetry.reading.sanitize import MAX_ATTRIBUTES, MAX_ITEMS
from agents.telemetry.reading.spans import Span, SpanEvent, SpanLink

_encode = msgspec.json.Encoder(order="deterministic").encode

_RANKS: tuple[tuple[type, ...], ...] = ((bool,), (int, float), (str,), (list,), (dict,))


def merge(old: Span, new: Span) -> Span:
    """Both in one. They are of the same trace and id; a log record adds its events to a span and nothing else."""
    if old == new:
        return old
    events = _events(old.events, new.events)
    if old.is_log != new.is_log:
        told = new if old.is_log else old
        return msgspec.structs.replace(told, events=events)
    return _united(old, new, events)


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


def merge_values(one: Any, other: Any) -> Any:
    """Which of two values says more; of two objects both. The order of its arguments does not matter."""
    if isinstance(one, dict) and isinstance(other, dict):
        shared = one.keys() & other.keys()
        return {**one, **other, **{name: merge_values(one[name], other[name]) for name in shared}}
    return max(one, other, key=_weight)


def _weight(value: Any) -> tuple[int, float, bytes]:
    """Values of different weight differ, and equal ones weigh the same: a total order."""
    rank = next((place for place, types in enumerate(_RANKS, 1) if isinstance(value, types)), 0)
    size = len(value) if isinstance(value, (str, list, dict)) else float(value or 0)
    return rank, size, _encode(value)


def _cut(values: dict[str, Any]) -> dict[str, Any]:
    """No more than a span may have, however often its sender invents new names: the first by name."""
    if len(values) <= 2 * MAX_ATTRIBUTES:
        return values
    return {name: values[name] for name in sorted(values)[: 2 * MAX_ATTRIBUTES]}


def _links(old: list[SpanLink], new: list[SpanLink]) -> list[SpanLink]:
    """Each once, in an order of their own."""
    if old == new:
        return old
    found = {_encode(link): link for link in (*old, *new)}
    return [found[one] for one in sorted(found)[:MAX_ITEMS]]


def _events(old: list[SpanEvent], new: list[SpanEvent]) -> list[SpanEvent]:
    """Each once, by time."""
    if old == new:
        return old
    found = {_encode(event): event for event in (*old, *new)}
    ordered = sorted(found.items(), key=lambda pair: (pair[1].at_ns, pair[0]))
    return [event for _, event in ordered[:MAX_ITEMS]]

"""Times of services whose clocks differ, brought to the clock of who called them.

A span that began before what caused it, or a request that was answered before it came in, shows that its service has
another clock. It is moved into its parent, with all below it of the same service, as tracing systems do: into the
middle, as if the way there had taken as long as the way back. What a queue delays is no such case: the span of a
consumer may begin long after its cause has ended.

Only spans of different resources are compared; those of one process have one clock.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from agents.telemetry.reading.sanitize import timestamp_ns
from agents.telemetry.reading.spans import Span

SLACK_NS = 1_000_000_000
"""Time that a span may lie outside its parent before clocks count as different."""
_SERVER, _CLIENT, _PRODUCER, _CONSUMER = 2, 3, 4, 5


def by_callers_clock(spans: dict[str, Span]) -> tuple[dict[str, Span], set[str]]:
    """Return the spans of a trace by their ids with their times by one clock, and the ids of those that were moved.
    Where no clocks differ, which costs one look at each span, these are the given spans."""
    if not any(_differs(span, parent) for span in spans.values() if (parent := spans.get(span.parent)) is not None):
        return spans, set()
    moved = dict(spans)
    offsets = dict.fromkeys(spans, 0)
    for span in _parents_first(spans):
        parent = spans.get(span.parent)
        if parent is None:
            continue
        offsets[span.id] = offset = _offset(span, parent, moved[parent.id], offsets[parent.id])
        if offset:
            moved[span.id] = _shifted(span, offset)
    return moved, {name for name, offset in offsets.items() if offset}


def is_outside(span: Span, parent: Span) -> bool:
    """Whether a span begins more than a second before its parent, or after its parent's end."""
    if not (parent.start_ns and span.start_ns):
        return False
    return _began_before(span, parent) or _began_after(span, parent)


def _began_before(span: Span, parent: Span) -> bool:
    return span.start_ns < parent.start_ns - SLACK_NS


def _began_after(span: Span, parent: Span) -> bool:
    return bool(parent.end_ns) and span.start_ns > parent.end_ns + SLACK_NS


def _differs(span: Span, parent: Span) -> bool:
    """Whether a span can only have been timed by another clock than its parent."""
    if span.is_log or parent.is_log or not is_outside(span, parent) or span.resource == parent.resource:
        return False
    return _began_before(span, parent) or _is_awaited(span, parent)


def _is_awaited(span: Span, parent: Span) -> bool:
    """Whether the parent ends only when the span has: a request, and no message."""
    if span.kind == _CONSUMER or parent.kind == _PRODUCER:
        return False
    return span.kind == _SERVER or parent.kind == _CLIENT


def _offset(span: Span, parent: Span, moved_parent: Span, parents_offset: int) -> int:
    if span.resource == parent.resource:
        return parents_offset
    return _into(span, moved_parent) - span.start_ns if _differs(span, moved_parent) else 0


def _into(span: Span, parent: Span) -> int:
    """Return the start of a span in the middle of its parent; at the beginning where either still goes on, or the span
    takes longer."""
    rest = (parent.end_ns - parent.start_ns) - (span.end_ns - span.start_ns)
    return parent.start_ns + (rest // 2 if span.end_ns and parent.end_ns and rest > 0 else 0)


def _shifted(span: Span, offset: int) -> Span:
    """Return a span as another clock would have timed it. A time that nobody gave stays so."""
    events = [msgspec.structs.replace(event, at_ns=_shifted_time(event.at_ns, offset)) for event in span.events]
    start_ns, end_ns = _shifted_time(span.start_ns, offset), _shifted_time(span.end_ns, offset)
    return msgspec.structs.replace(span, start_ns=start_ns, end_ns=end_ns, events=events)


def _shifted_time(moment: int, offset: int) -> int:
    return timestamp_ns(max(moment + offset, 1)) if moment else 0


def _parents_first(spans: Mapping[str, Span]) -> list[Span]:
    """Return all spans, each after its parent. Those whose parents form a cycle are left out."""
    below: dict[str, list[Span]] = {}
    for span in spans.values():
        below.setdefault(span.parent if span.parent in spans else "", []).append(span)
    ordered = below.get("", [])
    for span in ordered:  # grows while it is read
        if span.id:
            ordered.extend(below.get(span.id, ()))
    return ordered

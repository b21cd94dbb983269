"""Which traces belong together: model calls that are each a trace of their own, of one conversation."""

from __future__ import annotations

from collections.abc import Sequence

from agents.base.store.sql import Insert
from agents.telemetry.models.traces import Trace, TraceLink
from agents.telemetry.reading.conversation_links import Links
from agents.telemetry.store.external.owners import Owner, mark

MOST = 200
"""Traces that are looked at together: the newest of a conversation."""
MARKS = 500
"""Links of a trace that are remembered."""
_ADD = Insert(TraceLink, "mark trace_id gave", once=True)


def columns(links: Links) -> tuple[str, str, bool]:
    """By what a trace is found: its ``conversation``, its ``service``, whether it is ``bare``."""
    return links.session[:500] if links.is_bare else "", links.service[:300], links.is_bare


def remember(owner: Owner, trace: int, links: Links) -> None:
    """Keep what a trace is linked by, within the caller's transaction."""
    if not links.is_bare or links.session:
        return
    for texts, gave in ((links.gave, True), (links.got, False)):
        some = sorted(texts)[:MARKS]
        _ADD.many((mark(owner, links.service, text), trace, gave) for text in some)


def related(owner: Owner, trace: int, links: Links) -> list[int]:
    """The other traces of the same conversation, the oldest first."""
    if not links.is_bare:
        return []
    if links.session:
        rows = Trace.objects.unscoped("projection").filter(
            **owner.where(), is_bare=True, conversation=links.session[:500]
        )
        found = set(rows.exclude(pk=trace).order_by("-id").values_list("pk", flat=True)[:MOST])
    else:
        found = _linked(owner, trace, links)
    return sorted(found)


def _linked(owner: Owner, trace: int, links: Links) -> set[int]:
    """Those that gave what this one holds, or hold what it gave; and those that are linked with them."""
    found: set[int] = set()
    gave = {mark(owner, links.service, text) for text in links.gave}
    got = {mark(owner, links.service, text) for text in links.got}
    while True:
        more = _with(got, True) | _with(gave, False)
        fresh = more - found - {trace}
        if not fresh or len(found) >= MOST:
            return found
        found |= set(sorted(fresh)[-MOST:])
        rows = list(TraceLink.objects.filter(trace_id__in=fresh).values_list("mark", "gave"))
        gave = {number for number, given in rows if given}
        got = {number for number, given in rows if not given}


def _with(marks: set[int], gave: bool) -> set[int]:
    rows = TraceLink.objects.filter(mark__in=list(marks)[: 2 * MARKS], gave=gave)
    return set(rows.values_list("trace_id", flat=True)[:MOST])


def names(traces: Sequence[int]) -> list[str]:
    """What their senders call these traces."""
    if not traces:
        return []
    return list(Trace.objects.unscoped("projection").filter(pk__in=traces).values_list("foreign_id", flat=True))

"""Finds the traces of one conversation, where each model call is a trace of its own."""

from __future__ import annotations

from collections.abc import Sequence

from agents.base.store.sql import Insert
from agents.telemetry.models.traces import Trace, TraceLink
from agents.telemetry.reading.conversation_links import ConversationLinks
from agents.telemetry.store.external.owners import Owner, link_mark

MAX_TRACES = 200
"""Traces that are read together: the newest of a conversation."""
MAX_MARKS = 500
"""Links of a trace that are stored."""
_ADD = Insert(TraceLink, "mark trace_id gave", once=True)


def link_columns(links: ConversationLinks) -> tuple[str, str, bool]:
    """The columns by which a trace is found: its ``conversation``, its ``service``, whether it is ``bare``."""
    return links.session[:500] if links.is_bare else "", links.service[:300], links.is_bare


def store_links(owner: Owner, trace: int, links: ConversationLinks) -> None:
    """Store the links of a trace, within the caller's transaction."""
    if not links.is_bare or links.session:
        return
    for texts, gave in ((links.output_marks, True), (links.input_marks, False)):
        values = sorted(texts)[:MAX_MARKS]
        _ADD.execute_many((link_mark(owner, links.service, text), trace, gave) for text in values)


def find_related(owner: Owner, trace: int, links: ConversationLinks) -> list[int]:
    """The other traces of the same conversation, the oldest first."""
    if not links.is_bare:
        return []
    if links.session:
        rows = Trace.objects.unscoped("projection").filter(
            **owner.where(), is_bare=True, conversation=links.session[:500]
        )
        traces = set(rows.exclude(pk=trace).order_by("-id").values_list("pk", flat=True)[:MAX_TRACES])
    else:
        traces = _linked_traces(owner, trace, links)
    return sorted(traces)


def _linked_traces(owner: Owner, trace: int, links: ConversationLinks) -> set[int]:
    """The traces that gave what this one holds, or hold what it gave; and those that are linked with them."""
    related: set[int] = set()
    gave = {link_mark(owner, links.service, text) for text in links.output_marks}
    got = {link_mark(owner, links.service, text) for text in links.input_marks}
    while True:
        more = _traces_with(got, True) | _traces_with(gave, False)
        new_traces = more - related - {trace}
        if not new_traces or len(related) >= MAX_TRACES:
            return related
        related |= set(sorted(new_traces)[-MAX_TRACES:])
        rows = list(TraceLink.objects.filter(trace_id__in=new_traces).values_list("mark", "gave"))
        gave = {number for number, is_source in rows if is_source}
        got = {number for number, is_source in rows if not is_source}


def _traces_with(marks: set[int], gave: bool) -> set[int]:
    rows = TraceLink.objects.filter(mark__in=list(marks)[: 2 * MAX_MARKS], gave=gave)
    return set(rows.values_list("trace_id", flat=True)[:MAX_TRACES])


def external_ids(traces: Sequence[int]) -> list[str]:
    """The senders' ids of these traces."""
    if not traces:
        return []
    return list(Trace.objects.unscoped("projection").filter(pk__in=traces).values_list("foreign_id", flat=True))

"""Finds the traces that are read together: those of one conversation, where each model call is a trace of its own, and
those that report one and the same call."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from agents.base.store.cursors import direct_cursor
from agents.base.store.sql import Insert
from agents.telemetry.models.traces import SharedMark, Trace, TraceLink
from agents.telemetry.reading.conversation_links import ConversationLinks
from agents.telemetry.store.external.owners import Owner, link_mark

MAX_TRACES = 200
"""Traces that are read together: the newest of a conversation."""
MAX_MARKS = 500
"""Links of a trace that are stored."""
MAX_REPORTS = 8
"""Traces that may report one call."""
MARKS_AT_ONCE = 100
"""Marks of one statement."""
_ADD_SHARED = Insert(SharedMark, "mark trace_id", once=True)
_REPORTS = "SELECT mark, trace_id FROM (SELECT mark, trace_id FROM agents_sharedmark WHERE mark = %s LIMIT %s) reports"
_ADD = Insert(TraceLink, "mark trace_id gave", once=True)


def link_columns(links: ConversationLinks) -> tuple[str, str, bool]:
    """The columns by which a trace is found: its ``conversation``, its ``service``, whether it is ``bare``."""
    return links.session[:500] if links.is_bare else "", links.service[:300], links.is_bare


def store_links(owner: Owner, trace: int, links: ConversationLinks) -> None:
    """Store the links of a trace, within the caller's transaction."""
    _ADD_SHARED.execute_many((mark, trace) for mark in _report_marks(owner, links.reports))
    if not links.is_bare or links.session:
        return
    for texts, gave in ((links.output_marks, True), (links.input_marks, False)):
        values = sorted(texts)[:MAX_MARKS]
        _ADD.execute_many((link_mark(owner, links.service, text), trace, gave) for text in values)


def _report_marks(owner: Owner, reports: Iterable[str]) -> list[int]:
    return [link_mark(owner, "a report", text) for text in sorted(reports)[:MAX_MARKS]]


def find_related(owner: Owner, trace: int, links: ConversationLinks) -> list[int]:
    """The other traces that are to be read together with this one, the oldest first: those of the same conversation, if
    it is bare; those that report a call that it reports, too; and what belongs to these in the same two ways."""
    related: set[int] = set()
    new = _of_conversation(owner, links) | _with_marks(_report_marks(owner, links.reports))
    while (new := new - related - {trace}) and len(related) < MAX_TRACES:
        related |= new
        new = _conversations_of(owner, new) | _with_marks(_marks_of(new))
    return sorted(sorted(related)[-MAX_TRACES:])


def _of_conversation(owner: Owner, links: ConversationLinks) -> set[int]:
    if not links.is_bare:
        return set()
    return _in_sessions(owner, {links.session}) if links.session else _linked_traces(owner, links)


def _conversations_of(owner: Owner, traces: set[int]) -> set[int]:
    """The traces of the conversations that these traces belong to."""
    rows = Trace.objects.unscoped("projection").filter(pk__in=traces, is_bare=True)
    sessions = {session for (session,) in rows.exclude(conversation="").values_list("conversation")}
    return (_in_sessions(owner, sessions) if sessions else set()) | _linked_with(traces)


def _in_sessions(owner: Owner, sessions: set[str]) -> set[int]:
    rows = Trace.objects.unscoped("projection").filter(
        **owner.where(), is_bare=True, conversation__in={session[:500] for session in sessions}
    )
    return set(rows.order_by("-id").values_list("pk", flat=True)[:MAX_TRACES])


def _marks_of(traces: set[int]) -> list[int]:
    return list(SharedMark.objects.filter(trace_id__in=traces).values_list("mark", flat=True)[:MAX_MARKS])


def _with_marks(marks: Sequence[int]) -> set[int]:
    """The traces with one of these marks, except for marks that are common: a fake model gives all its answers one
    id."""
    rows: list[tuple[int, int]] = []
    for start in range(0, len(marks), MARKS_AT_ONCE):
        chunk = marks[start : start + MARKS_AT_ONCE]
        with direct_cursor() as cursor:
            cursor.execute(
                " UNION ALL ".join([_REPORTS] * len(chunk)),
                [value for mark in chunk for value in (mark, MAX_REPORTS + 1)],
            )
            rows += cursor.fetchall()
    count = Counter(mark for mark, _ in rows)
    return {trace for mark, trace in rows if count[mark] <= MAX_REPORTS}


def _linked_traces(owner: Owner, links: ConversationLinks) -> set[int]:
    """The traces that gave what this one holds, or hold what it gave."""
    gave = {link_mark(owner, links.service, text) for text in links.output_marks}
    got = {link_mark(owner, links.service, text) for text in links.input_marks}
    return _traces_with(got, True) | _traces_with(gave, False)


def _linked_with(traces: set[int]) -> set[int]:
    """The traces that are linked with these in the same way."""
    rows = list(TraceLink.objects.filter(trace_id__in=traces).values_list("mark", "gave"))
    gave = {number for number, is_source in rows if is_source}
    got = {number for number, is_source in rows if not is_source}
    return _traces_with(got, True) | _traces_with(gave, False)


def _traces_with(marks: set[int], gave: bool) -> set[int]:
    if not marks:
        return set()
    rows = TraceLink.objects.filter(mark__in=list(marks)[: 2 * MAX_MARKS], gave=gave)
    return set(rows.values_list("trace_id", flat=True)[:MAX_TRACES])


def external_ids(traces: Sequence[int]) -> list[str]:
    """The senders' ids of these traces."""
    if not traces:
        return []
    return list(Trace.objects.unscoped("projection").filter(pk__in=traces).values_list("foreign_id", flat=True))

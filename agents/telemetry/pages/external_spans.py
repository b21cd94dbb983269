"""The spans of an external turn as they came: a list in its raw view, a page for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _

from agents.logs.pages import turn_summary
from agents.logs.store import turn_log
from agents.pages.raw_view import PAGE_SIZE, RawLine
from agents.record.schemas.turns import TurnSnapshot
from agents.record.store import read_turns, turns
from agents.telemetry.reading.spans import Span, SpanLink
from agents.telemetry.store.external import provenance
from agents.uikit import format, json_tree, json_view
from agents.uikit.access import PageRequest, page
from agents.uikit.http_responses import plain_response
from agents.uikit.json_tree import TreeBranch


def raw_lines(turn: TurnSnapshot, first: int) -> tuple[list[RawLine], int]:
    """The spans of a turn's traces from the number ``first`` on, for the raw view; and how many there are."""
    spans, count = provenance.spans_page(turn.key, first, PAGE_SIZE)
    return [_line(turn, number, span) for number, span in enumerate(spans, first)], count


def _line(turn: TurnSnapshot, number: int, span: Span) -> RawLine:
    body = json_view.render_value(_json(span))
    started_ns = span.start_ns or min((event.at_ns for event in span.events if event.at_ns), default=0)
    since = (started_ns // 1000 - turn.started_at) / 1000
    offset = format.duration(since) if started_ns and since >= 0 else ""
    kind = " ".join(filter(None, (_("log record"), _severity(span)))) if span.is_log else _("span")
    return RawLine(str(number + 1), kind, offset, _name(span)[:200], body.html, body.cut)


def _name(span: Span) -> str:
    """The name of a span, or those of the events of a log record."""
    return span.name or ", ".join(dict.fromkeys(event.name for event in span.events if event.name))


def _severity(span: Span) -> str:
    return ", ".join(dict.fromkeys(event.severity for event in span.events if event.severity))


def _json(reported: Span | Sequence[Span]) -> str:
    return msgspec.json.encode(reported).decode()


@page("read")
def turn_spans(request: PageRequest, turn_id: str) -> HttpResponse:
    """Send all spans of a turn, one JSON object a line."""
    turn = read_turns.head(request.actor, turns.key_of(turn_id))
    return plain_response("".join(f"{_json(span)}\n" for span in provenance.spans(turn.key)), "application/x-ndjson")


@page("read")
def span_page(request: PageRequest, turn_id: str, span_id: str) -> HttpResponse:
    """Render a span as it came, as a tree; with ``?as=text`` as text, with ``?as=json`` as plain JSON."""
    turn = read_turns.head(request.actor, turns.key_of(turn_id))
    reports = provenance.reports_of_span(turn.key, span_id)
    body = _json(reports[0] if len(reports) == 1 else reports).encode()
    params = {name: request.GET.get(name, "") for name in ("as", "path", "first", "only")}
    if params["as"] == "json":
        return plain_response(body, "application/json")
    branch = None if params["as"] == "text" else _branch(body, params)
    if branch is not None and params["only"] == "value":
        return plain_response(json_tree.value_at(body, json_tree.read_path(params["path"]) or ()) or b"")
    context: dict[str, Any] = {"branch": branch, "url": {"read": "?as=tree"}}
    if branch is not None and params["only"] == "part":
        return render(request, "pages/_value_tree.html", context)
    return render(request, "telemetry/span.html", {**context, **_context(request, turn, reports, body)})


def _branch(body: bytes, params: Mapping[str, str]) -> TreeBranch | None:
    path, first = json_tree.read_path(params["path"]), params["first"]
    start = int(first) if first.isdecimal() and len(first) < 10 else 0
    return json_tree.branch(body, path, start) if path is not None else None


def _attributes(body: bytes) -> TreeBranch | None:
    """The attributes of a span as an open tree; None for one that was reported more than once."""
    root = json_tree.branch(body, ())
    position = [member.name for member in root.members].index("attributes") if root and _has_attributes(root) else -1
    return json_tree.branch(body, (position,)) if position >= 0 else None


def _has_attributes(root: TreeBranch) -> bool:
    return any(member.name == "attributes" for member in root.members)


def _context(request: PageRequest, turn: TurnSnapshot, reports: Sequence[Span], body: bytes) -> dict[str, Any]:
    span = max(reports, key=lambda report: (not report.is_log, report.end_ns))
    rows = turn_log.turn_rows(request.actor, [turn.key])
    number = provenance.step_number(turn.key, span.id)
    return {
        "turn_url": turn_summary.turn_url(turn),
        "title": " ".join(rows[0].input_preview.split())[:80] if rows else "",
        "name": _name(span),
        "facts": _span_facts(turn, span),
        "reports": len(reports),
        "size": json_view.byte_size(len(body)),
        "text": json_view.render_value(body.decode()),
        "attributes": _attributes(body),
        "step_url": turn_summary.step_url(turn, number) if number is not None else "",
    }


def _span_facts(turn: TurnSnapshot, span: Span) -> list[tuple[str, str]]:
    """The facts that identify a span and its sender, as (label, text)."""
    facts = (
        (_("span"), span.id),
        (_("trace"), span.trace),
        (_("inside of"), span.parent),
        (_("reported by"), f"{span.scope} {span.scope_version}".strip()),
        (_("took"), format.duration((span.end_ns - span.start_ns) / 1e6) if span.end_ns > span.start_ns > 0 else ""),
        (_("lost attributes"), str(span.dropped) if span.dropped else ""),
        (_("severity"), _severity(span)),
        (_("linked to"), ", ".join(_link_label(span, link) for link in span.links)),
    )
    return [(name, text[:300]) for name, text in facts if text]


def _link_label(span: Span, link: SpanLink) -> str:
    """The id of another span, with that of its trace where it is another one."""
    return link.span if link.trace == span.trace else f"{link.span} ({link.trace})"

"""Pages of traces without turns: a list of them, and the spans of each as they came."""

from __future__ import annotations

import msgspec
from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import render

from agents.telemetry.store.external import unmatched
from agents.uikit.access import PageRequest, page
from agents.uikit.http_responses import plain_response


@page("read")
def unmatched_list(request: PageRequest) -> HttpResponse:
    """Render the newest traces without turns, and why they have none."""
    traces = unmatched.listing(request.actor)
    context = {"traces": traces, "most": unmatched.MAX_LISTED, "days": settings.UNMATCHED_DAYS}
    return render(request, "telemetry/unmatched.html", context)


@page("read")
def unmatched_spans(request: PageRequest, trace_id: str) -> HttpResponse:
    """Send all spans of such a trace, one JSON object a line."""
    spans = unmatched.spans(request.actor, trace_id)
    return plain_response("".join(f"{msgspec.json.encode(span).decode()}\n" for span in spans), "application/x-ndjson")

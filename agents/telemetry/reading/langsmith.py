"""Decoder of LangSmith's own protocol (``langsmith`` 0.14): runs of LangChain and LangGraph, as multipart or JSON.

Calls: ``POST /runs/multipart`` (`from_multipart`), ``POST /runs/batch`` (`from_batch`), ``POST /runs`` and
``PATCH /runs/{id}`` (`from_run`). A run comes as a post when it begins and a patch when it ends: two `Span` of one id,
which `merging.merge` unites. Format "langsmith"; attributes are the run's own fields, but for ids, times, name and
those that became ``events`` and ``message`` (its ``error``):

``run_type`` (chain, llm, tool, retriever, embedding, prompt, parser), ``inputs``, ``outputs``, ``extra`` (with
``metadata``), ``serialized``, ``tags``, ``dotted_order``, ``session_name``, ``attachments``
(``{name: {"mime_type", "base64"}}``), …

Trap: ``session_name`` and ``session_id`` name the *project*; the conversation is in ``extra.metadata`` as
``session_id``, ``thread_id`` or ``conversation_id``.
"""

from __future__ import annotations

import base64
from typing import Any

from agents.telemetry.reading import multipart
from agents.telemetry.reading.decoding import (
    Decoded,
    FormatError,
    as_object,
    identifier,
    list_field,
    raises_invalid_request,
    read_at,
    rejection_summary,
    text_field,
)
from agents.telemetry.reading.json_text import parse_json
from agents.telemetry.reading.sanitize import clean_attributes, dicts
from agents.telemetry.reading.spans import Span, SpanEvent
from agents.telemetry.reading.timestamps import nanoseconds

Run = dict[str, object]

_SEPARATE_FIELDS = frozenset({"id", "trace_id", "parent_run_id", "start_time", "end_time", "name", "events", "error"})
_REJECTION_REASON = "it has no id."


@raises_invalid_request
def from_run(body: object, run: str = "") -> Decoded:
    """Decode one run; ``run`` is the id in the address it was sent to."""
    run_fields = as_object(body)
    return _result([{**run_fields, "id": run} if run else run_fields], 0)


@raises_invalid_request
def from_batch(body: object) -> Decoded:
    """Decode ``{"post": [run, …], "patch": [run, …]}``."""
    request = as_object(body)
    runs = [run for name in ("post", "patch") for run in _runs(request, name)]
    if request and not runs and not request.keys() & {"post", "patch"}:
        raise FormatError('the body is {"post": [ … ], "patch": [ … ]}.', "post")
    return _result(runs, 0)


def _runs(request: dict[str, object], name: str) -> list[Run]:
    return [read_at(f"{name}[{index}]", as_object, run) for index, run in enumerate(list_field(request, name))]


@raises_invalid_request
def from_multipart(body: bytes, content_type: str) -> Decoded:
    """Decode the parts ``post.<run>``, ``patch.<run>``, ``post.<run>.<field>`` and ``attachment.<run>.<name>``;
    feedback and all other parts are ignored."""
    runs: dict[tuple[str, str], Run] = {}
    attachments: list[multipart.MultipartPart] = []
    ignored = 0
    for part in multipart.read_parts(body, content_type):
        action, _, path = part.name.partition(".")
        if action in ("post", "patch"):
            _add_part(runs, action, path, part)
        elif action == "attachment":
            attachments.append(part)
        else:
            ignored += 1
    for part in attachments:
        _attach(runs, part)
    return _result(list(runs.values()), ignored)


def _add_part(runs: dict[tuple[str, str], Run], action: str, path: str, part: multipart.MultipartPart) -> None:
    run, _, name = path.partition(".")
    value = read_at(part.name[:200], parse_json, part.content)
    run_fields = runs.setdefault((action, run), {"id": run})
    if name:
        run_fields[name] = value
    else:
        run_fields.update(read_at(part.name[:200], as_object, value), id=run)


def _attach(runs: dict[tuple[str, str], Run], part: multipart.MultipartPart) -> None:
    run, _, name = part.name.partition(".")[2].partition(".")
    run_fields = runs.get(("post", run)) or runs.setdefault(("patch", run), {"id": run})
    files = run_fields.setdefault("attachments", {})
    if isinstance(files, dict):
        kind = part.content_type.partition(";")[0].strip()
        files[name] = {"mime_type": kind, "base64": base64.b64encode(part.content).decode()}


def _result(runs: list[Run], ignored: int) -> Decoded:
    spans = [span for span in map(_span, runs) if span.id and span.trace]
    rejected = len(runs) - len(spans)
    if rejected and not spans:
        raise FormatError("no run has an id.", "id")
    return Decoded(spans, rejected, rejection_summary(rejected, "run", _REJECTION_REASON), ignored)


def _span(run: Run) -> Span:
    error = text_field(run, "error")
    return Span(
        trace=_trace(run),
        id=identifier(run.get("id")),
        parent=identifier(run.get("parent_run_id")),
        name=text_field(run, "name"),
        start_ns=nanoseconds(run.get("start_time")),
        end_ns=nanoseconds(run.get("end_time")),
        failed=bool(run.get("error")),
        message=error,
        attributes=clean_attributes(
            {name: value for name, value in run.items() if name not in _SEPARATE_FIELDS and value is not None}
        ),
        events=_events(run.get("events")),
        format="langsmith",
    )


def _trace(run: Run) -> str:
    """Return the run at the top, with which a dotted order begins: ``<time>Z<run>.<time>Z<run>…``."""
    top = text_field(run, "dotted_order").partition(".")[0].partition("Z")[2]
    return identifier(run.get("trace_id")) or identifier(top) or identifier(run.get("id"))


def _events(value: object) -> list[SpanEvent]:
    """``[{"name": "new_token", "time": …, "kwargs": {…}}, …]``"""
    return [_event(event) for event in dicts(value)]


def _event(event: dict[str, Any]) -> SpanEvent:
    details = {name: value for name, value in event.items() if name not in ("name", "time")}
    return SpanEvent(
        name=text_field(event, "name"), at_ns=nanoseconds(event.get("time")), attributes=clean_attributes(details)
    )

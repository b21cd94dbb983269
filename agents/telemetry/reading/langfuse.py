"""Decoder of traces and observations as Langfuse's API and its exports write them (read in its documentation, not run).

``GET /api/public/traces/{id}`` is a trace with its ``observations``; lists are ``{"data": [ … ], "meta": { … }}``, of
traces or of observations; exports have one a line, or a list. Attributes get the names that Langfuse's own SDK sends
(`agents.telemetry.reading.dialects.langfuse`): ``langfuse.observation.type``, ``langfuse.session.id``, …; format
"langfuse".

What a trace says (session, user, tags, metadata) goes to its topmost observation. Where none is the whole turn, because
there are several, or it is a single call, or the list of traces has none, the trace itself becomes a span above them.
"""

from __future__ import annotations

from typing import Any

from agents.telemetry.reading.coerce import finite_number, text_or_json
from agents.telemetry.reading.decoding import (
    MAX_ID_CHARS,
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
from agents.telemetry.reading.sanitize import clean_attributes, clean_json
from agents.telemetry.reading.spans import Span
from agents.telemetry.reading.timestamps import nanoseconds

_TYPES = frozenset(
    ("SPAN", "GENERATION", "EVENT", "AGENT", "TOOL", "CHAIN", "RETRIEVER", "EVALUATOR", "EMBEDDING", "GUARDRAIL")
)
_TURN_TYPES = frozenset({"agent", "chain", "span"})
_OF_OTEL = frozenset({"attributes", "resourceAttributes", "scope"})
"""Keys of metadata that Langfuse writes there itself, for what came over OpenTelemetry."""
_MAX_LATENCY_S = 10**7
_OBSERVATION, _TRACE = "langfuse.observation.", "langfuse.trace."
_REJECTION_REASON = "it has no id, or no traceId."

JsonObject = dict[str, Any]


@raises_invalid_request
def from_json(body: object) -> Decoded:
    """Decode traces with their observations, or observations alone."""
    spans: list[Span] = []
    rejected = 0
    for index, item in enumerate(_items(body)):
        valid, invalid = read_at(f"data[{index}]", _spans, item)
        spans += valid
        rejected += invalid
    if rejected and not spans:
        raise FormatError("nothing in it has the id of a trace and of an observation.", "data")
    return Decoded(spans, rejected, rejection_summary(rejected, "observation", _REJECTION_REASON))


def is_langfuse(value: JsonObject) -> bool:
    """Tell whether this is a trace or an observation of Langfuse's."""
    return _is_observation(value) or _is_trace(value)


def _is_observation(value: JsonObject) -> bool:
    type_ = value.get("type")
    return "traceId" in value and "startTime" in value and isinstance(type_, str) and type_.upper() in _TYPES


def _is_trace(value: JsonObject) -> bool:
    return value.keys() >= {"id", "timestamp"} and bool(value.keys() & {"observations", "htmlPath", "projectId"})


def _items(body: object) -> list[object]:
    if isinstance(body, list):
        return body
    holder = as_object(body)
    return list_field(holder, "data") if "data" in holder and not is_langfuse(holder) else [body]


def _spans(value: object) -> tuple[list[Span], int]:
    """Return the spans of a trace or an observation, and the number of those without ids."""
    item = as_object(value)
    if "traceId" in item:
        return _with_ids([_observation(item)])
    if not _is_trace(item):
        raise FormatError("this is neither a trace nor an observation of Langfuse.")
    observations = enumerate(list_field(item, "observations"))
    inner = [(f"observations[{index}]", observation) for index, observation in observations]
    of_trace = {"traceId": item.get("id")}
    spans = [
        _observation({**of_trace, **read_at(path, as_object, observation)})
        for path, observation in inner
        if not isinstance(observation, str)  # a list of traces has the ids alone
    ]
    valid, invalid = _with_ids(spans)
    return (_with_trace(item, valid), invalid) if identifier(item.get("id")) else ([], invalid + 1)


def _with_ids(spans: list[Span]) -> tuple[list[Span], int]:
    valid = [span for span in spans if span.id and span.trace]
    return valid, len(spans) - len(valid)


def _with_trace(item: JsonObject, spans: list[Span]) -> list[Span]:
    """Add what the trace says to its only top, or to a span of its own above all tops."""
    ids = {span.id for span in spans}
    tops = [span for span in spans if span.parent not in ids]
    if len(tops) == 1 and tops[0].attributes[f"{_OBSERVATION}type"] in _TURN_TYPES:
        [top] = tops
        top.attributes = {**_trace_attributes(item), **_content(item), **top.attributes}
        return spans
    trace = _trace_span(item, spans)
    for span in tops:
        span.parent = trace.id
    return [trace, *spans]


def _trace_span(item: JsonObject, spans: list[Span]) -> Span:
    id = identifier(item.get("id"))
    start_ns = nanoseconds(item.get("timestamp")) or min((span.start_ns for span in spans), default=0)
    latency = finite_number(item.get("latency")) or 0.0
    own_end_ns = start_ns + int(min(max(latency, 0.0), _MAX_LATENCY_S) * 1e9)
    return Span(
        trace=id,
        id=f"t-{id}"[:MAX_ID_CHARS],
        name=text_field(item, "name"),
        start_ns=start_ns,
        end_ns=min(max([own_end_ns, *(span.end_ns for span in spans)]), 2**63 - 1),
        attributes={f"{_OBSERVATION}type": "agent", **_trace_attributes(item), **_content(item)},
        format="langfuse",
    )


def _observation(item: JsonObject) -> Span:
    failed = item.get("level") == "ERROR"
    start_ns = nanoseconds(item.get("startTime"))
    is_event = item.get("type") == "EVENT"  # which has no end: it is a moment
    return Span(
        trace=identifier(item.get("traceId")),
        id=identifier(item.get("id")),
        parent=identifier(item.get("parentObservationId")),
        name=text_field(item, "name"),
        start_ns=start_ns,
        end_ns=nanoseconds(item.get("endTime")) or (start_ns if is_event else 0),
        failed=failed,
        message=text_field(item, "statusMessage"),
        attributes=_observation_attributes(item),
        format="langfuse",
    )


def _observation_attributes(item: JsonObject) -> JsonObject:
    usage = item.get("usageDetails") or item.get("usage")
    attributes = {
        "type": (text_field(item, "type") or "SPAN").lower(),
        "level": item.get("level"),
        "status_message": item.get("statusMessage"),
        "model.name": item.get("model") or item.get("providedModelName"),
        "model.parameters": item.get("modelParameters"),
        "usage_details": usage or _older_usage(item),
        "cost_details": item.get("costDetails") or _older_cost(item),
        "completion_start_time": item.get("completionStartTime"),
        "metadata": item.get("metadata"),
        "prompt.name": item.get("promptName"),
        "prompt.version": item.get("promptVersion"),
    }
    own = {f"{_OBSERVATION}{name}": value for name, value in attributes.items() if value not in (None, "", {})}
    return {**_ownership(item), **clean_attributes(own), **_content(item)}


def _older_usage(item: JsonObject) -> JsonObject:
    numbers = {"input": item.get("promptTokens"), "output": item.get("completionTokens")}
    return {name: number for name, number in numbers.items() if number}


def _older_cost(item: JsonObject) -> JsonObject:
    total = item.get("calculatedTotalCost") or item.get("totalCost")
    return {"total": total} if total else {}


def _content(item: JsonObject) -> JsonObject:
    """Return input and output as the SDK sends them: as text, which is JSON unless it was text before."""
    texts = {name: text_or_json(clean_json(item.get(name))) for name in ("input", "output")}
    return {f"{_OBSERVATION}{name}": text for name, text in texts.items() if text}


def _trace_attributes(item: JsonObject) -> JsonObject:
    metadata = item.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    named = {f"{_TRACE}metadata.{name}": value for name, value in metadata.items() if name not in _OF_OTEL}
    tags = item.get("tags")
    named[f"{_TRACE}name"] = item.get("name")
    named[f"{_TRACE}tags"] = tags if isinstance(tags, list) and tags else None
    present = {name: value for name, value in named.items() if value is not None}
    return {**_ownership(item), **clean_attributes(present)}


def _ownership(item: JsonObject) -> JsonObject:
    """Return what traces say and, in newer lists, observations, too."""
    names = {"session.id": "sessionId", "user.id": "userId", "environment": "environment", "release": "release"}
    return {f"langfuse.{name}": text for name, field in names.items() if (text := text_field(item, field))}

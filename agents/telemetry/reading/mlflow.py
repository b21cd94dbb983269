"""MLflow's traces as ``Trace.to_json()`` writes them (3.x, and the older form of 2.x).

``{"info": {"trace_metadata", "tags", …}, "data": {"spans": [ … ]}}``, one, a list of them, or ``{"traces": [ … ]}``.
Ids are base64 (2.x: hex behind ``0x``) and become OpenTelemetry's hex, so that a trace which also came over OTLP is
the same one. Spans have the format "mlflow"; attributes are the span's own: ``mlflow.spanType``,
``mlflow.spanInputs``, …, all JSON inside text. Those at the top get ``trace_metadata`` too (``mlflow.trace.session``,
``mlflow.trace.user``, …); ``tags`` (``service.name``, …) are the resource of all.
"""

from __future__ import annotations

from typing import Any

from agents.telemetry.reading import otlp_ids
from agents.telemetry.reading.decoding import Decoded, Misshapen, fields, inside, objects, refusals, summary, told
from agents.telemetry.reading.sanitize import attributes, dicts
from agents.telemetry.reading.spans import Span, SpanEvent, SpanLink
from agents.telemetry.reading.timestamps import nanoseconds

_FAILED = ("ERROR", "STATUS_CODE_ERROR")
_WHY = "its trace id or span id is missing or is not MLflow's."


@refusals
def from_json(body: object) -> Decoded:
    """All spans of one trace or of several."""
    spans: list[Span] = []
    rejected = 0
    for index, trace in enumerate(_traces(body)):
        made = inside(f"[{index}]", _spans, trace)
        good = [span for span in made if span.trace and span.id]
        spans += good
        rejected += len(made) - len(good)
    return Decoded(spans, rejected, summary(rejected, "span", _WHY))


def _traces(body: object) -> list[object]:
    if isinstance(body, list):
        return body
    holder = fields(body)
    return objects(holder, "traces") if "traces" in holder and "data" not in holder else [body]


def _spans(value: object) -> list[Span]:
    trace = fields(value)
    if "data" not in trace:
        raise Misshapen('a trace of MLflow is {"info": { … }, "data": {"spans": [ … ]}}.', "data")
    info = inside("info", fields, trace.get("info") or {})
    data = inside("data", fields, trace["data"])
    about = attributes(info.get("trace_metadata") or info.get("request_metadata"))
    resource = attributes(info.get("tags"))
    items = enumerate(objects(data, "spans"))
    return [_span(inside(f"data.spans[{index}]", fields, item), about, resource) for index, item in items]


def _span(item: dict[str, object], about: dict[str, Any], resource: dict[str, Any]) -> Span:
    context = attributes(item.get("context")) or item
    status = item.get("status")
    status = (
        status if isinstance(status, dict) else {"code": item.get("status_code"), "message": item.get("status_message")}
    )
    parent = _id(item.get("parent_span_id") or item.get("parent_id"), otlp_ids.SPAN)
    own = attributes(item.get("attributes"))
    return Span(
        trace=_id(context.get("trace_id"), otlp_ids.TRACE),
        id=_id(context.get("span_id"), otlp_ids.SPAN),
        parent=parent,
        name=told(item, "name"),
        start_ns=nanoseconds(item.get("start_time_unix_nano") or item.get("start_time")),
        end_ns=nanoseconds(item.get("end_time_unix_nano") or item.get("end_time")),
        failed=status.get("code") in _FAILED,
        message=told(status, "message"),
        attributes=own if parent else {**about, **own},
        events=_events(item.get("events")),
        resource=resource,
        format="mlflow",
        links=_links(item.get("links")),
    )


def _id(value: object, length: int) -> str:
    return otlp_ids.of_text(value.removeprefix("0x") if isinstance(value, str) else value, length)


def _events(value: object) -> list[SpanEvent]:
    return [_event(event) for event in dicts(value)]


def _event(event: dict[str, Any]) -> SpanEvent:
    at = nanoseconds(event.get("time_unix_nano") or event.get("timestamp"))
    return SpanEvent(name=told(event, "name"), at_ns=at, attributes=attributes(event.get("attributes")))


def _links(value: object) -> list[SpanLink]:
    found = [
        SpanLink(
            _id(link.get("trace_id"), otlp_ids.TRACE),
            _id(link.get("span_id"), otlp_ids.SPAN),
            attributes(link.get("attributes")),
        )
        for link in dicts(value)
    ]
    return [link for link in found if link.trace and link.span]

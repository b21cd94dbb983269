"""MLflow's trace files as spans."""

from __future__ import annotations

from typing import Any

import pytest

from agents.base.errors import InvalidRequest
from agents.telemetry.reading import mlflow
from agents.telemetry.reading.spans import SpanEvent
from tests.telemetry.reading import captures


def test_it_reads_the_capture() -> None:
    spans = captures.spans("mlflow__export")
    roots = [span for span in spans if not span.parent]
    assert len(spans) == 8
    assert [root.trace for root in roots] == ["d72e73e7f2ff7281b826851cf1f6b82f", "d762034f129c269e4b178f5aeb101404"]
    assert {root.attributes["mlflow.trace.session"] for root in roots} == {"conv-paris-rome"}
    assert {span.resource["service.name"] for span in spans} == {"weather-app"}
    assert all(span.start_ns and span.end_ns > span.start_ns and len(span.id) == 16 for span in spans)
    assert roots[0].attributes["mlflow.spanType"] == '"AGENT"'


def test_it_reads_the_older_form() -> None:
    span = {
        "name": "chat",
        "context": {"trace_id": "0x0af7651916cd43dd8448eb211c80319c", "span_id": "0xb7ad6b7169203331"},
        "parent_id": None,
        "start_time": 1_795_000_000_000_000_000,
        "end_time": 1_795_000_001_000_000_000,
        "status_code": "ERROR",
        "status_message": "no",
        "attributes": {"mlflow.spanType": '"LLM"'},
        "events": [{"name": "exception", "timestamp": 1_795_000_000_500_000, "attributes": {"exception.type": "E"}}],
    }
    info = {"request_id": "1", "request_metadata": {"mlflow.trace.session": "s"}, "tags": {"tenant": "acme"}}
    (decoded,) = mlflow.from_json({"traces": [{"info": info, "data": {"spans": [span]}}]}).spans
    assert (decoded.trace, decoded.id) == ("0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331")
    assert (decoded.failed, decoded.message) == (True, "no")
    assert decoded.attributes == {"mlflow.spanType": '"LLM"', "mlflow.trace.session": "s"}
    assert decoded.events == [SpanEvent("exception", 1_795_000_000_500_000_000, {"exception.type": "E"})]
    assert decoded.resource == {"tenant": "acme"}


def test_it_rejects_a_span_without_ids() -> None:
    decoded = mlflow.from_json({"info": {}, "data": {"spans": [{"name": "x"}]}})
    assert (decoded.spans, decoded.rejected) == ([], 1)


@pytest.mark.parametrize(
    ("body", "param"),
    [("x", None), ({}, "[0].data"), ([{"data": 5}], "[0].data"), ({"data": {"spans": [5]}}, "[0].data.spans[0]")],
)
def test_it_refuses_what_is_no_trace(body: Any, param: str | None) -> None:
    with pytest.raises(InvalidRequest) as refused:
        mlflow.from_json(body)
    assert refused.value.param == param

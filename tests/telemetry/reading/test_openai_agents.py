"""The Agents SDK's own tracing as spans."""

from __future__ import annotations

from typing import Any

import pytest

from agents.base.errors import InvalidRequest
from agents.telemetry.reading import openai_agents
from agents.telemetry.reading.spans import Span
from tests.telemetry.reading import captures

TRACE = {"object": "trace", "id": "trace_1", "workflow_name": "Weather", "group_id": "talk", "metadata": None}
SPAN = {
    "object": "trace.span",
    "id": "span_1",
    "trace_id": "trace_1",
    "parent_id": None,
    "started_at": "2026-11-20T09:52:03.068292+00:00",
    "ended_at": "2026-11-20T09:52:04.068292Z",
    "span_data": {"type": "generation", "model": "gpt-4o"},
    "error": {"message": "Error getting response", "data": {"error": "500"}},
}


def test_it_reads_a_trace_and_a_span() -> None:
    decoded = openai_agents.from_json({"data": [TRACE, SPAN]})
    trace, span = decoded.spans
    assert trace == Span(
        trace="trace_1",
        id="trace",
        name="Weather",
        attributes={"object": "trace", "workflow_name": "Weather", "group_id": "talk"},
        format="openai_agents",
    )
    assert (span.trace, span.id, span.parent, span.name) == ("trace_1", "span_1", "trace", "generation")
    assert span.end_ns - span.start_ns == 1_000_000_000
    assert span.start_ns == 1_795_168_323_068_292_000
    assert (span.failed, span.message) == (True, "Error getting response")
    assert span.attributes["span_data"] == {"type": "generation", "model": "gpt-4o"}
    assert (decoded.rejected, decoded.ignored) == (0, 0)


@pytest.mark.parametrize("name", [name for name in captures.names() if name.startswith("openai_agents")])
def test_every_span_of_a_capture_has_its_parent(name: str) -> None:
    spans = captures.spans(name)
    ids = {span.id for span in spans}
    assert len(spans) == sum(len(sent["body"]["data"]) for sent in captures.requests(name))
    assert all(span.parent in ids for span in spans if span.id != "trace")


def test_it_rejects_what_has_no_ids_and_ignores_what_it_does_not_know() -> None:
    decoded = openai_agents.from_json({"data": [TRACE, {**SPAN, "trace_id": 5}, {"object": "trace.summary"}]})
    assert (len(decoded.spans), decoded.rejected, decoded.ignored) == (1, 1, 1)
    assert decoded.problem == "1 span was rejected: it has no id, or no trace_id."


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ([], None),
        ({}, "data"),
        ({"data": {}}, "data"),
        ({"data": ["text"]}, "data[0]"),
        ({"data": [{"object": "trace"}]}, "data"),
    ],
)
def test_it_refuses_what_is_no_request(body: Any, param: str | None) -> None:
    with pytest.raises(InvalidRequest) as refused:
        openai_agents.from_json(body)
    assert refused.value.param == param

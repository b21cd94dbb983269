"""Installs telemetry in the server: logs of external agents come in, and our turns go out as spans."""

from __future__ import annotations

from agents.base.lazy_import import LazyFunction
from agents.base.metrics import measure
from agents.logs.wire.export import TURN_FORMATS, TurnFormat
from agents.loop.background import backgrounds
from agents.openai_agents.extensions import extensions as agents_api
from agents.pages.page_hooks import hooks
from agents.record.store import deletion_hooks
from agents.telemetry.store.external import backlog, trace_deletion


def install() -> None:
    # deleting a turn also deletes its traces, so that it is not projected again
    deletion_hooks.add("telemetry", trace_deletion.delete_traces_of_turns)
    as_spans = LazyFunction("agents.telemetry.wire.otlp_encoding.turn_line")
    agents_api.trace = LazyFunction("agents.telemetry.runner.traces.trace_json")
    TURN_FORMATS["otlp"] = TurnFormat("application/x-ndjson", "otlp.jsonl", as_spans)
    as_trajectory = LazyFunction("agents.telemetry.wire.atif.turn_line")
    TURN_FORMATS["atif"] = TurnFormat("application/x-ndjson", "atif.jsonl", as_trajectory)
    backgrounds["telemetry"] = LazyFunction("agents.telemetry.runner.background.TelemetryBackground")
    hooks.turn_origin = LazyFunction("agents.telemetry.store.external.provenance.origin")
    hooks.agent_service = LazyFunction("agents.telemetry.store.external.provenance.service_of_agent")
    hooks.span_lines = LazyFunction("agents.telemetry.pages.external_spans.raw_lines")
    hooks.has_spans = True
    measure("ingest_spans_waiting", "Spans that are not made into turns yet.", lambda: backlog.backlog.waiting)
    measure("ingest_lag_seconds", "For how long the trace waits that has waited longest.", backlog.lag_seconds)

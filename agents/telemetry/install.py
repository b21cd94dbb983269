"""How logs of agents that run elsewhere join the server: they come in, and our turns go out as spans."""

from __future__ import annotations

from agents.base.later import later
from agents.logs.wire.export import TURN_FORMATS, TurnFormat
from agents.loop.background import backgrounds
from agents.pages.places import places
from agents.record.store import attached
from agents.record.store.attached import Attached
from agents.telemetry.store.external import sources


def install() -> None:
    # a turn that is deleted is not made of its traces again
    attached.add("telemetry", Attached(sources=sources.forget))
    as_spans = later("agents.telemetry.wire.otlp_encoding.turn_line")
    TURN_FORMATS["otlp"] = TurnFormat("application/x-ndjson", "otlp.jsonl", as_spans)
    backgrounds["telemetry"] = later("agents.telemetry.runner.background.Background")
    places.turn_origin = later("agents.telemetry.store.external.told.origin")
    places.agent_service = later("agents.telemetry.store.external.told.service_of_agent")
    places.span_lines = later("agents.telemetry.pages.external_spans.lines")
    places.has_spans = True

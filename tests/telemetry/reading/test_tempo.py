"""Tempo's traces as requests of OTLP."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from agents.telemetry.reading import files, otlp, tempo
from agents.telemetry.reading.detect_format import format_of
from tests.telemetry.reading import reports

REQUEST = reports.request(*reports.turn(1, "How warm is it in Rome?"))
_IDS = ("traceId", "spanId", "parentSpanId")


def as_tempo(request: dict[str, Any]) -> dict[str, Any]:
    """A request of OTLP as Tempo's first API returns it later."""
    return {"batches": [_older(group) for group in request["resourceSpans"]]}


def _older(group: dict[str, Any]) -> dict[str, Any]:
    scopes = [
        {"instrumentationLibrary": scope.get("scope", {}), "spans": [_with_base64(span) for span in scope["spans"]]}
        for scope in group["scopeSpans"]
    ]
    return {"resource": group["resource"], "instrumentationLibrarySpans": scopes}


def _with_base64(span: dict[str, Any]) -> dict[str, Any]:
    ids = {name: base64.b64encode(bytes.fromhex(span[name])).decode() for name in _IDS if name in span}
    return {**span, **ids}


SHAPES: dict[str, Any] = {
    "first": as_tempo(REQUEST),
    "hex": {"batches": REQUEST["resourceSpans"]},
    "second": {"trace": REQUEST},
    "second_with_batches": {"trace": as_tempo(REQUEST), "metrics": {}},
    "jaeger_v3": {"result": REQUEST},
}


@pytest.mark.parametrize("shape", SHAPES)
def test_it_is_the_trace_that_otlp_has(shape: str) -> None:
    data = json.dumps(SHAPES[shape], indent=2).encode()
    assert format_of(data) == format_of(json.dumps(SHAPES[shape]).encode()) == format_of(data[:1200]) == "otlp"
    assert files.decode_file("otlp", data).spans == otlp.traces_from_json(REQUEST).spans


@pytest.mark.parametrize("body", [5, {"batches": 5}, {"batches": [{"id": 1}]}, {"trace": 5}, {"result": {"a": 1}}])
def test_what_is_not_tempos_stays_as_it_is(body: Any) -> None:
    assert tempo.as_otlp(body) is body

"""Phoenix' spans as ours."""

from __future__ import annotations

from typing import Any

import pytest

from agents.base.errors import InvalidRequest
from agents.telemetry.reading import phoenix

SPAN: dict[str, Any] = {
    "id": "U3Bhbjox",
    "name": "ChatCompletion",
    "context": {"trace_id": "0af7651916cd43dd8448eb211c80319c", "span_id": "b7ad6b7169203331"},
    "span_kind": "LLM",
    "parent_id": "00f067aa0ba902b7",
    "start_time": "2026-11-20T09:54:07.592176+00:00",
    "end_time": "2026-11-20T09:54:08.592176+00:00",
    "status_code": "ERROR",
    "status_message": "no",
    "attributes": {"llm.model_name": "gpt-4o", "input.value": "hello"},
    "events": [{"name": "exception", "timestamp": "2026-11-20T09:54:08Z", "message": "no such city"}],
}


@pytest.mark.parametrize("body", [{"data": [SPAN], "next_cursor": None}, [SPAN], SPAN])
def test_it_reads_a_span(body: Any) -> None:
    (decoded,) = phoenix.from_json(body).spans
    assert (decoded.trace, decoded.id, decoded.parent) == (*SPAN["context"].values(), SPAN["parent_id"])
    assert decoded.attributes == {
        "llm.model_name": "gpt-4o",
        "input.value": "hello",
        "openinference.span.kind": "LLM",
    }
    assert decoded.end_ns - decoded.start_ns == 1_000_000_000
    assert (decoded.failed, decoded.message, decoded.format) == (True, "no", "phoenix")
    assert decoded.events[0].attributes == {"exception.message": "no such city"}


def test_it_flattens_nested_attributes() -> None:
    nested = {
        "llm": {"input_messages": [{"message": {"role": "user", "content": "hi"}}], "token_count": {"prompt": 5}},
        "tag": {"tags": ["a"]},
        "embedding": {"vector": [0.1, 0.2]},
    }
    (decoded,) = phoenix.from_json({**SPAN, "attributes": nested}).spans
    assert decoded.attributes == {
        "llm.input_messages.0.message.role": "user",
        "llm.input_messages.0.message.content": "hi",
        "llm.token_count.prompt": 5,
        "embedding.vector": [0.1, 0.2],
        "tag": {"tags": ["a"]},
        "openinference.span.kind": "LLM",
    }


def test_it_rejects_a_span_without_ids_and_refuses_a_body_of_nothing_else() -> None:
    decoded = phoenix.from_json([SPAN, {**SPAN, "context": None}])
    assert (len(decoded.spans), decoded.rejected) == (1, 1)
    with pytest.raises(InvalidRequest, match="no span has a context"):
        phoenix.from_json([{"context": {}}])
    with pytest.raises(InvalidRequest):
        phoenix.from_json({"data": "x"})

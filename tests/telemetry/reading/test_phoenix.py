"""Phoenix' spans as ours."""

from __future__ import annotations

import io
import json
import sys
from typing import Any

import pandas
import pytest

from agents.base.errors import InvalidRequest
from agents.record.schemas.content import Usage
from agents.telemetry.reading import chunked_files, parquet_files, phoenix
from agents.telemetry.reading.detect_format import format_of
from agents.telemetry.reading.turns import build_turns
from tests.telemetry.reading.dataframe_rows import ROWS
from tests.telemetry.reading.outlines import WEATHER, outline, outlines

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


# ------------------------------------------------------------------------------------------------ its dataframe


def frame(*, as_times: bool = True) -> pandas.DataFrame:
    table = pandas.DataFrame(ROWS)
    if as_times:
        for name in ("start_time", "end_time"):
            table[name] = pandas.to_datetime(table[name], unit="ms", utc=True).astype("datetime64[ns, UTC]")
    return table


def parquet(table: pandas.DataFrame) -> bytes:
    out = io.BytesIO()
    table.to_parquet(out)
    return out.getvalue()


DATAFRAMES = {
    "lines": frame(as_times=False).to_json(orient="records", lines=True).encode(),
    "iso": frame().to_json(orient="records", lines=True, date_format="iso").encode(),
    "list": frame(as_times=False).to_json(orient="records", indent=1).encode(),
    "parquet": parquet(frame()),
    "parquet_with_index": parquet(frame().set_index("context.span_id")),
}


def chunks(data: bytes) -> list[chunked_files.FileChunk]:
    return list(chunked_files.read_chunks(io.BytesIO(data), "phoenix"))


@pytest.mark.parametrize("name", DATAFRAMES)
def test_it_reads_a_dataframe(name: str) -> None:
    data = DATAFRAMES[name]
    assert format_of(data) == "phoenix"
    read = chunks(data)
    assert not any(chunk.skipped for chunk in read)
    [turn] = build_turns([span for chunk in read for span in chunk.spans])
    assert outline(turn) == WEATHER
    usages = [step.usage for step in turn.steps]
    assert usages == [Usage(input_tokens=40, output_tokens=9), None, Usage(input_tokens=60, output_tokens=7)]
    assert (turn.session, turn.started_us % 10**6) == ("talk", 0)


def test_a_row_without_its_index_says_what_to_write() -> None:
    rows = json.loads(frame().set_index("context.span_id").to_json(orient="records", date_format="iso"))
    with pytest.raises(InvalidRequest, match="write df"):
        phoenix.from_json(rows)


def test_attributes_that_are_objects_stay_whole_and_empty_cells_are_left_out() -> None:
    cells = {"tool.parameters": {"city": {"type": "string"}}, "llm.tools": [{"tool.json_schema": "{}"}], "input": None}
    row = {**ROWS[0], **{f"attributes.{name}": value for name, value in cells.items()}}
    [decoded] = phoenix.from_json(row).spans
    assert decoded.attributes["tool.parameters"] == {"city": {"type": "string"}}
    assert decoded.attributes["llm.tools.0.tool.json_schema"] == "{}"
    assert "input" not in decoded.attributes
    assert "llm.model_name" not in decoded.attributes


def test_calls_that_are_no_objects_are_left_out() -> None:
    answer = {"message.role": "assistant", "message.content": "Hm.", "message.tool_calls": ["weather", None]}
    row = {**ROWS[1], "parent_id": None, "attributes.llm.output_messages": [answer]}
    assert outlines(phoenix.from_json(row).spans) == [[WEATHER[0], ("gpt-4o", "Hm.", []), "Hm."]]


def test_a_table_of_something_else_is_refused_row_by_row() -> None:
    [chunk, _] = chunks(parquet(pandas.DataFrame([{"a": 1}, {"a": 2}])))
    assert [(skip.reason, skip.count) for skip in chunk.skipped] == [
        ("data: no span has a context with OpenTelemetry's trace_id and span_id.", 2)
    ]


def test_a_broken_table_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    data = DATAFRAMES["parquet"]
    for broken in (data[:500], b"PAR1", data[:40] + bytes(400) + data[440:], data[:-300] + bytes(292) + data[-8:]):
        [*_, last] = chunks(broken)
        assert [skip.reason[:26] for skip in last.skipped] == ["the Parquet file is broken"]
    monkeypatch.setattr(parquet_files, "MAX_COLUMNS", 3)
    [chunk] = chunks(data)
    assert chunk.skipped[0].reason == "it has more than 3 columns."


def test_without_pyarrow_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    [chunk] = chunks(DATAFRAMES["parquet"])
    assert "pip install pyarrow" in chunk.skipped[0].reason

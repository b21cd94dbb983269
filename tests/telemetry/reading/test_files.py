"""Files: which format they are, and the spans in them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agents.base.errors import InvalidRequest
from agents.record.schemas.content import Usage
from agents.telemetry.reading import files
from agents.telemetry.reading.detect_format import FileFormat, format_of
from agents.telemetry.reading.turns import build_turns
from tests.telemetry.reading import captures
from tests.telemetry.reading.test_otlp import TRACE, logs, request, span
from tests.telemetry.reading.test_phoenix import SPAN as PHOENIX

SESSION_FILES: list[tuple[str, FileFormat]] = [
    ("claude_code.jsonl", "claude_code"),
    ("claude_code_subagent/main.jsonl", "claude_code"),
    ("claude_code_subagent/subagents/agent-a77ee92f05dfc17a3.jsonl", "claude_code"),
    ("codex_rollout.jsonl", "codex"),
    ("gemini_cli.jsonl", "gemini_cli"),
]


def body(name: str, number: int = 0) -> Any:
    return captures.requests(name)[number]["body"]


def lines(*values: Any) -> bytes:
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


@pytest.mark.parametrize(("file", "format_"), SESSION_FILES)
def test_it_knows_and_reads_session_files(file: str, format_: FileFormat) -> None:
    data = (captures.SESSIONS / file).read_bytes()
    assert format_of(data) == format_of(b"\xef\xbb\xbf" + data) == format_
    decoded = files.decode_file(format_, data)
    assert {span.format for span in decoded.spans} == {format_}
    assert decoded.rejected == 0


DOCUMENTS: list[tuple[FileFormat, Any]] = [
    ("otlp", body("vercel_ai__json")),
    ("otlp", body("otel_genai_openai__event", 1)),
    ("openai_agents", body("openai_agents__handoff")),
    ("mlflow", body("mlflow__export")),
    ("mlflow", [body("mlflow__export"), body("mlflow__export", 1)]),
    ("mlflow", {"traces": [body("mlflow__export")]}),
    ("phoenix", {"data": [PHOENIX]}),
    ("phoenix", [PHOENIX]),
    ("langsmith", {"post": [{"id": "1", "run_type": "llm"}]}),
    ("gemini_cli", {"sessionId": "s", "messages": [{"id": "1", "type": "user", "content": "Hello"}]}),
]


@pytest.mark.parametrize(("format_", "document"), DOCUMENTS)
def test_it_knows_and_reads_a_document_however_it_is_laid_out(format_: FileFormat, document: Any) -> None:
    data = json.dumps(document).encode()
    pretty = json.dumps(document, indent=2).encode()
    assert format_of(data) == format_of(pretty) == format_
    assert files.decode_file(format_, data).spans == files.decode_file(format_, pretty).spans != []


@pytest.mark.parametrize("format_", ["otlp", "mlflow", "openai_agents"])
def test_it_knows_a_document_by_a_piece_of_it(format_: FileFormat) -> None:
    document = next(value for name, value in DOCUMENTS if name == format_)
    assert format_of(json.dumps(document, indent=2).encode()[:1500]) == format_


def test_it_reads_traces_logs_and_metrics_line_by_line() -> None:
    record = {"traceId": TRACE, "spanId": "b7ad6b7169203331", "eventName": "e"}
    data = lines(request(span()), logs(record), {"resourceMetrics": []}, {"resourceSpans": {}})
    data += b"no json\n" + lines(request(span(), span(spanId="0")))
    assert format_of(data) == "otlp"
    decoded = files.decode_file("otlp", data)
    assert [span.is_log for span in decoded.spans] == [False, True, False]
    assert (decoded.rejected, decoded.ignored) == (3, 1)
    assert decoded.problem.startswith(
        "resourceSpans: a list is expected, not an object. line 5: this is no JSON. 1 span"
    )


def test_it_reads_spans_one_a_line() -> None:
    data = lines(PHOENIX, {**PHOENIX, "context": {}}, PHOENIX)
    decoded = files.decode_file("phoenix", data)
    assert (len(decoded.spans), decoded.rejected) == (2, 1)


def test_of_many_broken_lines_it_tells_the_first() -> None:
    decoded = files.decode_file("otlp", b"{\n" * 10 + lines({}))
    assert decoded.rejected == 10
    assert decoded.problem.endswith("line 5: this is no JSON. and 5 more.")


def test_it_knows_our_own_export_and_leaves_it_to_others() -> None:
    data = lines({"id": "1", "agent_name": "a", "turn": {"turn_id": "1", "steps": []}})
    assert format_of(data) == "turns"
    with pytest.raises(InvalidRequest):
        files.decode_file("turns", data)


@pytest.mark.parametrize("data", [b"", b"id,name\n1,a\n", b"\x89PNG\r\n", b"[]", b"{}", b'{"type": 5}', b"[" * 70_000])
def test_it_knows_nothing_else(data: bytes) -> None:
    assert format_of(data) is None


# ------------------------------------------------------------------------------------------------ LangSmith's runs

RUNS: list[dict[str, Any]] = [
    {"id": "r1", "trace_id": "r1", "name": "weather_desk", "run_type": "chain", "session_id": "p", "outputs": {}},
    {
        **{"id": "r2", "trace_id": "r1", "parent_run_id": "r1", "name": "ChatOpenAI", "run_type": "llm"},
        **{"prompt_tokens": 50, "completion_tokens": 20, "total_tokens": 70, "total_cost": "0.00125"},
        **{"prompt_token_details": {"cache_read": 8}, "completion_token_details": {"reasoning": 4}},
    },
]
TIMES = {"start_time": "2026-11-20T09:54:07.592176", "end_time": "2026-11-20T09:54:08.592176"}


@pytest.mark.parametrize("shape", ["list", "page", "lines"])
def test_exported_runs_have_their_names_tokens_and_cost(shape: str) -> None:
    runs = [{**run, **TIMES} for run in RUNS]
    written = {"list": json.dumps(runs), "page": json.dumps({"runs": runs}), "lines": "\n".join(map(json.dumps, runs))}
    data = written[shape].encode()
    assert format_of(data) == "langsmith"
    [turn] = build_turns(files.decode_file("langsmith", data).spans)
    [call] = [step for step in turn.steps if step.usage is not None]
    assert turn.agent == "weather_desk"
    assert call.usage == Usage(input_tokens=50, output_tokens=20, cached_tokens=8, reasoning_tokens=4)
    assert call.cost_nano == 1_250_000

"""Detection of a file's format by its beginning."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, Literal, get_args

from agents.telemetry.reading import atif, gzip_files, jaeger, langfuse, openai_chat, parquet_files, phoenix, tempo
from agents.telemetry.reading.decoding import FormatError
from agents.telemetry.reading.json_text import parse_json

FileFormat = Literal[
    "turns",
    "otlp",
    "openai_agents",
    "langsmith",
    "mlflow",
    "phoenix",
    "jaeger",
    "langfuse",
    "openai_chat",
    "atif",
    "claude_code",
    "codex",
    "gemini_cli",
]
"""``turns`` is our own export, of whole turns."""

UNKNOWN_FORMAT = f"it is of no known format; known are {', '.join(get_args(FileFormat))}."

HEAD_BYTES = 1 << 16
"""Bytes of a file that are enough."""

_LINES = 20
_TURN_COLUMNS = frozenset({"id", "session_id", "started_at"})
"""Columns of our own tables of turns, whole or not."""
_OTLP = frozenset({"resourceSpans", "resourceLogs", "resourceMetrics"})
_CODEX = frozenset({"session_meta", "response_item", "event_msg", "turn_context"})

FormatTest = Callable[[dict[str, Any]], bool]

_TESTS: tuple[tuple[FileFormat, FormatTest], ...] = (
    ("atif", atif.is_trajectory),
    ("otlp", lambda line: bool(_OTLP & line.keys()) or tempo.is_tempo(line)),
    ("jaeger", lambda line: jaeger.is_trace(line) or jaeger.is_trace(_first(line.get("data")))),
    ("turns", lambda line: isinstance(line.get("turn"), dict) and "turn_id" in line["turn"]),
    ("mlflow", lambda line: _has_inside(line, "data", "spans") and "info" in line),
    ("mlflow", lambda line: _first(line.get("traces")).keys() >= {"info", "data"}),
    ("phoenix", lambda line: _is_phoenix(line) or _is_phoenix(_first(line.get("data")))),
    ("phoenix", phoenix.is_row),
    ("langfuse", lambda line: langfuse.is_langfuse(line) or langfuse.is_langfuse(_first(line.get("data")))),
    ("openai_agents", lambda line: _first(line.get("data")).get("object") in ("trace", "trace.span")),
    ("langsmith", lambda line: "run_type" in line or "run_type" in _first(line.get("post"))),
    ("codex", lambda line: _is_among(line.get("type"), _CODEX) and isinstance(line.get("payload"), dict)),
    ("gemini_cli", lambda line: "sessionId" in line and ("projectHash" in line or "messages" in line)),
    ("claude_code", lambda line: "sessionId" in line and isinstance(line.get("type"), str)),
    ("claude_code", lambda line: line.get("type") == "summary" and "leafUuid" in line),
    ("openai_chat", openai_chat.is_line),
)

_MARKERS: tuple[tuple[bytes, FileFormat], ...] = (
    (b'"ATIF-v', "atif"),
    (b'"resourceSpans"', "otlp"),
    (b'"resourceLogs"', "otlp"),
    (b'"scopeSpans"', "otlp"),
    (b'"instrumentationLibrarySpans"', "otlp"),
    (b'"operationName"', "jaeger"),
    (b'"mlflow.', "mlflow"),
    (b'"trace_location"', "mlflow"),
    (b'"trace.span"', "openai_agents"),
    (b'"run_type"', "langsmith"),
    (b'"parentObservationId"', "langfuse"),
    (b'"htmlPath"', "langfuse"),
    (b'"chat.completion"', "openai_chat"),
    (b'"custom_id"', "openai_chat"),
    (b'"projectHash"', "gemini_cli"),
    (b'"span_kind"', "phoenix"),
    (b'"context.trace_id"', "phoenix"),
)
"""Names that occur in a document which is too long to be parsed from its beginning alone."""


def format_of_file(file: BinaryIO) -> FileFormat | None:
    """Return the format of a file, compressed or not. The file stands at its beginning, before and after."""
    if file.seekable() and parquet_files.is_parquet(file):
        return _format_of_table(file)
    return format_of(gzip_files.read_head(file, HEAD_BYTES))


def format_of(head: bytes) -> FileFormat | None:
    """Return the format of a file with this beginning, None if it is unknown."""
    head = head[:HEAD_BYTES].removeprefix(b"\xef\xbb\xbf")
    if head.startswith(parquet_files.MAGIC):
        return "phoenix"
    for value in _values(head):
        format_ = next((name for name, test in _TESTS if test(value)), None)
        if format_ is not None:
            return format_
    if not head.lstrip().startswith((b"{", b"[")):
        return None
    return next((name for marker, name in _MARKERS if marker in head), None)


def _format_of_table(file: BinaryIO) -> FileFormat:
    """Return the format of a Parquet file by its columns; what is wrong with it says whoever reads it."""
    try:
        names = parquet_files.column_names(file)
    except FormatError:
        file.seek(0)
        return "phoenix"
    return "turns" if names >= _TURN_COLUMNS else "phoenix"


def _values(head: bytes) -> Iterator[dict[str, Any]]:
    """Iterate over the objects that begin the file: the whole of it, or its lines."""
    for text in (head, *head.splitlines()[:_LINES]):
        try:
            value = parse_json(text)
        except FormatError:
            continue
        value = _first(value) if isinstance(value, list) else value
        if isinstance(value, dict):
            yield value


def _first(value: Any) -> dict[str, Any]:
    """Return the first object of a list; {} if there is none."""
    item = value[0] if isinstance(value, list) and value else None
    return item if isinstance(item, dict) else {}


def _has_inside(line: dict[str, Any], name: str, inner: str) -> bool:
    value = line.get(name)
    return isinstance(value, dict) and inner in value


def _is_among(value: object, names: frozenset[str]) -> bool:
    return isinstance(value, str) and value in names


def _is_phoenix(span: dict[str, Any]) -> bool:
    return "span_kind" in span and _has_inside(span, "context", "span_id")

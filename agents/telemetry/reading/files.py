"""Decoder of whole files: formats of requests, one a line or as one document, and session files."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from agents.base.errors import InvalidRequest
from agents.telemetry.reading import (
    atif,
    jaeger,
    langfuse,
    langsmith,
    mlflow,
    openai_agents,
    openai_chat,
    otlp,
    phoenix,
    tempo,
)
from agents.telemetry.reading.decoding import Decoded, FormatError
from agents.telemetry.reading.detect_format import FileFormat
from agents.telemetry.reading.json_lines import JsonLines
from agents.telemetry.reading.json_text import parse_json
from agents.telemetry.reading.sessions import claude_code, codex, gemini_cli
from agents.telemetry.reading.spans import Span

_SESSION_READERS: dict[str, Callable[[Iterable[bytes | str]], Decoded]] = {
    "claude_code": claude_code.from_lines,
    "codex": codex.from_lines,
    "gemini_cli": gemini_cli.from_lines,
}


def decode_file(format_: FileFormat, data: bytes, line: int = 1) -> Decoded:
    """Decode a whole file, or one line of it, of this number. Raises `InvalidRequest` where nothing of it can be
    read."""
    data = data.removeprefix(b"\xef\xbb\xbf")
    document = _document(data)
    if format_ == "gemini_cli" and isinstance(document, dict) and "messages" in document:
        return gemini_cli.from_json(document)
    if format_ in _SESSION_READERS:
        return _SESSION_READERS[format_](data.splitlines())
    if format_ not in _BODY_DECODERS:
        raise InvalidRequest("These are turns of our own, not reports of spans.", code="invalid_body")
    if document is not None:
        return _decoder(format_, line)(document)
    return _decode_lines(JsonLines(data.splitlines(), raw=True), format_)


def decode_rows(format_: FileFormat, rows: list[dict[str, Any]]) -> Decoded:
    """Decode rows of a table, which only dataframes of Phoenix are. Raises `InvalidRequest` where nothing of them can
    be read."""
    if format_ != "phoenix":
        raise InvalidRequest("a table is read as format phoenix alone.", code="invalid_body")
    return phoenix.from_json(rows)


def _document(data: bytes) -> Any:
    """Return the content of a file that is one JSON value, else None."""
    try:
        return parse_json(data)
    except FormatError:
        return None


def _decoder(format_: FileFormat, line: int) -> Callable[[object], Decoded]:
    """Return the decoder of a body. To one whose format has no times the line's number says the order."""
    return partial(openai_chat.from_json, line=line) if format_ == "openai_chat" else _BODY_DECODERS[format_]


def _decode_lines(lines: JsonLines, format_: FileFormat) -> Decoded:
    """Decode each line as a request of its own. A refused one is reported, and the others are read."""
    spans: list[Span] = []
    for line in lines:
        try:
            decoded = _decoder(format_, lines.number)(line)
        except InvalidRequest as error:
            lines.reject(error.message)
            continue
        spans += decoded.spans
        lines.ignored += decoded.ignored
        for _ in range(decoded.rejected):
            lines.reject(decoded.problem)
    return lines.decoded(spans)


def _otlp(body: object) -> Decoded:
    """Decode the Collector's lines: traces, logs and metrics; metrics hold nothing that the spans do not. Traces come
    in Tempo's shapes, too."""
    if isinstance(body, dict) and "resourceMetrics" in body:
        return Decoded(ignored=1)
    if isinstance(body, dict) and "resourceLogs" in body:
        return otlp.logs_from_json(body)
    return otlp.traces_from_json(tempo.as_otlp(body))


def _langsmith(body: object) -> Decoded:
    """Decode a batch or a run, as clients send them, or an export: a list of runs, or a page of its API."""
    runs = body.get("runs") if isinstance(body, dict) else body
    if isinstance(runs, list):
        return langsmith.from_batch({"post": runs})
    is_batch = isinstance(body, dict) and bool(body.keys() & {"post", "patch"})
    return langsmith.from_batch(body) if is_batch else langsmith.from_run(body)


_BODY_DECODERS: dict[str, Callable[[object], Decoded]] = {
    "otlp": _otlp,
    "openai_agents": openai_agents.from_json,
    "langsmith": _langsmith,
    "mlflow": mlflow.from_json,
    "phoenix": phoenix.from_json,
    "jaeger": jaeger.from_json,
    "langfuse": langfuse.from_json,
    "openai_chat": openai_chat.from_json,
    "atif": atif.from_json,
}

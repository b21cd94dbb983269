"""What real senders sent: ``captures/<sender>__<scenario>.jsonl``, a request a line, decoded as JSON; of some also
the exact bytes (``<name>.<line>.bin``). Session files lie in ``captures/sessions``.

Their models were fakes with fixed answers; tracebacks of libraries are cut.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from agents.telemetry.reading import langsmith, mlflow, openai_agents, otlp
from agents.telemetry.reading.decoding import Decoded
from agents.telemetry.reading.merging import merge
from agents.telemetry.reading.sessions import claude_code, codex, gemini_cli
from agents.telemetry.reading.spans import Span

HERE = Path(__file__).parent / "captures"
SESSIONS = HERE / "sessions"
_BOUNDARY = "capture"
_FILES: dict[str, tuple[Callable[..., Decoded], tuple[str, ...]]] = {
    "claude_code": (claude_code.from_lines, ("claude_code.jsonl",)),
    "claude_code_subagent__main": (
        claude_code.from_lines,
        ("claude_code_subagent/main.jsonl", "claude_code_subagent/subagents/agent-a77ee92f05dfc17a3.jsonl"),
    ),
    "codex_rollout": (codex.from_lines, ("codex_rollout.jsonl",)),
    "gemini_cli": (gemini_cli.from_lines, ("gemini_cli.jsonl",)),
}


def names() -> list[str]:
    """The captures of requests."""
    return sorted(path.stem for path in HERE.glob("*.jsonl"))


def requests(name: str) -> list[dict[str, Any]]:
    """``{"path", "content_type", "body"}`` of each request."""
    return [json.loads(line) for line in (HERE / f"{name}.jsonl").read_text().splitlines()]


def spans(name: str) -> list[Span]:
    """All spans of a capture, in the order in which they were sent, not merged."""
    return [span for request in requests(name) for span in decoded(request).spans]


def decoded(request: dict[str, Any]) -> Decoded:
    """One request, by its path and content type."""
    path, body = request["path"], request["body"]
    if request["content_type"] == "multipart/form-data":
        return langsmith.from_multipart(multipart(body), f"multipart/form-data; boundary={_BOUNDARY}")
    if path == "/v1/traces/ingest":
        return openai_agents.from_json(body)
    if path == "/mlflow-export":
        return mlflow.from_json(body)
    return otlp.logs_from_json(body) if path == "/v1/logs" else otlp.traces_from_json(body)


def multipart(parts: list[dict[str, Any]]) -> bytes:
    """``[{"name", "json"}]`` as LangSmith's client writes it."""
    lines: list[str] = []
    for part in parts:
        content = json.dumps(part["json"])
        lines += [f"--{_BOUNDARY}", f'Content-Disposition: form-data; name="{part["name"]}"']
        lines += ["Content-Type: application/json", f"Content-Length: {len(content)}", "", content]
    return "\r\n".join([*lines, f"--{_BOUNDARY}--", ""]).encode()


def sessions() -> list[str]:
    """The session files, named as in ``expected/sessions``."""
    return list(_FILES)


def session_spans(name: str) -> list[Span]:
    """All spans of a session's files, merged."""
    read, files = _FILES[name]
    merged: dict[tuple[str, str], Span] = {}
    for file in files:
        for span in read((SESSIONS / file).read_bytes().splitlines()).spans:
            key = (span.trace, span.id)
            merged[key] = merge(merged[key], span) if key in merged else span
    return list(merged.values())

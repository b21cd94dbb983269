"""Large files, by the command on an empty folder: OpenTelemetry's JSON, and one session of Claude Code; then once more,
when nothing in them is new."""

from __future__ import annotations

import asyncio
import json
import random
import re
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from bench.cases.ingest import WORDS, report
from bench.faults import Broken
from bench.figures import Row, Target
from bench.stage import Stage

MIB = 2**20
TURNS_A_LINE = 20
CALLS, RESULT_CHARS = 5, 8_600
"""Calls of a tool in a turn of the session, and characters of what each returns: 43 KB a turn."""
_SESSION = str(UUID(int=7))
_NEW = re.compile(r"Turns: ([\d,]+) new")


async def rows(stage: Stage) -> AsyncIterator[Row]:
    for what, name, lines, size, limit in (
        ("OpenTelemetry's JSON", "otlp.jsonl", _otlp_lines, stage.size(500, 10), 90.0),
        ("one session of Claude Code", "session.jsonl", _session_lines, stage.size(100, 5), 15.0),
    ):
        path = stage.own().folder / name
        turns = await asyncio.to_thread(_write, path, lines, size * MIB)
        title = f"{what}, {size} MiB, {turns:,} turns"
        try:
            async with stage.own().run(path.stem):
                pass  # it makes the tables
            seconds = await _import(stage, path, turns)
            yield Row(
                title, "read and stored", seconds, "s", Target(limit), note=f"{turns / seconds:,.0f} turns a second"
            )
            yield Row(title, "once more, nothing new", await _import(stage, path, 0), "s")
        finally:
            path.unlink()


async def _import(stage: Stage, path: Path, new: int) -> float:
    """Import a file into the store of its name, and return the seconds."""
    began = time.monotonic()
    printed = await stage.own().manage(path.stem, "logs", "import", str(path))
    seconds = time.monotonic() - began
    counted = _NEW.search(printed)
    if counted is None or int(counted.group(1).replace(",", "")) != new:
        raise Broken(f"{new} new turns were expected: {printed[-300:]}")
    return seconds


def _write(path: Path, lines: Callable[[int], Iterator[str]], size: int) -> int:
    """Write a file of this size; returns the number of turns in it."""
    turns = 0
    with path.open("w") as file:
        while file.tell() < size:
            for line in lines(turns):
                file.write(line + "\n")
            turns += 1
    return turns * (TURNS_A_LINE if lines is _otlp_lines else 1)


def _otlp_lines(number: int) -> Iterator[str]:
    request = ExportTraceServiceRequest.FromString(report(f"file{number}", number * TURNS_A_LINE, TURNS_A_LINE))
    body = MessageToDict(request, use_integers_for_enums=True)
    for span, message in zip(
        body["resourceSpans"][0]["scopeSpans"][0]["spans"],
        request.resource_spans[0].scope_spans[0].spans,
        strict=True,
    ):
        span |= {"traceId": message.trace_id.hex(), "spanId": message.span_id.hex()}
        span |= {"parentSpanId": message.parent_span_id.hex()}
    yield json.dumps(body)


def _session_lines(number: int) -> Iterator[str]:
    """The lines of a turn: a question, calls of a tool with their results, an answer."""
    chance, prompt = random.Random(number), str(UUID(int=(number + 1) << 64))
    lines = [_line("user", {"role": "user", "content": f"Question {number}: {_text(chance, 200)}"}, promptId=prompt)]
    for call in range(CALLS):
        name = f"toolu_{number}_{call}"
        use = {"type": "tool_use", "id": name, "name": "Read", "input": {"file_path": f"/src/{call}.txt"}}
        answer = [{"type": "text", "text": _text(chance, 300)}, use]
        result = [{"type": "tool_result", "tool_use_id": name, "content": _text(chance, RESULT_CHARS)}]
        lines += [
            _line("assistant", _message(f"msg_{number}_{call}", answer, "tool_use")),
            _line("user", {"role": "user", "content": result}, promptId=prompt),
        ]
    last = [{"type": "text", "text": _text(chance, 400)}]
    lines.append(_line("assistant", _message(f"msg_{number}_end", last, "end_turn")))
    for position, line in enumerate(lines):
        at = (number * len(lines) + position) * 700
        time_of_day = f"{at // 3_600_000 % 24:02}:{at // 60_000 % 60:02}:{at // 1000 % 60:02}.{at % 1000:03}"
        day = 1 + at // 86_400_000
        line |= {"uuid": str(UUID(int=((number + 1) << 64) + position + 1))}
        line |= {"timestamp": f"2026-11-{day:02}T{time_of_day}Z"}
        yield json.dumps(line)


def _line(kind: str, message: dict[str, Any], **others: str) -> dict[str, Any]:
    place = {"sessionId": _SESSION, "version": "2.1.330", "cwd": "/src", "isSidechain": False}
    return {"type": kind, "message": message, **place, **others}


def _message(name: str, content: list[Any], reason: str) -> dict[str, Any]:
    usage = {"input_tokens": 100, "output_tokens": 50, "cache_read_input_tokens": 1000}
    head = {"id": name, "type": "message", "role": "assistant", "model": "claude-sonnet-4-5"}
    return {**head, "content": content, "stop_reason": reason, "usage": usage}


def _text(chance: random.Random, characters: int) -> str:
    return " ".join(chance.choices(WORDS.split(), k=characters // 5))

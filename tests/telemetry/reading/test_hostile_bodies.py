"""Whatever a body or a file holds, spans come of it or `InvalidRequest`, and no other exception."""

from __future__ import annotations

import copy
import json
import math
import random
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.base.errors import InvalidRequest
from agents.telemetry.reading import (
    atif,
    detect_format,
    files,
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
from agents.telemetry.reading.decoding import MAX_ID_CHARS, Decoded
from agents.telemetry.reading.merging import merge
from agents.telemetry.reading.sessions import claude_code, codex, gemini_cli
from agents.telemetry.reading.turns import build_turns
from tests.telemetry.reading import captures
from tests.telemetry.reading.dataframe_rows import ROWS
from tests.telemetry.reading.test_atif import TRAJECTORY
from tests.telemetry.reading.test_jaeger import REQUEST, as_jaeger
from tests.telemetry.reading.test_langfuse import TRACE
from tests.telemetry.reading.test_openai_chat import BATCH, EXAMPLE, RESPONSE, STORED
from tests.telemetry.reading.test_phoenix import SPAN as PHOENIX
from tests.telemetry.reading.test_tempo import as_tempo

WRONG: tuple[Any, ...] = (
    *(None, True, 0, -1, 2**70, 10**400, 1e308, math.inf, math.nan, "", "\x00", "\ud800", "x" * 300),
    *([], {}, [[]], [None], {"a": None}, {"\ud800\x00": {}}, [{}], [5], {"id": []}),
)
TYPE = "multipart/form-data; boundary=capture"


def _runs(name: str) -> Iterator[dict[str, Any]]:
    """The runs of a capture, whole."""
    for span in captures.spans(name):
        events = [{"name": event.name, "time": "2026-11-20T09:54:08Z"} for event in span.events]
        top = {"id": span.id, "trace_id": span.trace, "parent_run_id": span.parent, "name": span.name}
        yield {**top, **span.attributes, "events": events, "error": span.message, "start_time": 1_795_168_447}


BODIES: dict[str, tuple[Callable[[Any], Decoded], Any]] = {
    "traces": (otlp.traces_from_json, captures.requests("strands__two-turns")[0]["body"]),
    "logs": (otlp.logs_from_json, captures.requests("otel_genai_openai__event")[1]["body"]),
    "openai_agents": (openai_agents.from_json, captures.requests("openai_agents__handoff")[0]["body"]),
    "mlflow": (mlflow.from_json, captures.requests("mlflow__export")[0]["body"]),
    "phoenix": (phoenix.from_json, {"data": [PHOENIX, {**PHOENIX, "attributes": {"llm": {"a": [{"b": 1}]}}}]}),
    "phoenix_rows": (phoenix.from_json, ROWS),
    "jaeger": (jaeger.from_json, as_jaeger(REQUEST)),
    "tempo": (lambda body: otlp.traces_from_json(tempo.as_otlp(body)), as_tempo(REQUEST)),
    "langfuse": (langfuse.from_json, {"data": [TRACE], "meta": {}}),
    "observations": (langfuse.from_json, TRACE["observations"]),
    "openai_chat": (openai_chat.from_json, [EXAMPLE, STORED, BATCH, RESPONSE]),
    "atif": (atif.from_json, TRAJECTORY),
    "langsmith": (langsmith.from_batch, {"post": list(_runs("langsmith__tool-error"))}),
}
SESSIONS: dict[str, tuple[Callable[..., Decoded], str]] = {
    "claude_code": (claude_code.from_lines, "claude_code_subagent/main.jsonl"),
    "sub_agent": (claude_code.from_lines, "claude_code_subagent/subagents/agent-a77ee92f05dfc17a3.jsonl"),
    "codex": (codex.from_lines, "codex_rollout.jsonl"),
    "gemini_cli": (gemini_cli.from_lines, "gemini_cli.jsonl"),
}

junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
)


def harmless(decoded: Decoded) -> None:
    """All of it can be stored: text, numbers and times within their bounds."""
    data = msgspec.json.encode(decoded.spans)
    assert b"\\u0000" not in data
    for span in decoded.spans:
        assert span.trace
        assert span.id
        assert max(len(span.trace), len(span.id), len(span.parent)) <= MAX_ID_CHARS
        assert all(0 <= moment < 2**63 for moment in (span.start_ns, span.end_ns))
        assert merge(span, msgspec.convert(msgspec.to_builtins(span), type(span))) == span


def read(decode: Callable[..., Decoded], *given: Any) -> None:
    try:
        found = decode(*given)
    except InvalidRequest as refused:
        json.dumps(refused.body())
    else:
        harmless(found)


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every place in a JSON value: its holder and its key there."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in list(items):
        yield value, key
        yield from places(inner)


def spoilt(value: Any, chance: random.Random, times: int) -> Any:
    """A copy with something wrong in some places."""
    value = copy.deepcopy(value)
    for holder, key in chance.sample(list(places(value)), times):
        holder[key] = copy.deepcopy(chance.choice(WRONG))
    return value


@pytest.mark.parametrize("name", BODIES)
@settings(max_examples=60, deadline=None)
@given(st.randoms(use_true_random=False), st.integers(1, 4))
def test_wrong_values_in_any_place_of_a_body(name: str, chance: random.Random, times: int) -> None:
    decode, body = BODIES[name]
    read(decode, spoilt(body, chance, times))


@pytest.mark.parametrize("name", BODIES)
@settings(max_examples=30, deadline=None)
@given(st.randoms(use_true_random=False), st.integers(1, 4))
def test_turns_of_a_body_with_wrong_values(name: str, chance: random.Random, times: int) -> None:
    decode, body = BODIES[name]
    try:
        decoded = decode(spoilt(body, chance, times))
    except InvalidRequest:
        return
    for turn in build_turns(decoded.spans):
        json.dumps([step.detail.model_dump(mode="json") for step in turn.steps], allow_nan=False)


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("wrong", WRONG, ids=lambda value: repr(value)[:20])
def test_a_wrong_value_in_the_first_places_of_a_body(name: str, wrong: Any) -> None:
    decode, body = BODIES[name]
    small = json.loads(json.dumps(body))
    for holder, key in list(places(small))[:40]:
        before, holder[key] = holder[key], wrong
        read(decode, small)
        holder[key] = before


@pytest.mark.parametrize("name", SESSIONS)
@settings(max_examples=60, deadline=None)
@given(st.randoms(use_true_random=False), st.integers(1, 6))
def test_wrong_values_in_any_place_of_a_session(name: str, chance: random.Random, times: int) -> None:
    decode, file = SESSIONS[name]
    lines = [json.loads(line) for line in (captures.SESSIONS / file).read_text().splitlines()]
    lines = spoilt(lines, chance, times)
    chance.shuffle(lines) if times > 3 else None
    read(decode, [json.dumps(line) for line in lines])


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes(data: bytes) -> None:
    read(otlp.traces_from_protobuf, data)
    read(otlp.logs_from_protobuf, data)
    read(langsmith.from_multipart, data, TYPE)
    read(langsmith.from_multipart, b"--capture\r\n" + data + b"\r\n--capture--", TYPE)
    detect_format.format_of(data)
    for format_ in ("otlp", "claude_code", "codex", "gemini_cli", "mlflow"):
        read(files.decode_file, format_, data)


@settings(max_examples=60, deadline=None)
@given(st.randoms(use_true_random=False))
def test_bytes_of_a_sender_with_some_changed(chance: random.Random) -> None:
    path = chance.choice(sorted(captures.HERE.glob("*.bin")))
    data = bytearray(path.read_bytes())
    for _ in range(chance.randint(1, 5)):
        data[chance.randrange(len(data))] = chance.randrange(256)
    read(otlp.traces_from_protobuf, bytes(data))
    read(otlp.logs_from_protobuf, bytes(data[: chance.randrange(len(data))]))


@settings(max_examples=100, deadline=None)
@given(junk)
def test_any_json(value: Any) -> None:
    for decode, _ in BODIES.values():
        read(decode, value)
    read(langsmith.from_run, value)
    read(gemini_cli.from_json, value)
    detect_format.format_of(json.dumps(value).encode())
    for decode, _ in SESSIONS.values():
        read(
            decode, [json.dumps(value), json.dumps({"type": "user", "sessionId": "s", "message": value, "uuid": value})]
        )
        read(decode, [json.dumps({"type": "response_item", "payload": value}), json.dumps({"id": "1", "type": value})])


@pytest.mark.parametrize("opened", [b"[", b'{"a":', b'{"resourceSpans":['])
def test_json_that_nests_without_end(opened: bytes) -> None:
    data = opened * 50_000
    for format_ in ("otlp", "claude_code", "codex", "gemini_cli"):
        read(files.decode_file, format_, data)
    assert detect_format.format_of(data) in (None, "otlp")
    part = b'--capture\r\nContent-Disposition: form-data; name="post.1"\r\n\r\n%b\r\n--capture--' % data
    read(langsmith.from_multipart, part, TYPE)


def test_protobuf_that_nests_without_end() -> None:
    value = b""
    for _ in range(2000):  # AnyValue { array_value { values { AnyValue …
        for tag in (b"\x0a", b"\x2a"):
            value = tag + _varint(len(value)) + value
    body = b"\x4a" + _varint(len(value) + 2) + b"\x12" + value
    for tag in (b"\x12", b"\x12", b"\x0a"):
        body = tag + _varint(len(body)) + body
    read(otlp.traces_from_protobuf, body)


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def test_a_value_of_a_thousand_levels() -> None:
    deep: Any = {}
    for _ in range(400):
        deep = {"kvlistValue": {"values": [{"key": "k", "value": deep}]}}
    body = copy.deepcopy(BODIES["traces"][1])
    body["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["attributes"][0]["value"] = deep
    read(otlp.traces_from_json, body)
    inner: Any = 1
    for _ in range(900):
        inner = [inner]
    read(openai_agents.from_json, {"data": [{"object": "trace", "id": "t", "metadata": inner}]})

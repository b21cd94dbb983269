"""Answers of chat completions as bytes: whole, cut anywhere, and malformed in every way seen."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

from agents.base.errors import ProviderError
from agents.loop.inference.base import CallPart, Chunk, Finish, Reasoning, Text
from agents.loop.inference.chat.endpoint_errors import EndpointErrors
from agents.loop.inference.chat.stream import ChatStream
from agents.record.schemas.content import Usage

Build = Callable[..., Any]
Told = tuple[list[Chunk], str | None]


def read(*pieces: bytes, output_chars: int = 1_000) -> Told:
    """The chunks, and the error after them."""
    numbers = count()
    answer = ChatStream(EndpointErrors("lab"), output_chars=output_chars, new_call_id=lambda: f"own{next(numbers)}")
    chunks: list[Chunk] = []
    try:
        for piece in pieces:
            for chunk in answer.feed(piece):
                chunks.append(chunk)
        for chunk in answer.end():
            chunks.append(chunk)
    except ProviderError as error:
        return chunks, str(error)
    return chunks, None


def tool(**call: Any) -> dict[str, Any]:
    return {"choices": [{"delta": {"tool_calls": [call]}}]}


STOP: dict[str, Any] = {"choices": [{"delta": {}, "finish_reason": "stop"}]}


def transcripts() -> list[tuple[str, bytes, list[Chunk]]]:
    """Name, bytes and chunks of answers as different endpoints send them."""

    def say(text: str) -> bytes:
        return f'data: {{"choices":[{{"index":0,"delta":{{"content":"{text}"}}}}]}}\n\n'.encode()

    stop = b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n'
    done = b"data: [DONE]\n\n"
    usage = b'data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2}}\n\n'
    hello: list[Chunk] = [Text("héllo 🦙"), Text(" 世界"), Finish("stop")]
    plain = say("héllo 🦙") + say(" 世界") + stop
    call = b'{"choices":[{"delta":{"tool_calls":[{"index":%d,%s"function":{%s"arguments":"%s"}}]}}]}'
    calls = b"".join(
        b"data: " + call % values + b"\n\n"
        for values in [
            (0, b'"id":"a",', b'"name":"f",', b""),
            (0, b"", b"", b'{\\"x\\":'),
            (1, b'"id":"b",', b'"name":"g",', b"{}"),
            (0, b"", b"", b"1}"),
        ]
    )
    return [
        ("plain", plain + done, hello),
        ("no done", plain, hello),
        ("no reason", say("a") + done, [Text("a"), Finish(None)]),
        ("no last blank line", plain + b"data: [DONE]", hello),
        ("nothing after the last event", (say("a") + stop).rstrip(), [Text("a"), Finish("stop")]),
        ("windows line ends", (plain + done).replace(b"\n", b"\r\n"), hello),
        ("old line ends", (plain + done).replace(b"\n", b"\r"), hello),
        ("comments", b": hi\n\n" + plain.replace(b"data:", b": PROCESSING\n\ndata:") + done, hello),
        ("no blank after the colon", (plain + done).replace(b"data: ", b"data:"), hello),
        ("event names and ids", (plain + done).replace(b"data:", b"event: chunk\nid: 1\ndata:"), hello),
        ("pretty-printed", plain.replace(b",", b",\ndata:   ").replace(b"[{", b"[\ndata: {") + done, hello),
        ("byte order mark", b"\xef\xbb\xbf" + plain + done, hello),
        (
            "usage",
            say("a") + stop + usage + done,
            [Text("a"), Finish("stop", Usage(input_tokens=3, output_tokens=2))],
        ),
        ("after done", say("a") + stop + done + say("b") + b"data: {nonsense\n\n", [Text("a"), Finish("stop")]),
        (
            "calls",
            calls + stop.replace(b"stop", b"tool_calls") + done,
            [
                CallPart(0, "", "a", "f"),
                CallPart(0, '{"x":'),
                CallPart(1, "{}", "b", "g"),
                CallPart(0, "1}"),
                Finish("tool_calls"),
            ],
        ),
        (
            "reasoning",
            b'data: {"choices":[{"delta":{"reasoning_content":"hm"}}]}\n\n'
            b'data: {"choices":[{"delta":{"reasoning":" so","reasoning_content":null,"content":""}}]}\n\n'
            + say("a") + stop + done,
            [Reasoning("hm"), Reasoning(" so"), Text("a"), Finish("stop")],
        ),
    ]  # fmt: skip


@pytest.mark.parametrize(("stream", "chunks"), [pytest.param(*rest, id=name) for name, *rest in transcripts()])
def test_it_reads_the_same_at_every_cut(stream: bytes, chunks: list[Chunk]) -> None:
    assert read(stream) == (chunks, None)
    assert read(*(stream[place : place + 1] for place in range(len(stream)))) == (chunks, None)
    for place in range(len(stream)):
        assert read(stream[:place], stream[place:]) == (chunks, None)


@pytest.mark.parametrize(("stream", "chunks"), [pytest.param(*rest, id=name) for name, *rest in transcripts()])
def test_it_keeps_a_prefix_wherever_the_stream_is_cut_off(stream: bytes, chunks: list[Chunk]) -> None:
    for place in range(len(stream)):
        told, error = read(stream[:place])
        assert told == chunks[: len(told)] or isinstance(told[-1], Finish)
        assert isinstance(told[-1] if told else None, Finish) == (error is None)
        assert error in (None, "lab cut its answer: the stream ended without a finish reason")


def test_it_skips_what_says_nothing(sse: Build) -> None:
    nothing: list[Any] = [
        {},
        {"choices": None},
        {"choices": []},
        {"choices": [{}]},
        {"choices": [{"delta": None, "finish_reason": None, "index": None}]},
        {"choices": [{"delta": {"role": "assistant", "content": None, "tool_calls": None}, "finish_reason": ""}]},
        {"choices": [{"delta": {"tool_calls": []}}], "usage": None, "error": None},
        {"choices": [], "prompt_filter_results": [{}]},
        {"choices": [{"index": 1, "delta": {"content": "another answer"}, "finish_reason": "length"}]},
    ]
    assert read(sse(*nothing, STOP, "[DONE]")) == ([Finish("stop")], None)


def test_it_tells_a_refusal_as_text(sse: Build, delta: Build) -> None:
    assert read(sse(delta(refusal="I'd rather not"), STOP))[0][0] == Text("I'd rather not")


@pytest.mark.parametrize(
    ("fragment", "part"),
    [
        (
            {"index": 0, "id": "a", "function": {"name": "f", "arguments": "not json"}},
            CallPart(0, "not json", "a", "f"),
        ),
        (
            {"index": 0, "id": "a", "function": {"name": "f", "arguments": {"x": [1]}}},
            CallPart(0, '{"x":[1]}', "a", "f"),
        ),
        ({"index": 0, "id": "a", "function": {"name": "f", "arguments": None}}, CallPart(0, "", "a", "f")),
        ({"index": None, "id": None, "function": {"name": "f"}}, CallPart(0, "", "own0", "f")),
        ({"index": -(2**70), "id": "a", "function": {"name": "f"}}, CallPart(0, "", "a", "f")),
        ({"index": 0, "id": "a"}, CallPart(0, "", "a", "")),
        ({}, CallPart(0, "", "own0", "")),
    ],
)
def test_it_makes_the_best_of_an_odd_call(sse: Build, fragment: dict[str, Any], part: CallPart) -> None:
    assert read(sse(tool(**fragment), STOP)) == ([part, Finish("stop")], None)


@pytest.mark.parametrize(
    ("event", "told"),
    [
        ({"error": {"message": "out of memory", "code": 500}}, "broke off: out of memory"),
        ({"error": "out of memory"}, "broke off: out of memory"),
        ({"object": "error", "message": "out of memory"}, "broke off: out of memory"),
        ({"detail": "out of memory"}, "broke off: out of memory"),
        ({"error": {}}, "broke off: {}"),
        ("nonsense", "sent an event that cannot be read"),
        ('{"choices":', "sent an event that cannot be read"),
        ("[]", "sent an event that cannot be read"),
        ({"choices": 7}, "sent an event that cannot be read"),
        ({"choices": [{"delta": {"content": 7}}]}, "sent an event that cannot be read"),
        ({"choices": [{"delta": {"tool_calls": [{"index": "0"}]}}]}, "sent an event that cannot be read"),
        (
            {"choices": [{"delta": {"tool_calls": [{"function": {"arguments": [1]}}]}}]},
            "sent an event that cannot be read",
        ),
        ('{"x":' + "[" * 100_000, "sent an event that cannot be read"),
        ('{"x": "' + "\x00" + '"}', "sent an event that cannot be read"),
        ('{"x": 1e999}', "sent an event that cannot be read"),
    ],
)
def test_it_keeps_what_came_before_a_fault(sse: Build, delta: Build, event: Any, told: str) -> None:
    stream = sse(delta("a"), event, delta("b"), STOP, "[DONE]")
    for pieces in ([stream], [stream[place : place + 100] for place in range(0, len(stream), 100)]):
        chunks, error = read(*pieces)
        assert chunks == [Text("a")]
        assert error is not None
        assert error.startswith(f"lab {told}")
        assert len(error) < 700


def test_it_keeps_the_text_beside_an_error(sse: Build, delta: Build) -> None:
    assert read(sse({**delta("a", finish="error"), "error": {"message": "tired"}})) == (
        [Text("a")],
        "lab broke off: tired",
    )


def test_it_refuses_bytes_that_are_no_text(sse: Build, delta: Build) -> None:
    chunks, error = read(sse(delta("a")) + b'data: {"choices":[{"delta":{"content":"\xff"}}]}\n\n')
    assert chunks == [Text("a")]
    assert error is not None


@pytest.mark.parametrize(
    ("escaped", "text"),
    [
        (r"\ud83e\udd99", "🦙"),
        (r"a\ud83e", "a�"),
        (r"\udd99\ud83e", "��"),
        (r"\\ud83e", r"\ud83e"),
        (r"\ud83ex\n", "�x\n"),
    ],
)
def test_it_replaces_half_a_character(sse: Build, escaped: str, text: str) -> None:
    event = f'{{"choices":[{{"delta":{{"content":"{escaped}"}}}}]}}'
    assert read(sse(event, STOP)) == ([Text(text), Finish("stop")], None)


@pytest.mark.parametrize(
    ("sent", "usage"),
    [
        ({"prompt_tokens": 1, "completion_tokens": 2}, Usage(input_tokens=1, output_tokens=2)),
        ({"prompt_tokens": "1", "completion_tokens": -2, "prompt_tokens_details": 3}, Usage()),
        ({"prompt_tokens": 2**80, "completion_tokens": 1.5, "completion_tokens_details": None}, Usage()),
        ({}, None),
        ("many", None),
        ([1], None),
    ],
)
def test_it_does_not_lose_an_answer_over_its_counts(sse: Build, delta: Build, sent: Any, usage: Usage | None) -> None:
    assert read(sse(delta("a"), STOP, {"choices": [], "usage": sent})) == ([Text("a"), Finish("stop", usage)], None)


def test_it_takes_counts_from_every_event_the_last_ones_count(sse: Build, delta: Build) -> None:
    first, last = {"prompt_tokens": 3, "completion_tokens": 1}, {"prompt_tokens": 3, "completion_tokens": 2}
    chunks, _ = read(sse({**delta("a"), "usage": first}, {**STOP, "usage": last}, {"choices": [], "usage": {}}))
    assert chunks[-1] == Finish("stop", Usage(input_tokens=3, output_tokens=2))


@pytest.mark.parametrize(
    "much",
    [
        {"content": "x" * 60},
        {"reasoning": "x" * 60},
        {"tool_calls": [{"index": 0, "function": {"name": "f", "arguments": "x" * 60}}]},
    ],
)
def test_it_stops_at_the_cap_and_keeps_what_came_before(sse: Build, delta: Build, much: dict[str, Any]) -> None:
    chunks, error = read(sse(delta(**much), delta("fits"), delta(**much), STOP), output_chars=100)
    assert len(chunks) == 2
    assert error == "lab sent too much: an answer of more than 100 characters"


def test_it_stops_at_an_event_without_end() -> None:
    chunks, error = read(*[b"data: " + b"x" * 2**20] * 9)
    assert (chunks, error) == ([], "lab sent too much: an event of more than 8388608 bytes")


def test_it_stops_at_too_many_calls(sse: Build) -> None:
    chunks, error = read(sse(*(tool(index=place, function={"name": "f"}) for place in range(200))))
    assert len(chunks) == 128
    assert error == "lab sent too much: more than 128 tool calls"

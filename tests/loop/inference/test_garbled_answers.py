"""Answers of an endpoint that break off at every byte, and answers that are no answers: each comes to an end,
with what had come or with an error that names the endpoint, and never with anything else.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from agents.base.errors import ProviderError
from agents.loop.inference.base import CallPart, Chunk, Finish, Reasoning, Text
from agents.loop.inference.chat.timeouts import EndpointLimits
from tests.support.cases import sparing
from tests.support.depth import deep
from tests.support.input_corpus import HOSTILE, WRONG, at, places, put

pytestmark = pytest.mark.corpus

Build = Callable[..., Any]
LIMITS = EndpointLimits(first_token_s=5.0, idle_s=5.0, total_s=20.0)


def call(index: int, arguments: str, **named: Any) -> dict[str, Any]:
    function = {"arguments": arguments, **({"name": named.pop("name")} if "name" in named else {})}
    return {"tool_calls": [{"index": index, "function": function, **named}]}


def event(choice: dict[str, Any] | None = None, *, finish: str | None = None, **more: Any) -> dict[str, Any]:
    choices = [] if choice is None else [{"index": 0, "delta": choice, "finish_reason": finish}]
    return {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": choices, **more}


USAGE = {"prompt_tokens": 7, "completion_tokens": 9, "total_tokens": 16, "prompt_tokens_details": {"cached_tokens": 3}}
ANSWERS: dict[str, list[Any]] = {
    "words": [
        event({"role": "assistant", "content": ""}),
        *(event({"content": word}) for word in ("Straße ", "日本 ", "👩‍👩‍👧 ", "end.")),
        event({}, finish="stop"),
        event(usage=USAGE),
    ],
    "thoughts": [
        event({"reasoning_content": "Let me "}),
        event({"reasoning": "see."}),
        event({"content": "Yes."}),
        event({}, finish="length", usage=USAGE),
    ],
    "calls": [
        event(call(0, "", id="c1", type="function", name="look_up")),
        event(call(0, '{"que')),
        event(call(1, '{"a": 1}', id="c2", type="function", name="other")),
        event(call(0, 'ry": "ü"}')),
        event({}, finish="tool_calls"),
        event(usage=USAGE),
    ],
    "a refusal": [event({"refusal": "I will not."}), event({}, finish="content_filter")],
}


def lines(events: list[Any], end: str = "\n") -> bytes:
    """Server-sent events, with a comment among them."""
    texts = [one if isinstance(one, str) else json.dumps(one, ensure_ascii=False) for one in (*events, "[DONE]")]
    return f": hello{end}{end}".encode() + "".join(f"data: {text}{end}{end}" for text in texts).encode()


def chunked(body: bytes, size: int = 19) -> bytes:
    pieces = [body[start : start + size] for start in range(0, len(body), size)]
    return b"".join(f"{len(piece):x}\r\n".encode() + piece + b"\r\n" for piece in pieces) + b"0\r\n\r\n"


def framed(way: str, body: bytes, http: Build) -> bytes:
    """The whole answer as bytes on the wire."""
    if way == "chunked":
        return bytes(http(chunked(body), Transfer_Encoding="chunked"))
    return bytes(http(body, Content_Length=str(len(body))) if way == "counted" else http(body))


def told(chunks: list[Chunk]) -> tuple[str, str, dict[int, str]]:
    """(words, thoughts, arguments by call)"""
    calls: dict[int, str] = {}
    for part in chunks:
        if isinstance(part, CallPart):
            calls[part.index] = calls.get(part.index, "") + part.arguments
    words, thoughts = ("".join(part.text for part in chunks if isinstance(part, kind)) for kind in (Text, Reasoning))
    return words, thoughts, calls


WAYS = ["ended", "counted", "chunked"]
CASES = [f"{name}, {way}" for name in ANSWERS for way in WAYS]


@pytest.mark.timeout(900)
@pytest.mark.parametrize("end", ["reset", b""])
@pytest.mark.parametrize("case", sparing(CASES, "words, chunked", "calls, counted"))
def test_an_answer_may_break_off_at_every_byte(ask: Build, http: Build, case: str, end: Any) -> None:
    name, _, way = case.partition(", ")
    answer = framed(way, lines(ANSWERS[name], "\r\n" if way == "counted" else "\n"), http)
    whole = ask([answer])
    assert isinstance(whole.chunks[-1], Finish)
    words, thoughts, calls = told(whole.chunks)
    for cut in range(0, len(answer), deep(97, 1)):
        outcome = ask([answer[:cut], end], limits=LIMITS)
        assert outcome.error is None or isinstance(outcome.error, ProviderError), cut
        said, thought, called = told(outcome.chunks)
        assert words.startswith(said), cut
        assert thoughts.startswith(thought), cut
        assert all(calls[index].startswith(arguments) for index, arguments in called.items()), cut
        assert outcome.error or isinstance(outcome.chunks[-1], Finish), cut
        assert len(outcome.seen) == 1 or not outcome.chunks, cut  # nothing is said twice


VALUES = [*WRONG, 10**30, -(2**63), {"index": -1}, [[[]]], *HOSTILE.values()]
RAW = (
    "",
    "[",
    "null",
    "NaN",
    '"x"',
    "\x00",
    "{" * 500,
    '{"choices":' * 3,
    "[DONE]",
    "\ud83d".encode("utf-8", "surrogatepass"),
)


def garbled(chance: random.Random) -> bytes:
    """An answer with mistakes: in what its events say, in their order, in their bytes."""
    events: list[Any] = [dict(one) for one in ANSWERS[chance.choice(list(ANSWERS))]]
    for _ in range(chance.choice((1, 1, 2, 5))):
        _spoil(chance, events)
    body = bytearray(lines(events, chance.choice(("\n", "\r\n", "\r"))))
    for _ in range(chance.choice((0, 0, 1, 10))):
        spot = chance.randrange(len(body))
        body[spot : spot + chance.randrange(3)] = chance.randbytes(chance.randrange(3))
    return bytes(body)


def _spoil(chance: random.Random, events: list[Any]) -> None:
    place = chance.randrange(len(events))
    one = events[place]
    match chance.randrange(6):
        case 0:
            events[place] = chance.choice([raw if isinstance(raw, str) else raw.decode("latin-1") for raw in RAW])
        case 1:
            chance.shuffle(events)
        case 2:
            events.insert(place, {"error": chance.choice([*VALUES[:9], {"message": "no", "code": 400}, {"type": []}])})
        case 3:
            events[place:place] = [one] * chance.choice((1, 3, 50))
        case _ if isinstance(one, dict):
            path = chance.choice(list(places(one)))
            value = chance.choice([*VALUES, at(one, path), [at(one, path)]])
            events[place] = put(one, path, value)


def answers(chance: random.Random, http: Build) -> Iterator[bytes]:
    while True:
        body = garbled(chance)
        kind = chance.choice(
            ("text/event-stream",) * 6 + ("application/json", "text/html", "", "text/event-stream; charset=utf-7")
        )
        status = chance.choice((200,) * 8 + (100, 201, 204, 206, 301, 304, 400, 418, 500, 599, 999))
        encoding = {"Content_Encoding": chance.choice(("gzip", "br", "x"))} if chance.randrange(20) == 0 else {}
        framing = chance.choice(
            (
                {},
                {},
                {"Content_Length": str(len(body))},
                {"Content_Length": chance.choice(("0", "-1", "x", "9" * 30, str(len(body) + 5)))},
                {"Transfer_Encoding": chance.choice(("chunked", "gzip, chunked", "x"))},
            )
        )
        yield http(body, status=status, kind=kind, **framing, **encoding)


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("seed", range(deep(2, 40)))
def test_an_answer_that_is_none_comes_to_an_end(ask: Build, http: Build, seed: int) -> None:
    chance = random.Random(seed)
    made = answers(chance, http)
    failed = 0
    for number in range(100):
        answer = next(made)
        outcome = ask([answer, chance.choice(("reset", b""))], limits=LIMITS)
        failed += outcome.error is not None
        assert outcome.error is None or isinstance(outcome.error, ProviderError), (number, answer, outcome.error)
        assert outcome.error or isinstance(outcome.chunks[-1], Finish), (number, answer)
        for part in outcome.chunks:
            texts = (part.text,) if isinstance(part, Text | Reasoning) else ()
            assert all(letter < "\ud800" or letter > "\udfff" for text in texts for letter in text), (number, answer)
    assert failed > 10

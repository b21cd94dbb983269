"""Parses the answer of a chat-completions call: bytes in, chunks out.

It reads a stream of events, or the single JSON document of an endpoint that does not stream. It does
no I/O and sets no timeouts. It raises only ProviderError, after it has yielded the chunks before the error.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NoReturn

import msgspec

from agents.base.errors import ProviderError
from agents.base.schemas.wire import JSON
from agents.loop.inference.base import Chunk, Finish, Reasoning, Text
from agents.loop.inference.chat.call_parts import FragmentSorter, TooManyCalls, random_call_id
from agents.loop.inference.chat.endpoint_errors import EndpointErrors, ReportedError
from agents.loop.inference.chat.logprobs import LogprobReader
from agents.loop.inference.chat.sse import EventSplitter, EventTooLarge
from agents.record.schemas.content import MAX_TOKENS, Usage

_DONE = b"[DONE]"


class _Function(msgspec.Struct, gc=False):
    name: str | None = None
    # A string by the standard; some endpoints send the object itself.
    arguments: str | dict[str, JSON] | None = None


class _Call(msgspec.Struct, gc=False):
    index: int | None = None
    id: str | None = None
    function: _Function | None = None


class _Delta(msgspec.Struct, gc=False):
    content: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    refusal: str | None = None
    tool_calls: list[_Call] | None = None


class _Choice(msgspec.Struct, gc=False):
    index: int | None = None
    delta: _Delta | None = None
    message: _Delta | None = None
    finish_reason: str | None = None
    # vLLM's: the stop sequence, or the number of a token
    stop_reason: JSON = None
    # Read leniently, as the counts of tokens are.
    logprobs: JSON = None


class _Frame(msgspec.Struct, gc=False):
    choices: list[_Choice] | None = None
    # Read leniently: an unexpected shape of the counts must not fail the answer.
    usage: JSON = None
    error: JSON = None


_read_frame = msgspec.json.Decoder(_Frame).decode
OUTPUT_CHARS = 4 * 2**20
"""The maximum length of an answer, in characters."""


class ChatStream:
    """One answer being received. ``began`` is set by the first event, ``started`` by the first chunk, ``finished``
    by a finish reason, and ``done`` when nothing more is to be read."""

    __slots__ = (
        "_calls", "_faults", "_limit", "_logprobs", "_model", "_probabilities", "_reason", "_size", "_splitter",
        "_stop", "_usage", "began", "done", "started",
    )  # fmt: skip

    def __init__(
        self,
        faults: EndpointErrors,
        *,
        model: str = "",
        output_chars: int = OUTPUT_CHARS,
        new_call_id: Callable[[], str] = random_call_id,
    ) -> None:
        self._faults = faults
        self._model = model
        self._limit = output_chars
        self._splitter = EventSplitter()
        self._calls = FragmentSorter(new_call_id)
        self._reason: str | None = None
        self._stop: str | None = None
        self._usage: Usage | None = None
        self._probabilities = LogprobReader()
        self._logprobs: list[dict[str, JSON]] = []  # of tokens whose text has not come yet
        self._size = 0
        self.began = self.started = False
        self.done = False

    @property
    def finished(self) -> bool:
        return self.done or self._reason is not None

    def feed(self, data: bytes) -> Iterator[Chunk]:
        """Return the chunks that ``data`` completes. Exhaust the iterator before the next call."""
        try:
            payloads = self._splitter.feed(data)
        except EventTooLarge as error:
            raise self._faults.too_large(str(error)) from None
        return self._chunks(payloads)

    def end(self) -> Iterator[Chunk]:
        """Yield the chunks that were still buffered after the last byte, and the Finish. An answer without
        a finish reason and without ``[DONE]`` was cut."""
        yield from self._chunks([payload for payload in self._splitter.end() if _is_complete(payload)])
        if not self.finished:
            raise self._faults.cut("the stream ended without a finish reason")
        yield from self._calls.unnamed_calls()
        yield Finish(self._reason, self._usage, self._stop)

    def document(self, body: bytes) -> Iterator[Chunk]:
        """Yield the chunks of an answer that came as one JSON document, the Finish included."""
        yield from self._chunks([body])
        if not (self.started or self.finished):
            raise self._faults.error(f"answered without a completion: {self._faults.quote(_text(body))}")
        self.done = True
        yield from self.end()

    def _chunks(self, payloads: list[bytes]) -> Iterator[Chunk]:
        """Yield the chunks of these payloads. Chunks before an error are yielded before it is raised."""
        chunks: list[Chunk] = []
        try:
            for payload in payloads:
                self.began = True
                if self.done:
                    break
                self._read(payload, chunks)
        except ProviderError:
            yield from chunks
            raise
        yield from chunks

    def _read(self, payload: bytes, chunks: list[Chunk]) -> None:
        if payload == _DONE:
            self.done = True
            return
        frame = self._decode(payload)
        if frame.choices:
            for choice in frame.choices:
                # Only one choice was requested; a second one would be mixed into the first.
                if not choice.index:
                    self._read_choice(choice, chunks)
            self.started = self.started or bool(chunks)
        if frame.usage is not None:
            self._usage = _usage(frame.usage) or self._usage
        if frame.error is not None or not (frame.choices or frame.usage):
            self._check_error(payload)

    def _read_choice(self, choice: _Choice, chunks: list[Chunk]) -> None:
        if choice.finish_reason:
            self._reason = choice.finish_reason
            self._stop = choice.stop_reason if isinstance(choice.stop_reason, str) else None
        delta = choice.delta or choice.message
        if delta is None:
            return
        if reasoning := delta.reasoning_content or delta.reasoning:
            self._count(len(reasoning))
            chunks.append(Reasoning(reasoning))
        if choice.logprobs and not (reasoning or delta.tool_calls):
            self._logprobs += self._probabilities.read(choice.logprobs)
        if text := delta.content or delta.refusal:
            self._count(len(text))
            chunks.append(Text(text, self._logprobs) if self._logprobs else Text(text))
            self._logprobs = []
        if delta.tool_calls:
            self._read_calls(delta.tool_calls, chunks)

    def _read_calls(self, calls: list[_Call], chunks: list[Chunk]) -> None:
        for call in calls:
            name, arguments = _function(call.function)
            self._count(len(name) + len(arguments))
            try:
                part = self._calls.add(call.index, call.id or "", name, arguments)
            except TooManyCalls as error:
                raise self._faults.too_large(str(error)) from None
            if part:
                chunks.append(part)

    def _count(self, chars: int) -> None:
        self._size += chars
        if self._size > self._limit:
            raise self._faults.too_large(f"an answer of more than {self._limit} characters")

    def _decode(self, payload: bytes) -> _Frame:
        try:
            return _read_frame(payload)
        except (ValueError, RecursionError) as error:
            first = error
        try:
            return _read_frame(_without_lone_surrogates(payload))
        except (ValueError, RecursionError):
            self._refuse(payload, first)

    def _refuse(self, payload: bytes, cause: Exception) -> NoReturn:
        quoted = self._faults.quote(_text(payload))
        raise self._faults.error(f"sent an event that cannot be read ({cause}): {quoted}") from None

    def _check_error(self, payload: bytes) -> None:
        """Raise ProviderError for an event without choices that reports an error. Other such events are an
        endpoint's own (keep-alives, content filters) and are ignored."""
        try:
            event = msgspec.json.decode(_without_lone_surrogates(payload))
        except (ValueError, RecursionError) as error:
            # Valid in the fields that were decoded before, but not in those that were skipped.
            self._refuse(payload, error)
        if event.get("error") is not None or event.get("object") == "error" or event.get("detail") is not None:
            raise self._faults.reported(ReportedError.of(event), model=self._model)


def _text(payload: bytes) -> str:
    """Decode the beginning of a payload, enough for a quotation."""
    return payload[:2_000].decode(errors="replace")


def _is_complete(payload: bytes) -> bool:
    """Whether the last event of a stream can be parsed: if not, the stream was cut inside it."""
    try:
        _read_frame(_without_lone_surrogates(payload))
    except (ValueError, RecursionError):
        return payload == _DONE
    return True


def _function(function: _Function | None) -> tuple[str, str]:
    if function is None:
        return "", ""
    arguments = function.arguments or ""
    if isinstance(arguments, dict):
        arguments = msgspec.json.encode(arguments).decode()
    return function.name or "", arguments


def _usage(counts: JSON) -> Usage | None:
    """Parse the token counts of an answer; None where there are none."""
    if not isinstance(counts, dict) or not counts:
        return None
    return Usage(
        input_tokens=_count_in(counts, "prompt_tokens"),
        output_tokens=_count_in(counts, "completion_tokens"),
        cached_tokens=_count_in(counts.get("prompt_tokens_details"), "cached_tokens"),
        reasoning_tokens=_count_in(counts.get("completion_tokens_details"), "reasoning_tokens"),
    )


def _count_in(counts: JSON, name: str) -> int:
    value = counts.get(name) if isinstance(counts, dict) else None
    return value if type(value) is int and 0 <= value <= MAX_TOKENS else 0


# A surrogate pair, a lone half, or any other escape (so that an escaped backslash is not read as
# the beginning of one).
_ESCAPE = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})|\\.", re.DOTALL
)


def _without_lone_surrogates(payload: bytes) -> bytes:
    """Replace lone surrogates by U+FFFD. Endpoints that cut text by UTF-16 units send them, msgspec
    refuses them, and half an emoji must not fail an answer."""
    return _ESCAPE.sub(lambda found: rb"\ufffd" if found[1] else found[0], payload)

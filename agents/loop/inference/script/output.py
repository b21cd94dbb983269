"""Turns actions into chunks: cuts texts into tokens, counts them, and ends at ``max_tokens`` or a stop
sequence. It does not wait."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from hashlib import blake2b

from agents.loop.inference.base import CallPart, Chunk, Finish, InferenceRequest, Reasoning, Text
from agents.loop.inference.chat.call_parts import MAX_CALLS
from agents.loop.inference.chat.stream import OUTPUT_CHARS
from agents.loop.inference.script import likelihood
from agents.loop.inference.script.actions import CallTool, Repeat, Say, Think
from agents.record.schemas.content import Usage

# Words with the space before them, long ones in parts: joined they are the text again.
_TOKEN = re.compile(r"\s*\S{1,16}|\s+")


class OutputTooLarge(ValueError):
    """An answer beyond the limits of every endpoint."""


class StopSequences:
    """Ends a text before the first stop sequence, which is ``hit`` then. Text that may be the beginning of one is
    buffered until more text decides."""

    def __init__(self, stops: Sequence[str]) -> None:
        self._stops = [stop for stop in stops if stop]
        self._buffered = ""
        self.hit: str | None = None

    def take(self, text: str) -> str:
        """Add text; returns the part of the text so far that can be sent now."""
        if not self._stops:
            return text
        text = self._buffered + text
        positions = [(position, stop) for stop in self._stops if (position := text.find(stop)) >= 0]
        if positions:
            position, self.hit = min(positions)
            self._buffered = ""
            return text[:position]
        buffered_chars = max(self._prefix_length(text, stop) for stop in self._stops)
        self._buffered = text[len(text) - buffered_chars :]
        return text[: len(text) - buffered_chars]

    @property
    def is_hit(self) -> bool:
        return self.hit is not None

    @staticmethod
    def _prefix_length(text: str, stop: str) -> int:
        """The length of the longest proper prefix of ``stop`` that ends ``text``."""
        return next((size for size in range(min(len(stop) - 1, len(text)), 0, -1) if text.endswith(stop[:size])), 0)

    def flush(self) -> str:
        """Return the buffered text, at the end."""
        buffered, self._buffered = self._buffered, ""
        return buffered


class ScriptedOutput:
    """The output of one request. It ends when ``max_tokens`` are used up (``is_cut_short`` if there was
    more to send) and at a stop sequence. ``token_count`` counts the tokens so far."""

    def __init__(self, request: InferenceRequest, *, prompt_tokens: int) -> None:
        self._prompt_tokens = prompt_tokens
        self._limit = request.sampling.max_tokens or None
        # The same request gets the same ids; the next round is another request.
        self._ids = blake2b(b"\n".join(request.messages), digest_size=12)
        self._likely_tokens = int(request.options.get("top_logprobs", 0)) if request.options.get("logprobs") else None
        self._stops = StopSequences(request.sampling.stop or ())
        self.is_cut_short = False
        self._calls = 0
        self._thoughts = 0
        self._started_kinds: set[type[Chunk]] = set()
        self.token_count = self._size = 0

    def tokens(self, action: Say | Repeat | Think | CallTool) -> Iterator[Chunk]:
        for chunk in self._chunks(action):
            self._count(chunk)
            if self.token_count == self._limit:
                self.is_cut_short = True
                return
            self.token_count += 1
            self._thoughts += isinstance(chunk, Reasoning)
            yield from self._until_stop(chunk)
            if self._stops.is_hit:
                return

    def _count(self, chunk: Text | Reasoning | CallPart) -> None:
        self._size += len(chunk.arguments if isinstance(chunk, CallPart) else chunk.text)
        if self._size > OUTPUT_CHARS:
            raise OutputTooLarge(f"an answer of more than {OUTPUT_CHARS} characters")

    def _until_stop(self, chunk: Chunk) -> Iterator[Chunk]:
        if not isinstance(chunk, Text):
            yield chunk
        elif text := self._stops.take(chunk.text):
            yield self._text(text)

    def _text(self, text: str) -> Text:
        return Text(text) if self._likely_tokens is None else Text(text, [likelihood.of(text, self._likely_tokens)])

    @property
    def is_over(self) -> bool:
        """Whether the output has ended, so that further actions have no effect."""
        return self.is_cut_short or self._stops.is_hit

    def end(self, reason: str | None = None) -> Iterator[Chunk]:
        """Yield the last chunks; the finish reason is ``reason`` unless the output ended earlier."""
        if buffered := self._stops.flush():
            yield self._text(buffered)
        yield self._finish("stop" if self._stops.is_hit else reason)

    def _finish(self, reason: str | None) -> Finish:
        usage = Usage(input_tokens=self._prompt_tokens, output_tokens=self.token_count, reasoning_tokens=self._thoughts)
        if self.is_cut_short:
            return Finish("length", usage)
        return Finish(reason or ("tool_calls" if self._calls else "stop"), usage, self._stops.hit)

    def _chunks(self, action: Say | Repeat | Think | CallTool) -> Iterator[Text | Reasoning | CallPart]:
        match action:
            case Say(text=text):
                yield from self._lines(Text, text)
            case Think(text=text):
                yield from self._lines(Reasoning, text)
            case Repeat(times=times, text=text):
                for turn in range(times):
                    yield from map(Text, _TOKEN.findall(f" {text}")) if turn else self._lines(Text, text)
            case CallTool(tool_name=name, arguments=arguments):
                yield from self._call(name, arguments)

    def _lines(self, kind: type[Text] | type[Reasoning], text: str) -> Iterator[Text | Reasoning]:
        """Yield the tokens of a text on a line of its own, after earlier lines of the same kind."""
        text = f"\n{text}" if kind in self._started_kinds else text
        self._started_kinds.add(kind)
        return map(kind, _TOKEN.findall(text))

    def _call(self, name: str, arguments: str) -> Iterator[CallPart]:
        index = self._calls
        self._calls += 1
        if self._calls > MAX_CALLS:
            raise OutputTooLarge(f"more than {MAX_CALLS} tool calls")
        call_hash = self._ids.copy()
        call_hash.update(index.to_bytes(4, "big"))
        first, *parts = _TOKEN.findall(arguments) or [""]
        yield CallPart(index, first, call_id=f"call_{call_hash.hexdigest()}", name=name)
        for part in parts:
            yield CallPart(index, part)

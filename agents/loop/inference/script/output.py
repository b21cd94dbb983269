"""Acts as chunks: cut into tokens, counted, bounded by ``max_tokens`` and by words to stop at. No
waiting happens here."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from hashlib import blake2b

from agents.loop.inference.base import CallPart, Chunk, Finish, InferenceRequest, Reasoning, Text
from agents.loop.inference.chat.call_parts import MAX_CALLS
from agents.loop.inference.chat.stream import OUTPUT_CHARS
from agents.loop.inference.script.actions import Call, Repeat, Say, Think
from agents.record.schemas.content import Usage

# Words with the space before them, long ones in pieces: joined they are the text again.
_TOKEN = re.compile(r"\s*\S{1,16}|\s+")


class TooMuch(ValueError):
    """More than any endpoint may answer."""


class Stops:
    """Texts at which an answer ends, none of them a part of it: what may be the beginning of one is
    held back until it is clear."""

    def __init__(self, stops: Sequence[str]) -> None:
        self._stops = [stop for stop in stops if stop]
        self._held = ""
        self.hit = False

    def take(self, text: str) -> str:
        """What can be said of all so far."""
        if not self._stops:
            return text
        text = self._held + text
        found = [place for place in map(text.find, self._stops) if place >= 0]
        if found:
            self.hit, self._held = True, ""
            return text[: min(found)]
        keep = max(self._beginning(text, stop) for stop in self._stops)
        self._held = text[len(text) - keep :]
        return text[: len(text) - keep]

    @staticmethod
    def _beginning(text: str, stop: str) -> int:
        """How many characters at the end of the text begin this stop."""
        return next((size for size in range(min(len(stop) - 1, len(text)), 0, -1) if text.endswith(stop[:size])), 0)

    def rest(self) -> str:
        """What was held back, once nothing more comes."""
        held, self._held = self._held, ""
        return held


class Performance:
    """The performance of one request. With ``max_tokens`` used up it falls silent, and
    ``is_cut_short`` as soon as there was more to tell; so it does at a stop. ``produced`` counts
    tokens so far."""

    def __init__(self, request: InferenceRequest, *, prompt_words: int) -> None:
        self._prompt_words = prompt_words
        self._limit = request.sampling.max_tokens or None
        # The same request gets the same ids; the next round is another request.
        self._ids = blake2b(b"\n".join(request.messages), digest_size=12)
        self._stops = Stops(request.sampling.stop or ())
        self.is_cut_short = False
        self._calls = 0
        self._thoughts = 0
        self._begun: set[type[Chunk]] = set()
        self.produced = self._size = 0

    def tokens(self, act: Say | Repeat | Think | Call) -> Iterator[Chunk]:
        for chunk in self._chunks(act):
            self._count(chunk)
            if self.produced == self._limit:
                self.is_cut_short = True
                return
            self.produced += 1
            self._thoughts += isinstance(chunk, Reasoning)
            yield from self._let_through(chunk)
            if self._stops.hit:
                return

    def _count(self, chunk: Text | Reasoning | CallPart) -> None:
        self._size += len(chunk.arguments if isinstance(chunk, CallPart) else chunk.text)
        if self._size > OUTPUT_CHARS:
            raise TooMuch(f"an answer of more than {OUTPUT_CHARS} characters")

    def _let_through(self, chunk: Chunk) -> Iterator[Chunk]:
        if not isinstance(chunk, Text):
            yield chunk
        elif said := self._stops.take(chunk.text):
            yield Text(said)

    @property
    def is_over(self) -> bool:
        """Whether nothing more is told, whatever comes."""
        return self.is_cut_short or self._stops.hit

    def end(self, reason: str | None = None) -> Iterator[Chunk]:
        """The last chunks, with ``reason`` unless it ended earlier by its own."""
        if rest := self._stops.rest():
            yield Text(rest)
        yield self._finish("stop" if self._stops.hit else reason)

    def _finish(self, reason: str | None) -> Finish:
        usage = Usage(input_tokens=self._prompt_words, output_tokens=self.produced, reasoning_tokens=self._thoughts)
        if self.is_cut_short:
            return Finish("length", usage)
        return Finish(reason or ("tool_calls" if self._calls else "stop"), usage)

    def _chunks(self, act: Say | Repeat | Think | Call) -> Iterator[Text | Reasoning | CallPart]:
        match act:
            case Say(text=text):
                yield from self._lines(Text, text)
            case Think(text=text):
                yield from self._lines(Reasoning, text)
            case Repeat(times=times, text=text):
                for turn in range(times):
                    yield from map(Text, _TOKEN.findall(f" {text}")) if turn else self._lines(Text, text)
            case Call(tool_name=name, arguments=arguments):
                yield from self._call(name, arguments)

    def _lines(self, kind: type[Text] | type[Reasoning], text: str) -> Iterator[Text | Reasoning]:
        """A text of its own line, after the lines of its kind before it."""
        text = f"\n{text}" if kind in self._begun else text
        self._begun.add(kind)
        return map(kind, _TOKEN.findall(text))

    def _call(self, name: str, arguments: str) -> Iterator[CallPart]:
        index = self._calls
        self._calls += 1
        if self._calls > MAX_CALLS:
            raise TooMuch(f"more than {MAX_CALLS} tool calls")
        own = self._ids.copy()
        own.update(index.to_bytes(4, "big"))
        first, *more = _TOKEN.findall(arguments) or [""]
        yield CallPart(index, first, call_id=f"call_{own.hexdigest()}", name=name)
        for part in more:
            yield CallPart(index, part)

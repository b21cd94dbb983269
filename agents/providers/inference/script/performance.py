"""Acts as chunks: cut into tokens, counted, bounded by ``max_tokens``. No waiting happens here."""

from __future__ import annotations

import re
from collections.abc import Iterator
from hashlib import blake2b

from agents.providers.inference.base import CallPart, Chunk, Finish, InferenceRequest, Reasoning, Text
from agents.providers.inference.script.acts import Call, Repeat, Say, Think
from agents.schemas.content import Usage

# Words with the space before them, long ones in pieces: joined they are the text again.
_TOKEN = re.compile(r"\s*\S{1,16}|\s+")


class Performance:
    """The performance of one request. With ``max_tokens`` used up it falls silent, and
    ``is_cut_short`` as soon as there was more to tell. ``produced`` counts tokens so far."""

    def __init__(self, request: InferenceRequest, *, prompt_words: int) -> None:
        self._prompt_words = prompt_words
        self._limit = request.sampling.max_tokens or None
        # The same request gets the same ids; the next round is another request.
        self._ids = blake2b(b"\n".join(request.messages), digest_size=12)
        self.is_cut_short = False
        self._calls = 0
        self._thoughts = 0
        self._begun: set[type[Chunk]] = set()
        self.produced = 0

    def tokens(self, act: Say | Repeat | Think | Call) -> Iterator[Chunk]:
        for chunk in self._chunks(act):
            if self.produced == self._limit:
                self.is_cut_short = True
                return
            self.produced += 1
            self._thoughts += isinstance(chunk, Reasoning)
            yield chunk

    def finish(self, reason: str | None = None) -> Finish:
        """With ``reason``, unless it ended earlier by its own."""
        usage = Usage(input_tokens=self._prompt_words, output_tokens=self.produced, reasoning_tokens=self._thoughts)
        if self.is_cut_short:
            return Finish("length", usage)
        return Finish(reason or ("tool_calls" if self._calls else "stop"), usage)

    def _chunks(self, act: Say | Repeat | Think | Call) -> Iterator[Chunk]:
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

    def _lines(self, kind: type[Text] | type[Reasoning], text: str) -> Iterator[Chunk]:
        """A text of its own line, after the lines of its kind before it."""
        text = f"\n{text}" if kind in self._begun else text
        self._begun.add(kind)
        return map(kind, _TOKEN.findall(text))

    def _call(self, name: str, arguments: str) -> Iterator[CallPart]:
        index = self._calls
        self._calls += 1
        own = self._ids.copy()
        own.update(index.to_bytes(4, "big"))
        first, *more = _TOKEN.findall(arguments) or [""]
        yield CallPart(index, first, call_id=f"call_{own.hexdigest()}", name=name)
        for part in more:
            yield CallPart(index, part)

"""The events of a chat completion as events of Anthropic's Messages API, and all of them together as a message.

A message is a list of blocks, of which one after the other is begun, filled and ended. Chat completions may fill
several calls at once: those behind one that is not complete wait until the end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import msgspec

from agents.base.schemas.wire import JSON
from agents.relay.wire.chat_completions import usage_of
from agents.relay.wire.message_texts import signature

Event = dict[str, JSON]
Thinking = Literal["shown", "omitted", "none"]
"""What a client sees of a model's thoughts: all, only that there were some, or nothing."""

_STOPS = {"length": "max_tokens", "content_filter": "refusal"}
RAW_ARGUMENTS = "arguments"
"""The name under which arguments are that are no JSON object: a client takes nothing else."""


@dataclass(slots=True)
class _Text:
    """A block of text. Of each kind of blocks, ``delta`` returns what is to be sent of more text now, ``rest`` what is
    to be sent before the end, and ``complete`` the whole block."""

    texts: list[str] = field(default_factory=list)
    is_complete = True

    def start(self) -> Event:
        return {"type": "text", "text": ""}

    def delta(self, text: str) -> Event | None:
        return {"type": "text_delta", "text": text}

    def rest(self) -> Event | None:
        return None

    def complete(self) -> Event:
        return {"type": "text", "text": "".join(self.texts)}


@dataclass(slots=True)
class _Thoughts:
    signed: str
    is_shown: bool
    texts: list[str] = field(default_factory=list)
    is_complete = True

    def start(self) -> Event:
        return {"type": "thinking", "thinking": "", "signature": ""}

    def delta(self, text: str) -> Event | None:
        return {"type": "thinking_delta", "thinking": text} if self.is_shown else None

    def rest(self) -> Event | None:
        return {"type": "signature_delta", "signature": self.signed}

    def complete(self) -> Event:
        thinking = "".join(self.texts) if self.is_shown else ""
        return {"type": "thinking", "thinking": thinking, "signature": self.signed}


@dataclass(slots=True)
class _Call:
    call_id: str
    name: str
    texts: list[str] = field(default_factory=list)
    _unsent: str = ""
    _is_object: bool | None = None

    @property
    def is_complete(self) -> bool:
        return _decoded("".join(self.texts)) is not None

    def start(self) -> Event:
        return {"type": "tool_use", "id": self.call_id, "name": self.name, "input": {}}

    def delta(self, text: str) -> Event | None:
        """Hold back what is no object."""
        self._unsent += text
        if self._is_object is None and (beginning := self._unsent.lstrip()):
            self._is_object = beginning.startswith("{")
        if not self._is_object:
            return None
        sent, self._unsent = self._unsent, ""
        return {"type": "input_json_delta", "partial_json": sent}

    def rest(self) -> Event | None:
        if not self._unsent.strip():
            return None
        return {"type": "input_json_delta", "partial_json": msgspec.json.encode(self._input()).decode()}

    def complete(self) -> Event:
        return {**self.start(), "input": self._input()}

    def _input(self) -> JSON:
        text = "".join(self.texts)
        if not text.strip():
            return {}
        decoded = _decoded(text)
        return decoded if isinstance(decoded, dict) else {RAW_ARGUMENTS: text}


def _decoded(text: str) -> JSON:
    """Decode JSON; None where it is none."""
    try:
        return msgspec.json.decode(text)
    except (ValueError, RecursionError):
        return None


_Block = _Text | _Thoughts | _Call


@dataclass(slots=True)
class MessageStream:
    """One message. ``head`` are the fields of it that are known before it begins: its id and model, and those of an
    agent's turn."""

    head: Mapping[str, JSON]
    thinking: Thinking = "none"
    stop_sequences: Sequence[str] = ()
    _has_begun: bool = False
    _blocks: list[_Block] = field(default_factory=list)
    _sent_to: int = -1
    _calls: dict[int, int] = field(default_factory=dict)
    _finish: str | None = None
    _stop: JSON = None
    _usage: Event = field(default_factory=lambda: usage_json({}))

    def add(self, chunk: Mapping[str, JSON]) -> Iterator[Event]:
        """Yield the events for one of a chat completion."""
        if chunk.get("usage"):
            self._usage = usage_json(chunk)
        for choice in chunk.get("choices") or ():
            if not choice.get("index"):
                yield from self._choice(choice)

    def end(self) -> Iterator[Event]:
        """Yield the events behind the last block."""
        yield from self._begin_message()
        yield from self._end_block()
        for position in range(self._sent_to + 1, len(self._blocks)):
            self._sent_to = position
            yield from self._begin_block()
            yield from self._end_block()
        yield {"type": "message_delta", "delta": self._ending(), "usage": self._usage}
        yield {"type": "message_stop"}

    def message(self) -> Event:
        """Return the message, once the completion has ended."""
        content = [block.complete() for block in self._blocks]
        return {**self._empty(), "content": content, **self._ending(), "usage": self._usage}

    # ----------------------------------------------------------------------------------------- parts

    def _empty(self) -> Event:
        fixed: Event = {
            "type": "message",
            "role": "assistant",
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
        }
        return {**self.head, **fixed, "usage": usage_json({})}

    def _ending(self) -> Event:
        stopped_by = self._stop if isinstance(self._stop, str) and self._stop in self.stop_sequences else None
        if any(isinstance(block, _Call) for block in self._blocks) and self._finish != "length":
            reason = "tool_use"
        elif stopped_by is not None and self._finish == "stop":
            return {"stop_reason": "stop_sequence", "stop_sequence": stopped_by}
        else:
            reason = _STOPS.get(self._finish or "", "end_turn")
        return {"stop_reason": reason, "stop_sequence": None}

    def _choice(self, choice: Mapping[str, JSON]) -> Iterator[Event]:
        delta = choice.get("delta") or {}
        thought, text = delta.get("reasoning_content"), delta.get("content")
        if thought and self.thinking != "none":
            if not (self._blocks and isinstance(self._blocks[-1], _Thoughts)):
                yield from self._new_block(_Thoughts(signature(str(self.head["model"])), self.thinking == "shown"))
            yield from self._fill(len(self._blocks) - 1, thought)
        if text:
            if not (self._blocks and isinstance(self._blocks[-1], _Text)):
                yield from self._new_block(_Text())
            yield from self._fill(len(self._blocks) - 1, text)
        for call in delta.get("tool_calls") or ():
            yield from self._call(call)
        self._finish = choice.get("finish_reason") or self._finish
        self._stop = choice.get("stop_reason", self._stop)

    def _call(self, call: Mapping[str, JSON]) -> Iterator[Event]:
        index, function = call["index"], call["function"]
        if index not in self._calls:
            self._calls[index] = len(self._blocks)
            yield from self._new_block(_Call(call["id"], function["name"]))
        yield from self._fill(self._calls[index], function["arguments"])

    # ---------------------------------------------------------------------------------------- events

    def _begin_message(self) -> Iterator[Event]:
        if not self._has_begun:
            self._has_begun = True
            yield {"type": "message_start", "message": self._empty()}

    def _new_block(self, block: _Block) -> Iterator[Event]:
        """Begin a block, if the one before it is at its end."""
        yield from self._begin_message()
        self._blocks.append(block)
        before = len(self._blocks) - 2
        if before == self._sent_to and (before < 0 or self._blocks[before].is_complete):
            yield from self._end_block()
            self._sent_to += 1
            yield from self._begin_block()

    def _fill(self, position: int, text: str) -> Iterator[Event]:
        if not text:
            return
        self._blocks[position].texts.append(text)
        if position == self._sent_to:
            yield from self._delta(self._blocks[position].delta(text))

    def _begin_block(self) -> Iterator[Event]:
        block = self._blocks[self._sent_to]
        yield {"type": "content_block_start", "index": self._sent_to, "content_block": block.start()}
        if block.texts:
            yield from self._delta(block.delta("".join(block.texts)))

    def _end_block(self) -> Iterator[Event]:
        if self._sent_to >= 0:
            yield from self._delta(self._blocks[self._sent_to].rest())
            yield {"type": "content_block_stop", "index": self._sent_to}

    def _delta(self, delta: Event | None) -> Iterator[Event]:
        if delta is not None:
            yield {"type": "content_block_delta", "index": self._sent_to, "delta": delta}


def usage_json(completion: Mapping[str, JSON]) -> Event:
    """Return the token counts of a completion, those read from a cache apart."""
    usage = usage_of(completion)
    return {
        "input_tokens": usage.input_tokens - usage.cached_tokens,
        "output_tokens": usage.output_tokens,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": usage.cached_tokens,
    }

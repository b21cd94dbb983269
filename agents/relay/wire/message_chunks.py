"""What an endpoint says in Anthropic's Messages API, as events of chat completions: for the log, which has those."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from agents.base.schemas.wire import JSON

_FINISHES = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
    "refusal": "content_filter",
}
_DELTAS = {"text_delta": ("text", "content"), "thinking_delta": ("thinking", "reasoning_content")}


class MessageChunks:
    """The events of one message. The endpoint's JSON may have any shape: what cannot be read is left out."""

    def __init__(self) -> None:
        self._usage: dict[str, JSON] = {}
        self._calls: dict[int, int] = {}

    def of_message(self, message: Mapping[str, JSON]) -> Iterator[dict[str, JSON]]:
        """Yield the chunks of a whole message."""
        for index, block in enumerate(_list(message.get("content"))):
            yield from self._begun(index, _object(block))
            if _object(block).get("type") == "tool_use":
                yield self._arguments(index, msgspec.json.encode(_object(block).get("input")).decode())
        yield from self._ended(message)

    def of_event(self, event: Mapping[str, JSON]) -> Iterator[dict[str, JSON]]:
        """Yield the chunks of an event."""
        index = event["index"] if isinstance(event.get("index"), int) else 0
        match event.get("type"):
            case "message_start":
                self._add_usage(_object(event.get("message")))
                yield {"choices": [], "usage": self._chat_usage()}
            case "content_block_start":
                yield from self._begun(index, _object(event.get("content_block")))
            case "content_block_delta":
                yield from self._delta(index, _object(event.get("delta")))
            case "message_delta":
                yield from self._ended({**_object(event.get("delta")), "usage": event.get("usage")})
            case _:
                pass

    def _begun(self, index: int, block: Mapping[str, JSON]) -> Iterator[dict[str, JSON]]:
        match block.get("type"):
            case "text":
                yield _chunk({"content": _text(block.get("text"))})
            case "thinking":
                yield _chunk({"reasoning_content": _text(block.get("thinking"))})
            case "tool_use":
                self._calls[index] = len(self._calls)
                function = {"name": _text(block.get("name")), "arguments": ""}
                call = {"index": self._calls[index], "id": _text(block.get("id")), "type": "function"}
                yield _chunk({"tool_calls": [{**call, "function": function}]})
            case _:
                pass

    def _delta(self, index: int, delta: Mapping[str, JSON]) -> Iterator[dict[str, JSON]]:
        kind = delta.get("type")
        if kind == "input_json_delta" and index in self._calls:
            yield self._arguments(index, _text(delta.get("partial_json")))
        elif kind in _DELTAS:
            source, name = _DELTAS[kind]
            yield _chunk({name: _text(delta.get(source))})

    def _arguments(self, index: int, text: str) -> dict[str, JSON]:
        return _chunk({"tool_calls": [{"index": self._calls[index], "function": {"arguments": text}}]})

    def _ended(self, message: Mapping[str, JSON]) -> Iterator[dict[str, JSON]]:
        self._add_usage(message)
        reason = message.get("stop_reason")
        finish = _FINISHES.get(reason, "stop") if isinstance(reason, str) else None
        yield {**_chunk({}, finish), "usage": self._chat_usage()}

    def _add_usage(self, message: Mapping[str, JSON]) -> None:
        counts = _object(message.get("usage")).items()
        self._usage |= {name: value for name, value in counts if type(value) is int and value >= 0}

    def _chat_usage(self) -> dict[str, JSON]:
        """Return the token counts as chat completions have them: those of a cache are among those read."""
        names = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
        own, cached, created = (self._usage.get(name, 0) for name in names)
        read, written = own + cached + created, self._usage.get("output_tokens", 0)
        return {
            "prompt_tokens": read,
            "completion_tokens": written,
            "total_tokens": read + written,
            "prompt_tokens_details": {"cached_tokens": cached},
        }


def _chunk(delta: dict[str, JSON], finish: str | None = None) -> dict[str, JSON]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def _object(value: JSON) -> dict[str, JSON]:
    return value if isinstance(value, dict) else {}


def _list(value: JSON) -> list[JSON]:
    return value if isinstance(value, list) else []


def _text(value: JSON) -> str:
    return value if isinstance(value, str) else ""

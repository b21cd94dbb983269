"""Decoder of OpenAI's JSONL files, of which each line is a turn: examples for fine-tuning
(``{"messages": [ … ], "tools": [ … ]}``), stored chat completions and responses, one a line or as a list, and lines
that a batch puts out (``{"custom_id", "response": {"status_code", "body"}, "error"}``).

The user's messages after the last answer are the question, all before them history. From there each assistant's message
is a call of the model, each of its calls a tool, whose result is the message with its id. Attributes are those of
session files (`agents.telemetry.reading.sessions`), and ``tools``, ``metadata``, ``custom_id``; format "openai_chat".

A turn's id is that of its completion, else a hash of the line: equal lines are one turn. A completion says when it
was created. Where there is no time **the order of the file** counts: line N begins N seconds after the beginning of the
year 2000, far from all real turns. Steps of a turn follow each other by microseconds, which say their order alone.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import msgspec

from agents.telemetry.reading.decoding import (
    Decoded,
    FormatError,
    as_object,
    identifier,
    list_field,
    raises_invalid_request,
    read_at,
    text_field,
)
from agents.telemetry.reading.sanitize import clean_json
from agents.telemetry.reading.sessions.session_turns import (
    JsonObject,
    SessionTurn,
    object_field,
    objects_in,
    without_empty,
)
from agents.telemetry.reading.timestamps import nanoseconds

FIRST_NS = 946_684_800 * 10**9
"""The beginning of the year 2000."""
_SECOND_NS, _STEP_NS = 10**9, 1000
MAX_NS = 2**62
"""Later times count as this one, in the year 2116."""
_MAX_KEY_CHARS = 60
_COMPLETIONS = ("chat.completion", "response")
_NO_ANSWER = "it is a request without an answer: import the file that the batch put out."


@raises_invalid_request
def from_json(body: object, line: int = 1) -> Decoded:
    """Decode a line, or a list whose first item counts as this line."""
    items = _items(body)
    lines = [_read_line(body)] if items is None else [read_at(f"data[{n}]", _read_line, i) for n, i in enumerate(items)]
    turns = (conversation.turn(line + index) for index, conversation in enumerate(lines))
    return Decoded([span for turn in turns for span in turn.all_spans()])


def is_line(value: JsonObject) -> bool:
    """Tell whether this is a line of one of these files, or a list of completions."""
    if value.get("object") == "list":
        value = next(iter(objects_in(value.get("data"))), {})
    first = next(iter(objects_in(value.get("messages"))), {})
    is_batch = "custom_id" in value and bool(value.keys() & {"response", "error", "body"})
    return _is_completion(value) or is_batch or ("role" in first and bool(first.keys() & {"content", "tool_calls"}))


def _is_completion(value: JsonObject) -> bool:
    return value.get("object") in _COMPLETIONS and bool(value.keys() & {"choices", "output"})


def _items(body: object) -> list[object] | None:
    """Return the items of a list; None of a line alone."""
    if isinstance(body, list):
        return body
    holder = as_object(body)
    return list_field(holder, "data") if holder.get("object") == "list" else None


class _Line:
    """What a line says: the messages of its question and its answer, and the completion that the answer is of."""

    def __init__(self, line: JsonObject) -> None:
        self.error = ""
        self.completion = line if _is_completion(line) else {}
        self.messages = objects_in(line.get("messages"))
        self.metadata = line.get("metadata")
        self.tools = line.get("tools")
        self.custom_id = line.get("custom_id")
        if "custom_id" in line:
            self._read_batch_line(line)
        own_id = identifier(self.completion.get("id")) or (identifier(line.get("id")) if self.custom_id else "")
        self.key = own_id if own_id and len(own_id) <= _MAX_KEY_CHARS else _hash_of(line)

    def _read_batch_line(self, line: JsonObject) -> None:
        if not line.keys() & {"response", "error"}:
            raise FormatError(_NO_ANSWER)
        response = object_field(line, "response")
        body = object_field(response, "body")
        self.completion = body if _is_completion(body) else {}
        error = object_field(line, "error") or object_field(body, "error")
        self.error = text_field(error, "message") or text_field(error, "code")
        if not self.completion and not self.error:
            raise FormatError("it holds neither a chat completion, nor a response, nor an error.", "response.body")

    def turn(self, number: int) -> SessionTurn:
        """Return the turn of the line of this number."""
        at = nanoseconds(self.completion.get("created") or self.completion.get("created_at"))
        at = min(at, MAX_NS) or FIRST_NS + number * _SECOND_NS
        return _TurnBuilder(self, at).build()


def _read_line(value: object) -> _Line:
    line = _Line(clean_json(as_object(value)))
    if not (line.messages or line.completion or line.error):
        raise FormatError("there are no messages, no completion and no error in it.", "messages")
    return line


def _hash_of(line: JsonObject) -> str:
    return blake2b(msgspec.json.encode(line, order="deterministic"), digest_size=16).hexdigest()


class _TurnBuilder:
    """Builds the spans of a line, in order."""

    def __init__(self, line: _Line, at: int) -> None:
        self._line = line
        self._at = at
        self._turn = SessionTurn("openai_chat", "openai", line.key, at)
        self._count = 0
        self._open_calls: dict[str, str] = {}
        start = _question_start(line.messages)
        end = next((index for index in range(start, len(line.messages)) if not _is_users(line.messages[index])), None)
        self._question = line.messages[start:end]
        self._history = line.messages[: start + len(self._question)]
        self._rest = line.messages[start + len(self._question) :]

    def build(self) -> SessionTurn:
        turn, line = self._turn, self._line
        del turn.span.attributes["session"]
        turn.span.attributes |= without_empty(
            input=self._question or None,
            metadata=line.metadata if isinstance(line.metadata, dict) else None,
            custom_id=line.custom_id,
        )
        turn.span.failed, turn.span.message = bool(line.error), line.error
        pending = self._history
        for message in self._rest:
            if message.get("role") == "assistant":
                self._add_answer(pending, [message], {})
                pending = []
            else:
                self._add_result(message)
                pending = [*pending, message]
        if line.completion:
            self._add_completion(pending)
        turn.close(self._next())
        return turn

    def _add_completion(self, pending: list[JsonObject]) -> None:
        """Add the completion's own answer: of several choices the first."""
        completion = self._line.completion
        choice = next(iter(objects_in(completion.get("choices"))), {})
        message = object_field(choice, "message")
        output = [{"role": "assistant", **message}] if message else objects_in(completion.get("output"))
        facts = without_empty(
            model=completion.get("model"),
            usage=completion.get("usage"),
            stop_reason=choice.get("finish_reason"),
            choices=completion.get("choices"),
        )
        self._add_answer(pending, output, facts)

    def _add_answer(self, new: list[JsonObject], output: list[JsonObject], facts: JsonObject) -> None:
        span = self._turn.child("model", f"model-{self._count}", self._next())
        span.end_ns = self._at
        span.name = text_field(facts, "model")
        span.attributes |= without_empty(input=new or None, output=output, tools=self._line.tools) | facts
        for call in (call for item in output for call in _calls(item)):
            tool = self._turn.child("tool", f"tool-{self._count}", self._next())
            tool.name = text_field(call, "name")
            tool.attributes |= call
            self._open_calls[text_field(call, "call_id") or tool.name] = tool.id

    def _add_result(self, message: JsonObject) -> None:
        id = text_field(message, "tool_call_id") or text_field(message, "name")
        tool = self._turn.spans.get(self._open_calls.pop(id, ""))
        if tool is not None:
            tool.attributes["result"] = message.get("content")
            tool.end_ns = self._next()

    def _next(self) -> int:
        self._count += 1
        self._at += _STEP_NS
        return self._at


def _question_start(messages: list[JsonObject]) -> int:
    """Return where the question begins: with the user's last messages that lie together. Without any, all before the
    first answer is history."""
    last = next((index for index in reversed(range(len(messages))) if _is_users(messages[index])), None)
    if last is None:
        answers = (index for index, message in enumerate(messages) if message.get("role") == "assistant")
        return next(answers, len(messages))
    while last and _is_users(messages[last - 1]):
        last -= 1
    return last


def _is_users(message: JsonObject) -> bool:
    return message.get("role") == "user"


def _calls(item: JsonObject) -> list[JsonObject]:
    """Return the calls of functions in a message, or in an item of a response."""
    if item.get("type") == "function_call":
        return [_call(item, item.get("call_id"))]
    calls = [_call(object_field(call, "function"), call.get("id")) for call in objects_in(item.get("tool_calls"))]
    older = object_field(item, "function_call")
    return [*calls, _call(older, None)] if older else calls


def _call(function: JsonObject, id: Any) -> JsonObject:
    return without_empty(name=function.get("name"), call_id=id, arguments=function.get("arguments"))

"""Reader of Gemini CLI's chats: ``chats/session-<time>-<id>.jsonl`` (read with 0.61), and the one JSON
document of older versions.

The first line is a header; ``{"$set": {…}}`` changes it or rewrites the history; every other line is a message, which
replaces the one of its id. On resuming, the history is written again without tokens and calls: the earlier ones stay.
Attributes beyond those in `agents.telemetry.reading.sessions`:

* turn: its id is that of the user's message, ``{"role": "user", "parts": [ … ]}``; ``session_kind`` is the header's
  ``kind``;
* model: ``output`` is ``[{"role": "model", "parts": [ … ]}]`` in Google's shape, the calls (``functionCall``) among the
  parts; ``usage`` is the message's ``tokens``: ``input`` (includes ``cached``), ``output``, ``thoughts``, ``tool``,
  ``total``; ``thoughts`` are those of the message;
* tool: ``arguments`` is ``args``, ``result`` the ``response`` of the function, ``status``, ``result_display``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from agents.telemetry.reading.decoding import Decoded, as_object, identifier, raises_invalid_request, text_field
from agents.telemetry.reading.json_lines import JsonLines
from agents.telemetry.reading.merging import merge_values
from agents.telemetry.reading.sanitize import clean_json
from agents.telemetry.reading.sessions.session_turns import (
    JsonObject,
    SessionTurn,
    object_field,
    objects_in,
    without_empty,
)
from agents.telemetry.reading.spans import Span
from agents.telemetry.reading.timestamps import nanoseconds

_PROGRAM_TEXTS = ("<session_context>", "This is the Gemini CLI.")


def from_lines(lines: Iterable[bytes | str]) -> Decoded:
    """Read the spans of one file."""
    read = JsonLines(lines)
    chat = _Chat()
    for line in read:
        if not chat.read_line(line):
            read.ignored += 1
    return read.decoded(chat.spans())


@raises_invalid_request
def from_json(body: object) -> Decoded:
    """Read the spans of an older file, which is one document."""
    chat = _Chat()
    chat.read_line(clean_json(as_object(body)))
    return Decoded(chat.spans())


class _Chat:
    """Collects the messages first: a later line may change any of them."""

    def __init__(self) -> None:
        self._header: JsonObject = {}
        self._messages: dict[str, JsonObject] = {}

    def read_line(self, line: JsonObject) -> bool:
        """Read one line; false if it is of no use."""
        patch = object_field(line, "$set")
        if patch or "sessionId" in line or "messages" in line:
            change = patch or line
            self._header |= {name: value for name, value in change.items() if name != "messages"}
            return [self._put(message) for message in objects_in(change.get("messages"))] != [] or "sessionId" in change
        return self._put(line)

    def _put(self, message: JsonObject) -> bool:
        """Store a message, merged with an earlier one of its id; its time stays that of the first."""
        id = identifier(message.get("id"))
        if not id or "type" not in message:
            return False
        message = message | {"id": id}
        old = self._messages.get(id)
        if old is None:
            self._messages[id] = message
        else:
            first = text_field(old, "timestamp") or message.get("timestamp")
            self._messages[id] = merge_values(old, message) | {"timestamp": first}
        return True

    def spans(self) -> list[Span]:
        builder = _SpanBuilder(self._header)
        for message in self._messages.values():
            builder.read_line(message)
        return builder.spans()


class _SpanBuilder:
    """Builds the spans of the messages, in order."""

    def __init__(self, header: JsonObject) -> None:
        self._session = identifier(header.get("sessionId")) or "gemini"
        self._session_attributes = without_empty(session_kind=header.get("kind"), project=header.get("projectHash"))
        self._turns: list[SessionTurn] = []
        self._pending_input: list[JsonObject] = []
        self._last_ns = 0

    def spans(self) -> list[Span]:
        return [span for turn in self._turns for span in turn.all_spans()]

    def read_line(self, message: JsonObject) -> None:
        at = nanoseconds(message.get("timestamp"))
        parts = _parts(message)
        kind = message["type"]
        if kind == "user" and any("functionResponse" in part for part in parts):
            self._add_results(parts, at)
        elif kind == "user" and not _is_context(parts):
            self._begin_turn(message, parts, at)
        elif kind == "gemini":
            self._add_answer(message, parts, at)
        elif kind == "error" and self._turns:
            span = self._turns[-1].span
            span.failed, span.message = True, _first_text(parts)
        self._last_ns = at or self._last_ns

    def _begin_turn(self, message: JsonObject, parts: list[JsonObject], at: int) -> None:
        if self._turns:
            self._turns[-1].close(self._last_ns)
        turn = SessionTurn("gemini_cli", self._session, message["id"], at)
        turn.span.attributes |= self._session_attributes
        turn.add_input({"role": "user", "parts": parts})
        self._turns.append(turn)
        self._pending_input = [{"role": "user", "parts": parts}]

    def _current_turn(self, message: JsonObject, at: int) -> SessionTurn:
        """Return the current turn. A file may begin in the middle of one."""
        if not self._turns:
            self._turns.append(SessionTurn("gemini_cli", self._session, f"before-{message['id']}"[:120], at))
        return self._turns[-1]

    def _add_answer(self, message: JsonObject, parts: list[JsonObject], at: int) -> None:
        turn = self._current_turn(message, at)
        calls = objects_in(message.get("toolCalls"))
        existing_ids = {text_field(object_field(part, "functionCall"), "id") for part in parts}
        unlisted = [_as_part(call) for call in calls if text_field(call, "id") not in existing_ids]
        parts = [*parts, *unlisted]
        span = turn.child("model", message["id"], self._last_ns or at)
        span.name, span.end_ns = text_field(message, "model"), at
        span.attributes |= without_empty(
            model=message.get("model"),
            input=self._pending_input or None,
            output=[{"role": "model", "parts": parts}],
            usage=message.get("tokens"),
            thoughts=message.get("thoughts") or None,
        )
        self._pending_input = []
        self._add_tools(turn, parts, calls, at)

    def _add_tools(self, turn: SessionTurn, parts: list[JsonObject], calls: list[JsonObject], at: int) -> None:
        """Add a tool for each call. Without any, the turn is over."""
        requests = [object_field(part, "functionCall") for part in parts if "functionCall" in part]
        for call in requests:
            id = identifier(call.get("id"))
            if id:
                tool = turn.child("tool", id, at)
                tool.name = text_field(call, "name")
                tool.attributes |= without_empty(name=call.get("name"), call_id=id, arguments=call.get("args"))
        for call in calls:
            _finish_tool(turn.spans.get(identifier(call.get("id"))), call)
        turn.span.end_ns = 0 if requests else at

    def _add_results(self, parts: list[JsonObject], at: int) -> None:
        """Add the results of tools, which the model receives. A history that was written again may repeat them."""
        if not self._turns:
            return
        answers = [object_field(part, "functionResponse") for part in parts if "functionResponse" in part]
        if {"role": "user", "parts": parts} not in self._pending_input:
            self._pending_input.append({"role": "user", "parts": parts})
        for answer in answers:
            tool = self._turns[-1].spans.get(identifier(answer.get("id")))
            if tool is not None:
                tool.end_ns = tool.end_ns or at
                tool.attributes.setdefault("result", _result(answer))


def _finish_tool(tool: Span | None, call: JsonObject) -> None:
    """Set the program's report of a call that it ran."""
    if tool is None:
        return
    answers = [object_field(part, "functionResponse") for part in objects_in(call.get("result"))]
    status = text_field(call, "status")
    tool.end_ns = nanoseconds(call.get("timestamp")) if status in ("success", "error", "cancelled") else 0
    tool.failed = status == "error"
    tool.attributes |= without_empty(
        result=_result(answers[0]) if answers and answers[0] else call.get("result"),
        status=call.get("status"),
        is_error=True if tool.failed else None,
        interrupted=True if status == "cancelled" else None,
        result_display=call.get("resultDisplay"),
        display_name=call.get("displayName"),
    )


def _result(answer: JsonObject) -> Any:
    """Return a result; ``{"output": …}``, which most tools have, is unwrapped."""
    response = answer.get("response")
    return response["output"] if isinstance(response, dict) and response.keys() == {"output"} else response


def _as_part(call: JsonObject) -> JsonObject:
    return {"functionCall": {"id": call.get("id"), "name": call.get("name"), "args": call.get("args")}}


def _parts(message: JsonObject) -> list[JsonObject]:
    content = message.get("content")
    if isinstance(content, str):
        return [{"text": content}] if content else []
    return objects_in([content] if isinstance(content, dict) else content)


def _first_text(parts: list[JsonObject]) -> str:
    return next((text_field(part, "text") for part in parts if text_field(part, "text")), "")


def _is_context(parts: list[JsonObject]) -> bool:
    return _first_text(parts).startswith(_PROGRAM_TEXTS)

"""Gemini CLI's chats: ``chats/session-<time>-<id>.jsonl`` (read with 0.61), and the one JSON
document of older versions.

The first line is a header; ``{"$set": {…}}`` changes it or rewrites the history; every other line is a message, which
replaces the one of its id. On resuming, the history is written again without tokens and calls: what was known is kept.
Beyond what `agents.telemetry.reading.sessions` says of the attributes:

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

_NOT_SAID = ("<session_context>", "This is the Gemini CLI.")


def from_lines(lines: Iterable[bytes | str]) -> Decoded:
    """The spans of one file."""
    read = JsonLines(lines)
    chat = _Chat()
    for line in read:
        if not chat.take(line):
            read.ignored += 1
    return read.decoded(chat.spans())


@raises_invalid_request
def from_json(body: object) -> Decoded:
    """The spans of an older file, which is one document."""
    chat = _Chat()
    chat.take(clean_json(as_object(body)))
    return Decoded(chat.spans())


class _Chat:
    """Gathers the messages first: a later line may change any of them."""

    def __init__(self) -> None:
        self._header: JsonObject = {}
        self._messages: dict[str, JsonObject] = {}

    def take(self, line: JsonObject) -> bool:
        """Read one line; false if it is of no use."""
        patch = object_field(line, "$set")
        if patch or "sessionId" in line or "messages" in line:
            change = patch or line
            self._header |= {name: value for name, value in change.items() if name != "messages"}
            return [self._put(message) for message in objects_in(change.get("messages"))] != [] or "sessionId" in change
        return self._put(line)

    def _put(self, message: JsonObject) -> bool:
        """Keep a message, with what an earlier line said of it; it came when it came first."""
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
        teller = _Teller(self._header)
        for message in self._messages.values():
            teller.take(message)
        return teller.spans()


class _Teller:
    """Goes through the messages in order."""

    def __init__(self, header: JsonObject) -> None:
        self._session = identifier(header.get("sessionId")) or "gemini"
        self._about = without_empty(session_kind=header.get("kind"), project=header.get("projectHash"))
        self._turns: list[SessionTurn] = []
        self._news: list[JsonObject] = []
        self._at = 0

    def spans(self) -> list[Span]:
        return [span for turn in self._turns for span in turn.all_spans()]

    def take(self, message: JsonObject) -> None:
        at = nanoseconds(message.get("timestamp"))
        parts = _parts(message)
        kind = message["type"]
        if kind == "user" and any("functionResponse" in part for part in parts):
            self._heard(parts, at)
        elif kind == "user" and not _is_context(parts):
            self._asked(message, parts, at)
        elif kind == "gemini":
            self._answered(message, parts, at)
        elif kind == "error" and self._turns:
            span = self._turns[-1].span
            span.failed, span.message = True, _words(parts)
        self._at = at or self._at

    def _asked(self, message: JsonObject, parts: list[JsonObject], at: int) -> None:
        if self._turns:
            self._turns[-1].close(self._at)
        turn = SessionTurn("gemini_cli", self._session, message["id"], at)
        turn.span.attributes |= self._about
        turn.add_input({"role": "user", "parts": parts})
        self._turns.append(turn)
        self._news = [{"role": "user", "parts": parts}]

    def _turn(self, message: JsonObject, at: int) -> SessionTurn:
        """A file may begin in the middle of a turn."""
        if not self._turns:
            self._turns.append(SessionTurn("gemini_cli", self._session, f"before-{message['id']}"[:120], at))
        return self._turns[-1]

    def _answered(self, message: JsonObject, parts: list[JsonObject], at: int) -> None:
        turn = self._turn(message, at)
        calls = objects_in(message.get("toolCalls"))
        asked = {text_field(object_field(part, "functionCall"), "id") for part in parts}
        missing = [_as_part(call) for call in calls if text_field(call, "id") not in asked]
        parts = [*parts, *missing]
        span = turn.child("model", message["id"], self._at or at)
        span.name, span.end_ns = text_field(message, "model"), at
        span.attributes |= without_empty(
            model=message.get("model"),
            input=self._news or None,
            output=[{"role": "model", "parts": parts}],
            usage=message.get("tokens"),
            thoughts=message.get("thoughts") or None,
        )
        self._news = []
        self._call(turn, parts, calls, at)

    def _call(self, turn: SessionTurn, parts: list[JsonObject], calls: list[JsonObject], at: int) -> None:
        """A tool for each call. Without any, the turn is over."""
        called = [object_field(part, "functionCall") for part in parts if "functionCall" in part]
        for call in called:
            id = identifier(call.get("id"))
            if id:
                tool = turn.child("tool", id, at)
                tool.name = text_field(call, "name")
                tool.attributes |= without_empty(name=call.get("name"), call_id=id, arguments=call.get("args"))
        for call in calls:
            _ran(turn.spans.get(identifier(call.get("id"))), call)
        turn.span.end_ns = 0 if called else at

    def _heard(self, parts: list[JsonObject], at: int) -> None:
        """Answers of tools, told again for the model. A history that was written again may have them twice."""
        if not self._turns:
            return
        answers = [object_field(part, "functionResponse") for part in parts if "functionResponse" in part]
        if {"role": "user", "parts": parts} not in self._news:
            self._news.append({"role": "user", "parts": parts})
        for answer in answers:
            tool = self._turns[-1].spans.get(identifier(answer.get("id")))
            if tool is not None:
                tool.end_ns = tool.end_ns or at
                tool.attributes.setdefault("result", _result(answer))


def _ran(tool: Span | None, call: JsonObject) -> None:
    """What the program says of a call that it ran."""
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
    """``{"output": …}`` of most tools is their output."""
    response = answer.get("response")
    return response["output"] if isinstance(response, dict) and response.keys() == {"output"} else response


def _as_part(call: JsonObject) -> JsonObject:
    return {"functionCall": {"id": call.get("id"), "name": call.get("name"), "args": call.get("args")}}


def _parts(message: JsonObject) -> list[JsonObject]:
    content = message.get("content")
    if isinstance(content, str):
        return [{"text": content}] if content else []
    return objects_in([content] if isinstance(content, dict) else content)


def _words(parts: list[JsonObject]) -> str:
    return next((text_field(part, "text") for part in parts if text_field(part, "text")), "")


def _is_context(parts: list[JsonObject]) -> bool:
    return _words(parts).startswith(_NOT_SAID)

"""Reader of Codex CLI's rollouts: ``~/.codex/sessions/<year>/<month>/<day>/rollout-<time>-<id>.jsonl`` (read with
0.169).

A line is ``{timestamp, type, payload}``. ``response_item`` and ``event_msg`` repeat each other: messages are taken from
the first, and from the second only the rest.
Attributes beyond those in `agents.telemetry.reading.sessions`:

* turn: ``turn_id``, ``trace_id`` (of its OpenTelemetry spans), ``parent_turn_id``, ``duration_ms``,
  ``time_to_first_token_ms``, ``model_provider``; ``output`` is ``last_agent_message``;
* model: ``input`` and ``output`` are items of the Responses API; ``usage`` is
  ``{input_tokens, cached_input_tokens, output_tokens, reasoning_output_tokens}`` of this call, ``response_id``;
* tool: ``arguments`` is the text that the model wrote, ``result`` the ``output``; ``execution`` is the program's
  report of a command it ran (``exit_code``, ``duration``, ``status``, …).

Older files have neither ``task_started`` nor ids of turns: a turn begins with the user's message, and is named after
its position in the file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from agents.telemetry.reading.decoding import Decoded, identifier, text_field
from agents.telemetry.reading.json_lines import JsonLines
from agents.telemetry.reading.sessions.session_turns import (
    JsonObject,
    SessionTurn,
    object_field,
    objects_in,
    without_empty,
)
from agents.telemetry.reading.spans import Span
from agents.telemetry.reading.timestamps import nanoseconds

_CALLS = frozenset({"function_call", "custom_tool_call", "local_shell_call", "web_search_call", "tool_search_call"})
_TYPES = ("session_meta", "turn_context", "response_item", "event_msg")
_PROGRAM_TEXTS = ("<environment_context>", "<user_instructions>", "<permissions", "<turn_aborted>", "# AGENTS.md")


def from_lines(lines: Iterable[bytes | str]) -> Decoded:
    """Read the spans of one file."""
    read = JsonLines(lines)
    rollout = _Rollout()
    for line in read:
        if line.get("type") in _TYPES and not read.has_object("payload", line):
            continue
        if not rollout.read_line(line):
            read.ignored += 1
    return read.decoded(rollout.spans())


class _Rollout:
    """Reads line by line. A public method reads the lines of the type it is named after. ``_call`` is the model's call
    that lines belong to until its usage, or new input for it, arrives."""

    def __init__(self) -> None:
        self._session = ""
        self._session_attributes: JsonObject = {}
        self._turns: dict[str, SessionTurn] = {}
        self._turn: SessionTurn | None = None
        self._call: Span | None = None
        self._last: Span | None = None
        self._pending_input: list[JsonObject] = []
        self._model = ""
        self._at = 0
        self._calls = 0

    def spans(self) -> list[Span]:
        return [span for turn in self._turns.values() for span in turn.all_spans()]

    def read_line(self, line: JsonObject) -> bool:
        """Read one line; false if it is of no use."""
        payload = object_field(line, "payload")
        at = nanoseconds(line.get("timestamp"))
        kind = line.get("type")
        if kind == "response_item":
            return self._read_item(payload, at)
        line_type = payload.get("type") if kind == "event_msg" else kind
        read = _READERS.get(line_type) if isinstance(line_type, str) else None
        return read is not None and read(self, payload, at)

    def session_meta(self, payload: JsonObject, at: int) -> bool:
        if self._session:
            return False  # a fork repeats the head of the file it comes from
        self._session = identifier(payload.get("id")) or identifier(payload.get("session_id"))
        self._session_attributes = without_empty(
            cwd=payload.get("cwd"),
            version=payload.get("cli_version"),
            git_branch=object_field(payload, "git").get("branch"),
            model_provider=payload.get("model_provider"),
            instructions=object_field(payload, "base_instructions").get("text") or payload.get("instructions"),
        )
        return True

    def turn_context(self, payload: JsonObject, at: int) -> bool:
        self._model = text_field(payload, "model") or self._model
        turn = self._turns.get(identifier(payload.get("turn_id"))) or self._turn
        if turn is not None and not turn.span.end_ns:
            turn.span.attributes |= without_empty(model=self._model, cwd=payload.get("cwd"))
        return True

    def task_started(self, payload: JsonObject, at: int) -> bool:
        turn = self._begin_turn(identifier(payload.get("turn_id")), at)
        turn.span.attributes |= without_empty(
            turn_id=payload.get("turn_id"),
            trace_id=payload.get("trace_id"),
            parent_turn_id=object_field(payload, "turn_attribution").get("parent_turn_id"),
        )
        return True

    def _begin_turn(self, key: str, at: int) -> SessionTurn:
        if self._turn is not None and not self._turn.span.end_ns:
            self._turn.close(self._at)
        key = key or f"turn-{len(self._turns) + 1}"
        turn = self._turns.setdefault(key, SessionTurn("codex", self._session or "codex", key, at))
        turn.span.attributes |= self._session_attributes | without_empty(model=self._model)
        self._turn, self._call, self._last, self._pending_input, self._calls, self._at = turn, None, None, [], 0, at
        return turn

    def task_complete(self, payload: JsonObject, at: int) -> bool:
        turn = self._turns.get(identifier(payload.get("turn_id"))) or self._turn
        if turn is None:
            return False
        turn.span.attributes |= without_empty(
            output=payload.get("last_agent_message"),
            duration_ms=payload.get("duration_ms"),
            time_to_first_token_ms=payload.get("time_to_first_token_ms"),
        )
        turn.close(at)
        return True

    def turn_aborted(self, payload: JsonObject, at: int) -> bool:
        if not self.task_complete(payload, at):
            return False
        turn = self._turns.get(identifier(payload.get("turn_id"))) or self._turn
        if turn is not None:
            turn.span.attributes |= without_empty(interrupted=True, reason=payload.get("reason"))
        return True

    def error(self, payload: JsonObject, at: int) -> bool:
        if self._turn is None:
            return False
        self._turn.span.failed, self._turn.span.message = True, text_field(payload, "message")
        return True

    def token_usage_record(self, payload: JsonObject, at: int) -> bool:
        """Set the tokens of the call that just ended."""
        call = self._call or self._last
        if call is None:
            return False
        call.attributes |= without_empty(usage=payload.get("usage"), response_id=payload.get("response_id"))
        self._call = None
        return True

    def token_count(self, payload: JsonObject, at: int) -> bool:
        """Set the tokens of a call from an older file; newer ones repeat them here, perhaps after the next input."""
        usage = object_field(object_field(payload, "info"), "last_token_usage")
        call = self._call or self._last
        if call is None or not usage or "usage" in call.attributes:
            return False
        call.attributes["usage"] = usage
        return True

    def item_completed(self, payload: JsonObject, at: int) -> bool:
        """Add the program's report of something that it did itself."""
        item = object_field(payload, "item")
        tool = self._turn.spans.get(identifier(item.get("id"))) if self._turn is not None else None
        if tool is None or item.get("type") in ("AgentMessage", "UserMessage"):
            return False
        tool.attributes["execution"] = item
        if item.get("status") == "failed" or item.get("exit_code") not in (0, None):
            tool.failed = tool.attributes["is_error"] = True
        return True

    def user_message(self, payload: JsonObject, at: int) -> bool:
        """Read the user's message as an event: needed only where no item has it."""
        message = text_field(payload, "message")
        if self._turn is not None and (self._turn.span.attributes.get("input") or not message):
            return False
        return self._add_user_message({"type": "message", "role": "user", "content": message}, at)

    def _read_item(self, item: JsonObject, at: int) -> bool:
        kind = text_field(item, "type")
        if kind == "message" and item.get("role") != "assistant":
            return item.get("role") == "user" and _is_from_user(item) and self._add_user_message(item, at)
        if self._turn is None:
            self._begin_turn("", at)
        if kind.endswith("_output"):
            return self._add_result(item, at)
        if kind in _CALLS or kind in ("message", "reasoning"):
            return self._add_output(item, at)
        return False

    def _add_user_message(self, item: JsonObject, at: int) -> bool:
        """Add a message to the turn that was started; in older files it begins one."""
        turn = self._turn
        if (
            turn is None
            or turn.span.end_ns
            or ("turn_id" not in turn.span.attributes and "input" in turn.span.attributes)
        ):
            turn = self._begin_turn("", at)
        turn.add_input(item)
        self._pending_input.append(item)
        self._call, self._at = None, at
        return True

    def _add_output(self, item: JsonObject, at: int) -> bool:
        turn, call = self._turn, self._call
        assert turn is not None
        if call is None:
            self._calls += 1
            call = turn.child("model", identifier(item.get("id")) or f"model-{self._calls}", self._at or at)
            call.name = self._model
            call.attributes |= without_empty(model=self._model, input=self._pending_input or None)
            self._call, self._last, self._pending_input = call, call, []
        call.attributes.setdefault("output", []).append(item)
        call.end_ns = max(call.end_ns, at)
        if "turn_id" not in turn.span.attributes:  # nothing else will say that it is over
            turn.span.end_ns = at if item["type"] == "message" else 0
        if item.get("type") in _CALLS:
            self._add_tool(turn, item, at)
        return True

    def _add_tool(self, turn: SessionTurn, item: JsonObject, at: int) -> None:
        id = identifier(item.get("call_id")) or identifier(item.get("id")) or f"call-{len(turn.spans)}"
        name = text_field(item, "name") or text_field(item, "type").removesuffix("_call")
        if id in turn.spans and turn.spans[id].attributes["kind"] != "tool":
            id = f"call-{id}"[:128]
        tool = turn.child("tool", id, at)
        arguments = next((item[key] for key in ("arguments", "input", "action") if item.get(key) is not None), None)
        tool.name = name
        tool.attributes |= without_empty(name=name, call_id=id, arguments=arguments)
        if item.get("type") == "web_search_call":  # done where the model runs; nobody answers it
            tool.end_ns = at

    def _add_result(self, item: JsonObject, at: int) -> bool:
        turn = self._turn
        assert turn is not None
        id = identifier(item.get("call_id"))
        self._pending_input.append(item)
        self._call, self._at = None, at
        if id:
            tool = turn.child("tool", id, at)
            tool.end_ns = max(tool.end_ns, at)
            tool.attributes |= without_empty(call_id=id, result=item.get("output"))
            if object_field(item, "output").get("success") is False:
                tool.failed = tool.attributes["is_error"] = True
        return bool(id)


_READERS: dict[str, Callable[[_Rollout, JsonObject, int], bool]] = {
    "session_meta": _Rollout.session_meta,
    "turn_context": _Rollout.turn_context,
    "token_usage_record": _Rollout.token_usage_record,
    "task_started": _Rollout.task_started,
    "task_complete": _Rollout.task_complete,
    "turn_aborted": _Rollout.turn_aborted,
    "error": _Rollout.error,
    "token_count": _Rollout.token_count,
    "item_completed": _Rollout.item_completed,
    "user_message": _Rollout.user_message,
}


def _is_from_user(item: JsonObject) -> bool:
    """Whether a user's message is the user's: the program writes some in the user's name."""
    kinds = object_field(item, "internal_chat_message_metadata_passthrough").get("content_item_kinds")
    if isinstance(kinds, list) and kinds and all(isinstance(kind, str) for kind in kinds) and kinds != ["unknown"]:
        return any(kind.startswith("user.") for kind in kinds)
    return not _first_text(item).startswith(_PROGRAM_TEXTS)


def _first_text(item: JsonObject) -> str:
    content: Any = item.get("content")
    if isinstance(content, str):
        return content
    return next((text_field(part, "text") for part in objects_in(content) if text_field(part, "text")), "")

"""Codex CLI's rollouts: ``~/.codex/sessions/<year>/<month>/<day>/rollout-<time>-<id>.jsonl`` (read with 0.169).

A line is ``{timestamp, type, payload}``. ``response_item`` and ``event_msg`` tell the same twice: words are taken from
the first, what only the second knows from there.
Beyond what `agents.telemetry.reading.sessions` says of the attributes:

* turn: ``turn_id``, ``trace_id`` (of its OpenTelemetry spans), ``parent_turn_id``, ``duration_ms``,
  ``time_to_first_token_ms``, ``model_provider``; ``output`` is ``last_agent_message``;
* model: ``input`` and ``output`` are items of the Responses API; ``usage`` is
  ``{input_tokens, cached_input_tokens, output_tokens, reasoning_output_tokens}`` of this call, ``response_id``;
* tool: ``arguments`` is the text that the model wrote, ``result`` the ``output``; ``execution`` is what the program
  says of a command it ran (``exit_code``, ``duration``, ``status``, …).

Older files have neither ``task_started`` nor ids of turns: a turn begins with the user's words, and is named after
their place in the file.
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
_NOT_SAID = ("<environment_context>", "<user_instructions>", "<permissions", "<turn_aborted>", "# AGENTS.md")


def from_lines(lines: Iterable[bytes | str]) -> Decoded:
    """The spans of one file."""
    read = JsonLines(lines)
    rollout = _Rollout()
    for line in read:
        if not rollout.take(line):
            read.ignored += 1
    return read.decoded(rollout.spans())


class _Rollout:
    """Reads line by line. ``_call`` is the model's call that lines belong to until its usage, or news for it, come."""

    def __init__(self) -> None:
        self._session = ""
        self._about: JsonObject = {}
        self._turns: dict[str, SessionTurn] = {}
        self._turn: SessionTurn | None = None
        self._call: Span | None = None
        self._last: Span | None = None
        self._news: list[JsonObject] = []
        self._model = ""
        self._at = 0
        self._calls = 0

    def spans(self) -> list[Span]:
        return [span for turn in self._turns.values() for span in turn.all_spans()]

    def take(self, line: JsonObject) -> bool:
        """Read one line; false if it is of no use."""
        payload = object_field(line, "payload")
        at = nanoseconds(line.get("timestamp"))
        kind = line.get("type")
        if kind == "response_item":
            return self._item(payload, at)
        what = payload.get("type") if kind == "event_msg" else kind
        read = _READERS.get(what) if isinstance(what, str) else None
        return read is not None and read(self, payload, at)

    def meta(self, payload: JsonObject, at: int) -> bool:
        if self._session:
            return False  # a fork repeats the head of the file it comes from
        self._session = identifier(payload.get("id")) or identifier(payload.get("session_id"))
        self._about = without_empty(
            cwd=payload.get("cwd"),
            version=payload.get("cli_version"),
            git_branch=object_field(payload, "git").get("branch"),
            model_provider=payload.get("model_provider"),
            instructions=object_field(payload, "base_instructions").get("text") or payload.get("instructions"),
        )
        return True

    def context(self, payload: JsonObject, at: int) -> bool:
        self._model = text_field(payload, "model") or self._model
        turn = self._turns.get(identifier(payload.get("turn_id"))) or self._turn
        if turn is not None and not turn.span.end_ns:
            turn.span.attributes |= without_empty(model=self._model, cwd=payload.get("cwd"))
        return True

    def started(self, payload: JsonObject, at: int) -> bool:
        turn = self._begin(identifier(payload.get("turn_id")), at)
        turn.span.attributes |= without_empty(
            turn_id=payload.get("turn_id"),
            trace_id=payload.get("trace_id"),
            parent_turn_id=object_field(payload, "turn_attribution").get("parent_turn_id"),
        )
        return True

    def _begin(self, key: str, at: int) -> SessionTurn:
        if self._turn is not None and not self._turn.span.end_ns:
            self._turn.close(self._at)
        key = key or f"turn-{len(self._turns) + 1}"
        turn = self._turns.setdefault(key, SessionTurn("codex", self._session or "codex", key, at))
        turn.span.attributes |= self._about | without_empty(model=self._model)
        self._turn, self._call, self._last, self._news, self._calls, self._at = turn, None, None, [], 0, at
        return turn

    def ended(self, payload: JsonObject, at: int) -> bool:
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

    def aborted(self, payload: JsonObject, at: int) -> bool:
        if not self.ended(payload, at):
            return False
        turn = self._turns.get(identifier(payload.get("turn_id"))) or self._turn
        if turn is not None:
            turn.span.attributes |= without_empty(interrupted=True, reason=payload.get("reason"))
        return True

    def failed(self, payload: JsonObject, at: int) -> bool:
        if self._turn is None:
            return False
        self._turn.span.failed, self._turn.span.message = True, text_field(payload, "message")
        return True

    def used(self, payload: JsonObject, at: int) -> bool:
        """Tokens of the call that just ended."""
        call = self._call or self._last
        if call is None:
            return False
        call.attributes |= without_empty(usage=payload.get("usage"), response_id=payload.get("response_id"))
        self._call = None
        return True

    def counted(self, payload: JsonObject, at: int) -> bool:
        """The same, as older files say it; newer ones repeat it here, perhaps after the next news."""
        usage = object_field(object_field(payload, "info"), "last_token_usage")
        call = self._call or self._last
        if call is None or not usage or "usage" in call.attributes:
            return False
        call.attributes["usage"] = usage
        return True

    def completed(self, payload: JsonObject, at: int) -> bool:
        """What the program says of something that it did itself."""
        item = object_field(payload, "item")
        tool = self._turn.spans.get(identifier(item.get("id"))) if self._turn is not None else None
        if tool is None or item.get("type") in ("AgentMessage", "UserMessage"):
            return False
        tool.attributes["execution"] = item
        if item.get("status") == "failed" or item.get("exit_code") not in (0, None):
            tool.failed = tool.attributes["is_error"] = True
        return True

    def said(self, payload: JsonObject, at: int) -> bool:
        """The user's words as an event: needed only where no item has them."""
        if self._turn is not None and (self._turn.span.attributes.get("input") or not text_field(payload, "message")):
            return False
        return self._ask({"type": "message", "role": "user", "content": text_field(payload, "message")}, at)

    def _item(self, item: JsonObject, at: int) -> bool:
        kind = text_field(item, "type")
        if kind == "message" and item.get("role") != "assistant":
            return item.get("role") == "user" and _is_said(item) and self._ask(item, at)
        if self._turn is None:
            self._begin("", at)
        if kind.endswith("_output"):
            return self._heard(item, at)
        if kind in _CALLS or kind in ("message", "reasoning"):
            return self._answered(item, at)
        return False

    def _ask(self, item: JsonObject, at: int) -> bool:
        """In newer files within the turn that was started, in older ones the beginning of one."""
        turn = self._turn
        if (
            turn is None
            or turn.span.end_ns
            or ("turn_id" not in turn.span.attributes and "input" in turn.span.attributes)
        ):
            turn = self._begin("", at)
        turn.add_input(item)
        self._news.append(item)
        self._call, self._at = None, at
        return True

    def _answered(self, item: JsonObject, at: int) -> bool:
        turn, call = self._turn, self._call
        assert turn is not None
        if call is None:
            self._calls += 1
            call = turn.child("model", identifier(item.get("id")) or f"model-{self._calls}", self._at or at)
            call.name = self._model
            call.attributes |= without_empty(model=self._model, input=self._news or None)
            self._call, self._last, self._news = call, call, []
        call.attributes.setdefault("output", []).append(item)
        call.end_ns = max(call.end_ns, at)
        if "turn_id" not in turn.span.attributes:  # nothing else will say that it is over
            turn.span.end_ns = at if item["type"] == "message" else 0
        if item.get("type") in _CALLS:
            self._called(turn, item, at)
        return True

    def _called(self, turn: SessionTurn, item: JsonObject, at: int) -> None:
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

    def _heard(self, item: JsonObject, at: int) -> bool:
        turn = self._turn
        assert turn is not None
        id = identifier(item.get("call_id"))
        self._news.append(item)
        self._call, self._at = None, at
        if id:
            tool = turn.child("tool", id, at)
            tool.end_ns = max(tool.end_ns, at)
            tool.attributes |= without_empty(call_id=id, result=item.get("output"))
            if object_field(item, "output").get("success") is False:
                tool.failed = tool.attributes["is_error"] = True
        return bool(id)


_READERS: dict[str, Callable[[_Rollout, JsonObject, int], bool]] = {
    "session_meta": _Rollout.meta,
    "turn_context": _Rollout.context,
    "token_usage_record": _Rollout.used,
    "task_started": _Rollout.started,
    "task_complete": _Rollout.ended,
    "turn_aborted": _Rollout.aborted,
    "error": _Rollout.failed,
    "token_count": _Rollout.counted,
    "item_completed": _Rollout.completed,
    "user_message": _Rollout.said,
}


def _is_said(item: JsonObject) -> bool:
    """Whether a user's message is the user's: the program writes some in the user's name."""
    kinds = object_field(item, "internal_chat_message_metadata_passthrough").get("content_item_kinds")
    if isinstance(kinds, list) and kinds and all(isinstance(kind, str) for kind in kinds) and kinds != ["unknown"]:
        return any(kind.startswith("user.") for kind in kinds)
    return not _words(item).startswith(_NOT_SAID)


def _words(item: JsonObject) -> str:
    content: Any = item.get("content")
    if isinstance(content, str):
        return content
    return next((text_field(part, "text") for part in objects_in(content) if text_field(part, "text")), "")

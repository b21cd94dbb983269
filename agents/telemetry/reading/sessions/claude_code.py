"""Reader of Claude Code's transcripts: ``~/.claude/projects/<folder>/<session>.jsonl`` (read with 2.1.197).

A line is ``{type, uuid, parentUuid, sessionId, timestamp, isSidechain, message, …}``. Turns are keyed by ``promptId``,
in older files by the ``uuid`` of the user's line.
Attributes beyond those in `agents.telemetry.reading.sessions`:

* turn: ``prompt_id``, ``permission_mode``, ``entrypoint``; its messages are ``{"role": "user", "content": …}``;
* model: its id is ``message.id``, and lines that share it are one call, whose usage counts once. ``output`` is one
  message of Anthropic's blocks, ``usage`` Anthropic's: ``input_tokens`` *without* ``cache_creation_input_tokens`` and
  ``cache_read_input_tokens``. ``isApiErrorMessage`` makes it a failed one,
  and with it the turn or sub-agent, unless that goes on;
* tool: ``result`` is the content of the ``tool_result`` block, ``tool_use_result`` the structured one beside it;
* agent: ``totals`` is the answer's ``totalTokens``, ``totalDurationMs``, ``totalToolUseCount``.

A sub-agent's lines lie in ``<session>/subagents/agent-<id>.jsonl`` (beside it ``.meta.json``, which may be passed as
``metadata``), in older files among the others. Its id is ``agent-<agentId>`` in both files: merged, the parent is
known. A sub-agent's file alone has no span of the turn.
"""

from __future__ import annotations

from collections.abc import Iterable
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

_FINAL_STOP_REASONS = frozenset({"end_turn", "stop_sequence", "max_tokens", "refusal"})
_SPEAKERS = ("user", "assistant")
_COMMANDS = ("<command-name>", "<command-message>")
_ECHOES = ("<local-command-", "<bash-", "Caveat: ")
_NO_MODEL = "<synthetic>"
"""What stands as the model of an answer that the program wrote itself."""
_INTERRUPTED = "[Request interrupted by user"


def from_lines(lines: Iterable[bytes | str], metadata: JsonObject | None = None) -> Decoded:
    """Read the spans of one file. ``metadata`` is a sub-agent's ``.meta.json``."""
    read = JsonLines(lines)
    transcript = _Transcript(metadata or {})
    for line in read:
        if line.get("type") in _SPEAKERS and not read.has_object("message", line):
            continue
        if not transcript.read_line(line):
            read.ignored += 1
    return read.decoded(transcript.spans())


class _Thread:
    """The main conversation, or a sub-agent's with its span (``agent``): the parent of its steps, the time of its last
    line, and the messages that its model has not received yet."""

    def __init__(self, agent: Span | None = None) -> None:
        self.agent = agent
        self.parent = agent.id if agent is not None else None
        self.last_ns = 0
        self.pending_input: list[Any] = []


class _Transcript:
    """Reads line by line; a later line may complete an existing span."""

    def __init__(self, metadata: JsonObject) -> None:
        self._metadata = metadata
        self._turns: dict[str, SessionTurn] = {}
        self._turn: SessionTurn | None = None
        self._command: JsonObject | None = None
        self._main = _Thread()
        self._threads: dict[str, _Thread] = {}
        self._agent_by_uuid: dict[str, str] = {}

    def spans(self) -> list[Span]:
        return [span for turn in self._turns.values() for span in turn.all_spans()]

    def read_line(self, line: JsonObject) -> bool:
        """Read one line; false if it is of no use."""
        if line.get("type") not in _SPEAKERS or not identifier(line.get("sessionId")):
            return False
        message = object_field(line, "message")
        at = nanoseconds(line.get("timestamp"))
        if line.get("isSidechain") is True:
            turn, thread = self._sidechain(line, at)
        elif line["type"] == "user" and not _has_tool_result(message):
            return self._user_line(line, message, at)
        else:
            turn, thread = self._current_turn(line, at), self._main
        if line["type"] == "assistant":
            _add_answer(turn, thread, line, message, at)
        else:
            _add_results(turn, thread, line, message, at)
        self._update_end(turn, thread, line, at)
        return True

    def _update_end(self, turn: SessionTurn, thread: _Thread, line: JsonObject, at: int) -> None:
        """End a turn or a sub-agent when its model stops by itself, or has failed; a line after that reopens the
        turn."""
        thread.last_ns = at or thread.last_ns
        span = thread.agent or turn.span
        message, failed = object_field(line, "message"), _has_failed(line)
        span.failed, span.message = failed, _first_text(message) if failed else ""
        if failed or text_field(message, "stop_reason") in _FINAL_STOP_REASONS:
            span.end_ns = max(span.end_ns, at)
        elif thread.agent is None:
            span.end_ns = 0

    def _user_line(self, line: JsonObject, message: JsonObject, at: int) -> bool:
        """Read a message of the user, or text that the program wrote in the user's name."""
        text = _first_text(message)
        if text.startswith(_INTERRUPTED):
            return self._interrupt(at)
        if line.get("isMeta") is True or line.get("isCompactSummary") is True or text.startswith(_ECHOES):
            return False
        if text.startswith(_COMMANDS):
            self._command = line  # it begins a turn only if a model is asked
            return False
        self._begin_turn(line, at)
        return True

    def _interrupt(self, at: int) -> bool:
        if self._turn is None:
            return False
        self._turn.span.attributes["interrupted"] = True
        self._turn.close(at)
        return True

    def _begin_turn(self, line: JsonObject, at: int) -> SessionTurn:
        key = identifier(line.get("promptId")) or identifier(line.get("uuid")) or "turn"
        turn = self._turn_of(line, key, at)
        if self._turn is not None and self._turn is not turn:
            self._turn.close(self._main.last_ns)
        message = object_field(line, "message")
        turn.add_input(message)
        turn.span.end_ns = 0
        self._turn, self._command = turn, None
        self._main.last_ns, self._main.pending_input = at, [message]
        return turn

    def _turn_of(self, line: JsonObject, key: str, at: int) -> SessionTurn:
        if key not in self._turns:
            turn = SessionTurn("claude_code", text_field(line, "sessionId"), key, at)
            turn.span.attributes |= without_empty(
                prompt_id=line.get("promptId"),
                cwd=line.get("cwd"),
                version=line.get("version"),
                git_branch=line.get("gitBranch"),
                permission_mode=line.get("permissionMode"),
                entrypoint=line.get("entrypoint"),
            )
            self._turns[key] = turn
        return self._turns[key]

    def _current_turn(self, line: JsonObject, at: int) -> SessionTurn:
        """Return the turn that a line of the main conversation belongs to. A file may begin in the middle of one."""
        if self._command is not None and line["type"] == "assistant":
            return self._begin_turn(self._command, nanoseconds(self._command.get("timestamp")))
        if self._turn is None:
            key = identifier(line.get("promptId")) or identifier(line.get("uuid")) or "turn"
            self._turn = self._turn_of(line, key, at)
        return self._turn

    def _sidechain(self, line: JsonObject, at: int) -> tuple[SessionTurn, _Thread]:
        """Return a sub-agent's turn, and its own conversation."""
        uuid = text_field(line, "uuid")
        agent = (
            identifier(line.get("agentId"))
            or self._agent_by_uuid.get(text_field(line, "parentUuid"))
            or uuid
            or "agent"
        )
        self._agent_by_uuid[uuid] = agent
        turn = self._turn
        if turn is None:
            turn = self._turn = self._turn_of(line, identifier(line.get("promptId")) or agent, at)
            turn.is_reported = False
        span = turn.child("agent", f"agent-{agent}"[:128], at, self._starting_tool(turn, line))
        span.attributes |= without_empty(
            agent_id=agent, name=line.get("attributionAgent") or self._metadata.get("agentType")
        )
        span.name = text_field(span.attributes, "name") or span.name
        return turn, self._threads.setdefault(agent, _Thread(span))

    def _starting_tool(self, turn: SessionTurn, line: JsonObject) -> str:
        """Return the tool that started a sub-agent: named in its metadata file, or recognized by its prompt in older
        files."""
        prompt = _first_text(object_field(line, "message"))
        for span in turn.spans.values():
            if prompt and object_field(span.attributes, "arguments").get("prompt") == prompt:
                return span.id
        return identifier(self._metadata.get("toolUseId")) if not turn.is_reported else turn.span.id


def _add_answer(turn: SessionTurn, thread: _Thread, line: JsonObject, message: JsonObject, at: int) -> None:
    """Add one line of a model's answer: one block or several of it."""
    id = identifier(message.get("id")) or identifier(line.get("uuid")) or "answer"
    span = turn.child("model", id, thread.last_ns or at, thread.parent)
    model = text_field(message, "model")
    span.name = "" if model == _NO_MODEL else model
    span.end_ns = max(span.end_ns, at)
    attributes = span.attributes
    attributes |= without_empty(model=span.name, usage=message.get("usage"), stop_reason=message.get("stop_reason"))
    if thread.pending_input:
        attributes["input"], thread.pending_input = [*attributes.get("input", []), *thread.pending_input], []
    output = attributes.setdefault("output", [{"role": "assistant", "content": []}])[0]["content"]
    for block in _blocks(message):
        if block not in output:
            output.append(block)
            _add_tool(turn, thread, block, at)
    if _has_failed(line):
        span.failed, span.message = True, _first_text(message)


def _has_failed(line: JsonObject) -> bool:
    """Tell whether the model's endpoint gave an error, which the program wrote down as an answer of its own."""
    return line.get("isApiErrorMessage") is True


def _add_tool(turn: SessionTurn, thread: _Thread, block: Any, at: int) -> None:
    id = identifier(block.get("id")) if isinstance(block, dict) and block.get("type") == "tool_use" else ""
    if id:
        span = turn.child("tool", id, at, thread.parent)
        span.name = text_field(block, "name")
        span.attributes |= without_empty(name=block.get("name"), call_id=id, arguments=block.get("input"))


def _add_results(turn: SessionTurn, thread: _Thread, line: JsonObject, message: JsonObject, at: int) -> None:
    """Add a user's line with results of tools, or with the prompt that a sub-agent is started with."""
    if message:
        thread.pending_input.append(message)
    structured = line.get("toolUseResult")
    for block in objects_in(message.get("content")):
        id = identifier(block.get("tool_use_id"))
        if id:
            span = turn.child("tool", id, at, thread.parent)
            span.end_ns = max(span.end_ns, at)
            span.failed = block.get("is_error") is True
            span.attributes |= without_empty(
                call_id=id, result=block.get("content"), is_error=block.get("is_error"), tool_use_result=structured
            )
            _add_subagent(turn, span, structured)


def _add_subagent(turn: SessionTurn, tool: Span, structured: Any) -> None:
    """Add the sub-agent that a tool ran, recognized by the tool's result."""
    agent = identifier(structured.get("agentId")) if isinstance(structured, dict) else ""
    if not agent:
        return
    span = turn.child("agent", f"agent-{agent}"[:128], tool.start_ns, tool.id)
    span.parent, span.end_ns = tool.id, tool.end_ns
    totals = {name: structured[name] for name in structured if name.startswith("total")}
    span.attributes |= without_empty(agent_id=agent, name=structured.get("agentType"), totals=totals or None)
    span.attributes |= _input_and_output(structured)
    span.name = text_field(structured, "agentType") or span.name


def _input_and_output(structured: JsonObject) -> JsonObject:
    """Return a sub-agent's prompt and answer."""
    prompt, answer = structured.get("prompt"), objects_in(structured.get("content"))
    return {
        **({"input": [{"role": "user", "content": prompt}]} if isinstance(prompt, str) and prompt else {}),
        **({"output": [{"role": "assistant", "content": answer}]} if answer else {}),
    }


def _has_tool_result(message: JsonObject) -> bool:
    return any(block.get("type") == "tool_result" for block in objects_in(message.get("content")))


def _blocks(message: JsonObject) -> list[Any]:
    content = message.get("content")
    return content if isinstance(content, list) else [{"type": "text", "text": content}] if content else []


def _first_text(message: JsonObject) -> str:
    """Return the first text of a message."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    return next((text_field(block, "text") for block in objects_in(content) if block.get("type") == "text"), "")

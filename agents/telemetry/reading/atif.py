"""Decoder of trajectories in the Agent Trajectory Interchange Format, ATIF-v1.x (read in its specification, not run).

``{"schema_version": "ATIF-v1.4", "session_id", "agent": {"name", "version", "model_name"}, "steps": [ … ],
"final_metrics"}``, one, a list of them, or one a line; those of one session have a ``trajectory_id``. A turn begins
with each message of the user that follows an answer; what the system says before is the instructions. A step of the
agent is a call of its model, with the calls of tools and, in its ``observation``, their results.

Attributes are those of session files (`agents.telemetry.reading.sessions`), messages in the shape of chat completions;
``cost_usd`` is of a call, ``totals`` the ``final_metrics``, at the last turn; format "atif". A step says when it was
over: a call of the model begins with the step before it, and tools took no time that anyone measured. Steps without a
time, or with an earlier one, follow the one before them by a microsecond, those of a file without any the beginning of
the year 2000.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

from agents.telemetry.reading.coerce import text
from agents.telemetry.reading.decoding import (
    Decoded,
    FormatError,
    as_object,
    identifier,
    list_field,
    raises_invalid_request,
    read_at,
    rejection_summary,
    text_field,
)
from agents.telemetry.reading.openai_chat import FIRST_NS, MAX_NS
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

_STEP_NS = 1000
_MAX_SESSION_CHARS = 60
_MAX_PART_CHARS = 48
UNKNOWN_VERSION = "unknown"
"""Agents have to have a version."""
_SOURCES = ("system", "user", "agent")
_REJECTION_REASON = "its source is none of system, user and agent."


@raises_invalid_request
def from_json(body: object) -> Decoded:
    """Decode one trajectory or several."""
    if not isinstance(body, list):
        return _decode([_read_trajectory(body)])
    return _decode([read_at(f"[{index}]", _read_trajectory, item) for index, item in enumerate(body)])


def is_trajectory(value: JsonObject) -> bool:
    """Tell whether this is a trajectory."""
    version = value.get("schema_version")
    return isinstance(version, str) and version.startswith("ATIF-") and "steps" in value


def _decode(trajectories: list[_Trajectory]) -> Decoded:
    rejected = sum(trajectory.rejected for trajectory in trajectories)
    spans = [span for trajectory in trajectories for span in trajectory.spans()]
    ignored = sum(trajectory.ignored for trajectory in trajectories)
    return Decoded(spans, rejected, rejection_summary(rejected, "step", _REJECTION_REASON), ignored)


def _read_trajectory(value: object) -> _Trajectory:
    body = as_object(value)
    if not is_trajectory(body):
        raise FormatError('a trajectory is {"schema_version": "ATIF-v1.…", "session_id", "agent", "steps": [ … ]}.')
    session = identifier(body.get("session_id")) or identifier(body.get("trajectory_id"))
    if not session:
        raise FormatError("short text is expected, which tells one trajectory from all others.", "session_id")
    part = identifier(body.get("trajectory_id")) if body.get("session_id") else ""
    trajectory = _Trajectory(session, part, clean_json(body.get("agent")), min(nanoseconds(_first_time(body)), MAX_NS))
    for number, step in enumerate(list_field(body, "steps"), 1):
        trajectory.read_step(number, clean_json(step))
    trajectory.end(clean_json(body.get("final_metrics")), text_field(body, "notes"))
    return trajectory


def _first_time(body: JsonObject) -> object:
    steps = objects_in(body.get("steps"))
    return next((step["timestamp"] for step in steps if nanoseconds(step.get("timestamp"))), 0)


class _Trajectory:
    """The turns of a trajectory, step by step. ``ignored`` counts steps that were copied from an earlier one; ``part``
    tells it from others of the session, which number their steps alike."""

    def __init__(self, session: str, part: str, agent: Any, first_ns: int) -> None:
        self.rejected = self.ignored = 0
        self._session, self._part = session, part
        agent = agent if isinstance(agent, dict) else {}
        self._agent = without_empty(name=agent.get("name"), version=_version(agent), model=agent.get("model_name"))
        self._tools = agent.get("tool_definitions")
        self._instructions: list[str] = []
        self._turns: list[SessionTurn] = []
        self._new: list[JsonObject] = []
        self._has_answer = True
        self._before = self._at = (first_ns or FIRST_NS) - _STEP_NS

    def spans(self) -> list[Span]:
        return [span for turn in self._turns for span in turn.all_spans()]

    def read_step(self, number: int, step: Any) -> None:
        """Read one step; one without a known source is rejected."""
        source = step.get("source") if isinstance(step, dict) else None
        if source not in _SOURCES:
            self.rejected += 1
            return
        if step.get("is_copied_context") is True:
            self.ignored += 1
            return
        key = identifier(text(step.get("step_id"))) or str(number)
        at = min(nanoseconds(step.get("timestamp")), MAX_NS)
        self._before, self._at = self._at, max(at, self._at + _STEP_NS)
        if source == "system":
            self._read_system(step)
        elif source == "user":
            self._read_user(key, step)
        else:
            self._read_agent(key, step)

    def end(self, totals: Any, notes: str) -> None:
        """End the last turn: the file is whole."""
        if self._turns:
            last = self._turns[-1]
            last.span.attributes |= without_empty(totals=totals, metadata={"notes": notes} if notes else None)
            last.close(self._at)

    def _read_system(self, step: JsonObject) -> None:
        """Read what the system says: instructions before the first turn, else news for the model."""
        if not self._turns and isinstance(step.get("message"), str):
            self._instructions.append(step["message"])
        else:
            self._new += [{"role": "system", "content": step.get("message")}, *_results(step, {})]

    def _read_user(self, key: str, step: JsonObject) -> None:
        message = {"role": "user", "content": step.get("message")}
        if self._has_answer:
            self._begin_turn(key)
        self._turns[-1].add_input(message)
        self._new.append(message)

    def _begin_turn(self, key: str) -> None:
        if self._turns:
            self._turns[-1].close(self._before)  # without the time in which it waited for the user
        name = f"{_short(self._part, _MAX_PART_CHARS)}:{key}" if self._part else key
        turn = SessionTurn("atif", _short(self._session), name, self._at)
        turn.span.attributes |= self._agent | without_empty(
            session=self._session, instructions="\n".join(self._instructions)
        )
        self._turns.append(turn)
        self._has_answer = False

    def _read_agent(self, key: str, step: JsonObject) -> None:
        if not self._turns:
            self._begin_turn(f"before-{key}")
        self._has_answer = True
        turn, metrics = self._turns[-1], object_field(step, "metrics")
        calls = objects_in(step.get("tool_calls"))
        span = turn.child("model", f"model-{key}"[:100], min(self._before + _STEP_NS, self._at))
        span.end_ns = self._at
        span.attributes |= without_empty(
            model=step.get("model_name") or self._agent.get("model"),
            input=self._new or None,
            output=[_answer(step, calls)],
            tools=self._tools,
            usage=_usage(metrics) or None,
            cost_usd=metrics.get("cost_usd"),
        )
        tools = {
            text_field(call, "tool_call_id"): self._add_tool(f"{key}-{index}", call, turn)
            for index, call in enumerate(calls)
        }
        self._new = _results(step, tools)

    def _add_tool(self, key: str, call: JsonObject, turn: SessionTurn) -> Span:
        self._at += _STEP_NS
        tool = turn.child("tool", f"tool-{key}"[:100], self._at)
        tool.name = text_field(call, "function_name")
        tool.attributes |= without_empty(
            name=call.get("function_name"), call_id=call.get("tool_call_id"), arguments=call.get("arguments")
        )
        return tool


def _version(agent: JsonObject) -> object:
    version = agent.get("version")
    return None if version == UNKNOWN_VERSION else version


def _usage(metrics: JsonObject) -> JsonObject:
    tokens = {name: value for name, value in metrics.items() if name.endswith("_tokens")}
    return tokens | without_empty(reasoning_tokens=object_field(metrics, "extra").get("reasoning_tokens"))


def _short(name: str, size: int = _MAX_SESSION_CHARS) -> str:
    """Return a name that is not cut in the name of a trace: two long ones may begin alike."""
    if len(name) <= size:
        return name
    return f"{name[:30]}-{blake2b(name.encode(), digest_size=8).hexdigest()}"


def _answer(step: JsonObject, calls: list[JsonObject]) -> JsonObject:
    """Return the model's message in the shape of chat completions."""
    return without_empty(
        role="assistant",
        content=step.get("message"),
        reasoning_content=step.get("reasoning_content"),
        tool_calls=[_function_call(call) for call in calls] or None,
    )


def _function_call(call: JsonObject) -> JsonObject:
    function = {"name": call.get("function_name"), "arguments": call.get("arguments")}
    return {"id": call.get("tool_call_id"), "type": "function", "function": function}


def _results(step: JsonObject, tools: dict[str, Span]) -> list[JsonObject]:
    """Give each result to its tool, one that names none to the only tool; return them as messages for the model."""
    messages = []
    for result in objects_in(object_field(step, "observation").get("results")):
        id = text_field(result, "source_call_id") or (next(iter(tools)) if len(tools) == 1 else "")
        tool = tools.get(id)
        if tool is not None:
            tool.attributes["result"] = result.get("content")
            tool.end_ns = tool.start_ns
            tool.attributes |= without_empty(subagent_trajectory_ref=result.get("subagent_trajectory_ref"))
        messages.append({"role": "tool", "tool_call_id": id, "content": result.get("content")})
    return messages

"""Writes turns as trajectories of the Agent Trajectory Interchange Format, ATIF-v1.7: one a turn, a line of JSON each.

``session_id`` is our session, ``trajectory_id`` the turn. The steps are what the agent is told (system), what it is
asked (user; what was said before has ``is_copied_context``), and each call of a model (agent) with the calls of tools
that it makes and, as its observation, their results. A tool that no model asked for stands at the call before it.
Shields, retrievals and other steps have no place there. A step's ``timestamp`` is when it ended;
`agents.telemetry.reading.atif` reads all of this back.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import msgspec

from agents.base.schemas.wire import iso
from agents.record.schemas.content import (
    CompletionMessage,
    SystemMessage,
    ToolCall,
    ToolResponseMessage,
    TurnMessage,
    text_of,
)
from agents.record.schemas.events import InferenceDetail, ToolDetail
from agents.record.schemas.records import StepRecord, TurnRecord
from agents.telemetry.reading.atif import UNKNOWN_VERSION
from agents.telemetry.wire.otlp import agent_of

VERSION = "ATIF-v1.7"

Json = dict[str, Any]


def turn_line(turn: TurnRecord) -> bytes:
    """A whole turn as a line of JSON."""
    return msgspec.json.encode(trajectory(turn)) + b"\n"


def trajectory(turn: TurnRecord) -> Json:
    """A whole turn as a trajectory."""
    steps = _Steps(turn)
    steps.add_input()
    for step in turn.steps:
        steps.add(step)
    steps.add_output()
    extra = {
        "session_name": turn.session.name,
        "status": turn.status,
        "user": turn.user,
        "tags": turn.tags,
        "metadata": turn.metadata,
    }
    return _without_empty(
        schema_version=VERSION,
        session_id=turn.session.id,
        trajectory_id=turn.id,
        agent=_without_empty(
            name=agent_of(turn) or "agent",
            version=str(turn.metadata.get("release") or UNKNOWN_VERSION),
            model_name=turn.model,
        ),
        steps=[{"step_id": number, **step} for number, step in enumerate(steps.all, 1)],
        notes=f"{turn.error.type}: {turn.error.message}" if turn.error else "",
        final_metrics=_totals(steps.all),
        extra=_without_empty(**extra),
    )


def _without_empty(**fields: Any) -> Json:
    return {name: value for name, value in fields.items() if value not in (None, "", [], {})}


@dataclass(slots=True)
class _Steps:
    """The steps of a trajectory; ``callers`` are those that made calls, by the ids of these."""

    turn: TurnRecord
    all: list[Json] = field(default_factory=list)
    callers: dict[str, Json] = field(default_factory=dict)

    def add_input(self) -> None:
        instructions, messages = self.turn.agent.instructions, self.turn.input
        if instructions:
            self._append("system", self.turn.started_at, instructions)
        last_answer = max((n for n, message in enumerate(messages) if message.role == "assistant"), default=-1)
        for number, message in enumerate(messages):
            step = self._append(_source(message), self.turn.started_at, text_of(message.content))
            step |= _without_empty(is_copied_context=number <= last_answer or None)
            if isinstance(message, ToolResponseMessage):
                step |= {"message": "", "observation": {"results": [_result(message.call_id, step["message"])]}}

    def add(self, step: StepRecord) -> None:
        if step.type == "inference" and step.detail is not None:
            self._add_inference(step, InferenceDetail.model_validate(step.detail))
        elif step.type == "tool_execution" and step.detail is not None:
            self._add_tool(step, ToolDetail.model_validate(step.detail))

    def add_output(self) -> None:
        """Add the answer, where no model gave it."""
        answer = text_of(self.turn.output.content) if self.turn.output else ""
        if answer and (self.all[-1]["source"], self.all[-1]["message"]) != ("agent", answer):
            self._append("agent", self.turn.completed_at or self.turn.started_at, answer)

    def _append(self, source: str, at_us: int, message: str) -> Json:
        step: Json = {"timestamp": iso(at_us), "source": source, "message": message}
        self.all.append(step)
        return step

    def _add_inference(self, step: StepRecord, detail: InferenceDetail) -> None:
        answer = detail.model_response
        own = self._append("agent", step.completed_at or step.started_at, text_of(answer.content))
        own |= _without_empty(
            model_name=detail.model or step.name,
            reasoning_content=detail.reasoning,
            tool_calls=[_call(call) for call in answer.tool_calls],
            metrics=_metrics(step),
            extra=_without_empty(agent=step.agent, error=step.error.message if step.error else ""),
        )
        self.callers |= dict.fromkeys((call.call_id for call in answer.tool_calls), own)

    def _add_tool(self, step: StepRecord, detail: ToolDetail) -> None:
        if detail.approval == "requested":
            return  # the question whether the call may be made: the call itself is another step
        content = "\n".join(text_of(response.content) for response in detail.tool_responses)
        if not detail.tool_responses and step.error:
            content = step.error.message
        for call in detail.tool_calls:
            caller = self.callers.get(call.call_id) or self._adopt(step, call)
            if detail.tool_responses or step.error:
                results = caller.setdefault("observation", {"results": []})["results"]
                results.append(_result(call.call_id, content))

    def _adopt(self, step: StepRecord, call: ToolCall) -> Json:
        """The call of a model that stands for a tool which no model asked for."""
        last = self.all[-1] if self.all else {}
        caller = last if last.get("source") == "agent" else self._append("agent", step.started_at, "")
        caller.setdefault("tool_calls", []).append(_call(call))
        return caller


def _source(message: TurnMessage) -> str:
    match message:
        case SystemMessage() | ToolResponseMessage():
            return "system"
        case CompletionMessage():
            return "agent"
        case _:
            return "user"


def _call(call: ToolCall) -> Json:
    """A call; its arguments have to be an object."""
    arguments = call.arguments if isinstance(call.arguments, dict) else {"arguments": call.arguments}
    return {"tool_call_id": call.call_id, "function_name": call.tool_name, "arguments": arguments}


def _result(call_id: str, content: str) -> Json:
    return {"source_call_id": call_id, "content": content}


def _metrics(step: StepRecord) -> Json:
    usage = step.usage
    if usage is None:
        return {}
    return _without_empty(
        prompt_tokens=usage.input_tokens,
        completion_tokens=usage.output_tokens,
        cached_tokens=usage.cached_tokens or None,
        cost_usd=None if step.cost_nano is None else step.cost_nano / 1e9,
        extra=_without_empty(reasoning_tokens=usage.reasoning_tokens or None),
    )


def _totals(steps: list[Json]) -> Json:
    metrics = [step["metrics"] for step in steps if "metrics" in step]
    sums = {
        f"total_{name}": sum(values)
        for name in ("prompt_tokens", "completion_tokens", "cached_tokens", "cost_usd")
        if (values := [of_step[name] for of_step in metrics if name in of_step])
    }
    return {**sums, "total_steps": len(steps)}

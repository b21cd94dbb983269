"""OpenAI's chat completions: requests to the inference protocol, its chunks to events, events to completions.

Completions are plain JSON objects here, so that an endpoint's own fields are kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, assert_never

from agents.base.schemas.wire import JSON
from agents.loop.inference.base import CallPart, Chunk, Finish, InferenceRequest, Reasoning, Text
from agents.record.schemas.content import (
    GreedyStrategy,
    JsonSchemaFormat,
    SamplingParams,
    SamplingStrategy,
    ToolDef,
    TopPStrategy,
    Usage,
)
from agents.record.schemas.items import encode
from agents.relay.schemas.completions import ChatTool, NamedTool, OwnChatRequest

# ------------------------------------------------------------------------------------------ requests


def inference_request(model: str, messages: Sequence[JSON], body: OwnChatRequest) -> InferenceRequest:
    """Translate a request to the inference protocol."""
    choice = body.tool_choice or "auto"
    return InferenceRequest(
        model=model,
        messages=[encode(message) for message in messages],
        tools=[_tool(tool) for tool in body.tools or ()],
        tool_choice=choice.function.name if isinstance(choice, NamedTool) else choice,
        sampling=sampling(
            body.temperature, body.top_p, limit=body.max_completion_tokens or body.max_tokens or 0, stop=body.stop
        ),
        response_format=_format(body),
        options={"logprobs": True, "top_logprobs": body.top_logprobs or 0} if body.logprobs else {},
    )


def _tool(tool: ChatTool) -> ToolDef:
    function = tool.function
    schema = function.parameters or {"type": "object", "properties": {}}
    return ToolDef(name=function.name, description=function.description, input_schema=schema)


def sampling(
    temperature: float | None, top_p: float | None, *, limit: int, stop: str | list[str] | None
) -> SamplingParams:
    """Translate OpenAI's sampling fields. ``limit`` is in tokens, 0 for none."""
    strategy: SamplingStrategy = GreedyStrategy()
    if temperature:
        strategy = TopPStrategy(temperature=temperature, top_p=top_p)
    return SamplingParams(strategy=strategy, max_tokens=limit, stop=[stop] if isinstance(stop, str) else stop)


def _format(body: OwnChatRequest) -> JsonSchemaFormat | None:
    response_format = body.response_format
    if response_format is None or response_format.type == "text":
        return None
    schema = response_format.json_schema.schema_ if response_format.json_schema else {}
    return JsonSchemaFormat(json_schema=schema or {"type": "object"})


# -------------------------------------------------------------------------------------------- chunks


def chunk_choices(chunk: Chunk) -> list[dict[str, JSON]]:
    """Return the choices of the event for a chunk."""
    match chunk:
        case Text(text, logprobs):
            choice = _choice({"content": text})
            return [{**choice, "logprobs": {"content": list(logprobs), "refusal": None}} if logprobs else choice]
        case Reasoning(text):
            return [_choice({"reasoning_content": text})]
        case CallPart(index, arguments, call_id, name):
            head = {"id": call_id, "type": "function"} if call_id else {}
            function = {"name": name, "arguments": arguments} if call_id else {"arguments": arguments}
            return [_choice({"tool_calls": [{"index": index, **head, "function": function}]})]
        case Finish(reason, stop=None):
            return [_choice({}, reason or "stop")]
        case Finish(reason, stop=stop):
            return [{**_choice({}, reason or "stop"), "stop_reason": stop}]
        case _:
            assert_never(chunk)


def first_choices() -> list[dict[str, JSON]]:
    """Return the choices of a stream's first event, which has the role."""
    return [_choice({"role": "assistant", "content": ""})]


def _choice(delta: dict[str, JSON], finish: str | None = None) -> dict[str, JSON]:
    return {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}


def usage_json(usage: Usage) -> dict[str, JSON]:
    """Return token counts in the format of chat completions."""
    return {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.input_tokens + usage.output_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
    }


def usage_of(completion: Mapping[str, JSON]) -> Usage:
    """Parse the token counts of a completion; zeros where they are missing or invalid."""
    counts = completion.get("usage")
    read, written = _count(counts, "prompt_tokens"), _count(counts, "completion_tokens")
    return Usage(
        input_tokens=read,
        output_tokens=written,
        cached_tokens=min(_detail(counts, "prompt_tokens_details", "cached_tokens"), read),
        reasoning_tokens=min(_detail(counts, "completion_tokens_details", "reasoning_tokens"), written),
    )


def _detail(counts: JSON, details: str, name: str) -> int:
    return _count(counts.get(details) if isinstance(counts, dict) else None, name)


def _count(counts: JSON, name: str) -> int:
    value = counts.get(name) if isinstance(counts, dict) else None
    return value if type(value) is int and 0 <= value < 2**53 else 0


# ------------------------------------------------------------------------------------------ assembly

_TEXTS = ("content", "reasoning_content", "reasoning", "refusal")


class _ReceivedMessage:
    """Assembles one message from its deltas. Unknown parts are left out: they were relayed as received."""

    def __init__(self) -> None:
        self._texts: dict[str, list[str]] = {}
        self._calls: dict[int, dict[str, JSON]] = {}
        self._arguments: dict[int, list[str]] = {}
        self._logprobs: dict[str, list[JSON]] = {}
        self.finish_reason: str | None = None

    def add(self, choice: Mapping[str, JSON]) -> None:
        if isinstance(choice.get("finish_reason"), str):
            self.finish_reason = choice["finish_reason"]
        self._add_logprobs(choice.get("logprobs"))
        delta = choice.get("delta")
        if not isinstance(delta, dict):
            return
        for name in _TEXTS:
            if isinstance(delta.get(name), str):
                self._texts.setdefault(name, []).append(delta[name])
        for position, call in enumerate(delta.get("tool_calls") or ()):
            if isinstance(call, dict):
                self._add_call(position, call)

    def _add_logprobs(self, logprobs: JSON) -> None:
        for name, tokens in logprobs.items() if isinstance(logprobs, dict) else ():
            if isinstance(tokens, list):
                self._logprobs.setdefault(name, []).extend(tokens)

    @property
    def logprobs(self) -> JSON:
        return {"content": None, "refusal": None, **self._logprobs} if self._logprobs else None

    def _add_call(self, position: int, call: Mapping[str, JSON]) -> None:
        index = call["index"] if isinstance(call.get("index"), int) else position
        received = self._calls.setdefault(index, {"id": "", "type": "function", "name": ""})
        function: JSON = call.get("function")
        if not isinstance(function, dict):
            function = {}
        received["id"] = call.get("id") or received["id"]
        received["name"] = function.get("name") or received["name"]
        if isinstance(function.get("arguments"), str):
            self._arguments.setdefault(index, []).append(function["arguments"])

    def message(self) -> dict[str, JSON]:
        texts = {name: "".join(parts) for name, parts in self._texts.items()}
        out: dict[str, JSON] = {"role": "assistant", "content": texts.pop("content", "") or None, **texts}
        if self._calls:
            out["tool_calls"] = [self._call(index) for index in sorted(self._calls)]
        elif out["content"] is None:
            out["content"] = ""
        return out

    def _call(self, index: int) -> dict[str, JSON]:
        call, arguments = self._calls[index], "".join(self._arguments.get(index, ()))
        return {"id": call["id"], "type": "function", "function": {"name": call["name"], "arguments": arguments}}


class CompletionAssembly:
    """Assembles the events of a stream to a completion."""

    def __init__(self) -> None:
        self._choices: dict[int, _ReceivedMessage] = {}
        self._usage: JSON = None

    def add(self, chunk: Mapping[str, JSON]) -> None:
        choices = chunk.get("choices")
        for choice in choices if isinstance(choices, list) else ():
            if isinstance(choice, dict):
                index = choice["index"] if isinstance(choice.get("index"), int) else 0
                self._choices.setdefault(index, _ReceivedMessage()).add(choice)
        self._usage = chunk.get("usage") or self._usage

    @property
    def is_finished(self) -> bool:
        """Whether every choice that began has a finish reason."""
        return bool(self._choices) and all(message.finish_reason for message in self._choices.values())

    def completion(self) -> dict[str, JSON]:
        """Return choices and usage; the caller adds id, model and time."""
        choices: list[dict[str, Any]] = [
            {
                "index": index,
                "message": message.message(),
                "finish_reason": message.finish_reason,
                "logprobs": message.logprobs,
            }
            for index, message in sorted(self._choices.items())
        ]
        return {"choices": choices, "usage": self._usage}


def cut_choices(choices: Sequence[Mapping[str, JSON]]) -> list[dict[str, JSON]]:
    """Return the choices of a completion that did not end well, as clients can read them: at least one, each with its
    message, and with the reason of a text that was cut where it has none."""
    nothing: dict[str, JSON] = {"index": 0, "message": {"role": "assistant", "content": ""}, "logprobs": None}
    return [{**choice, "finish_reason": choice.get("finish_reason") or "length"} for choice in choices or [nothing]]

"""Llama Stack's inference API: requests to the inference protocol, its chunks to events."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Sequence

from agents.loop.inference.base import CallPart, Chunk, Finish, InferenceRequest, Reasoning, Text
from agents.loop.steps import STOP_REASONS, tool_call
from agents.record.schemas.chunked_text import ChunkedText
from agents.record.schemas.content import (
    CompletionMessage,
    Message,
    StopReason,
    SystemMessage,
    ToolCall,
    ToolDef,
    ToolParameter,
    UserMessage,
    text_of,
)
from agents.record.schemas.deltas import StepDelta, TextDelta, ToolCallDelta
from agents.record.schemas.items import assistant_item, input_item, system_item
from agents.relay.schemas.inference import (
    ChatCompletionEvent,
    ChatCompletionRequest,
    ChatEvent,
    CompletionAnswer,
    CompletionEvent,
    CompletionRequest,
    ToolDefinition,
)


def chat_request(model: str, body: ChatCompletionRequest) -> InferenceRequest:
    """Translate a chat request to the inference protocol."""
    choice = (body.tool_config.tool_choice if body.tool_config else body.tool_choice) or "auto"
    return InferenceRequest(
        model=model,
        messages=[_item(message) for message in body.messages],
        tools=() if choice == "none" else [_tool(tool) for tool in body.tools],
        tool_choice=choice,
        sampling=body.sampling_params,
        response_format=body.response_format,
    )


def completion_request(model: str, body: CompletionRequest) -> InferenceRequest:
    """Translate a request to continue a text."""
    return InferenceRequest(
        model=model,
        messages=[input_item(UserMessage(content=body.content))],
        sampling=body.sampling_params,
        response_format=body.response_format,
    )


def _item(message: Message) -> bytes:
    if isinstance(message, SystemMessage):
        return system_item(text_of(message.content))
    if isinstance(message, CompletionMessage):
        return assistant_item(message)
    return input_item(message)


def _tool(tool: ToolDefinition) -> ToolDef:
    parameters = [
        ToolParameter(
            name=name,
            parameter_type=parameter.param_type,
            description=parameter.description or "",
            required=parameter.required,
            default=parameter.default,
        )
        for name, parameter in tool.parameters.items()
    ]
    return ToolDef(name=tool.tool_name, description=tool.description, parameters=parameters)


# -------------------------------------------------------------------------------------------- answers


class ReceivedAnswer:
    """Collects the chunks of an answer as they arrive."""

    def __init__(self) -> None:
        self._text = ChunkedText()
        self._calls: dict[int, tuple[str, str, ChunkedText]] = {}
        self.reason: str | None = None

    def add(self, chunk: Chunk) -> StepDelta | None:
        """Add a chunk; returns its delta, None if the API has none for it."""
        match chunk:
            case Text(text):
                self._text.append(text)
                return TextDelta(text=text)
            case CallPart(index, arguments, call_id, name):
                self._calls.setdefault(index, (call_id, name, ChunkedText()))[2].append(arguments)
                return ToolCallDelta(tool_call=arguments, parse_status="in_progress") if arguments else None
            case Finish(reason):
                self.reason = reason
                return None
            case Reasoning():
                return None

    @property
    def text(self) -> str:
        return str(self._text)

    @property
    def calls(self) -> list[ToolCall]:
        return [tool_call(*self._calls[index]) for index in sorted(self._calls)]

    @property
    def stop_reason(self) -> StopReason:
        reason = STOP_REASONS.get(self.reason, "end_of_turn")
        return "end_of_message" if self._calls and reason == "end_of_turn" else reason

    def message(self) -> CompletionMessage:
        return CompletionMessage(content=self.text, stop_reason=self.stop_reason, tool_calls=self.calls)


async def collect_answer(chunks: AsyncIterator[Chunk]) -> ReceivedAnswer:
    """Read all chunks of an answer. Raises ProviderError."""
    answer = ReceivedAnswer()
    async for chunk in chunks:
        answer.add(chunk)
    return answer


def completion_answer(answer: ReceivedAnswer) -> CompletionAnswer:
    return CompletionAnswer(content=answer.text, stop_reason=answer.stop_reason)


async def chat_events(chunks: AsyncIterator[Chunk]) -> AsyncGenerator[bytes, None]:
    """Yield the events of a streamed chat as JSON; complete calls follow at the end, when they are known.
    Raises ProviderError: before the first event where the endpoint refuses at once."""
    answer, has_begun = ReceivedAnswer(), False
    async for chunk in chunks:
        if not has_begun:
            yield _event("start", TextDelta(text=""))
        has_begun = True
        delta = answer.add(chunk)
        if delta:
            yield _event("progress", delta)
    for delta in _call_deltas(answer.calls):
        yield _event("progress", delta)
    yield _event("complete", TextDelta(text=""), answer.stop_reason)


def _call_deltas(calls: Sequence[ToolCall]) -> list[ToolCallDelta]:
    return [
        ToolCallDelta(tool_call=call, parse_status="succeeded" if isinstance(call.arguments, dict) else "failed")
        for call in calls
    ]


def _event(kind: str, delta: StepDelta, stop_reason: StopReason | None = None) -> bytes:
    event = ChatEvent(event_type=kind, delta=delta, stop_reason=stop_reason)
    return ChatCompletionEvent(event=event).model_dump_json().encode()


async def text_events(chunks: AsyncIterator[Chunk]) -> AsyncGenerator[bytes, None]:
    """Yield the events of a streamed completion as JSON. Raises ProviderError."""
    answer = ReceivedAnswer()
    async for chunk in chunks:
        delta = answer.add(chunk)
        if isinstance(delta, TextDelta):
            yield CompletionEvent(delta=delta.text).model_dump_json().encode()
    yield CompletionEvent(delta="", stop_reason=answer.stop_reason).model_dump_json().encode()

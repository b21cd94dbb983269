"""One async generator per kind of step: check shields, retrieve, infer, run tools.

Each yields its events and deltas and leaves its outcome in the run's `Progress`; an expected
failure is a step with an error there, never an exception.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import msgspec

from agents.base import ids
from agents.base.errors import AgentsError, ProviderError
from agents.loop import check_shields as checking
from agents.loop.inference.base import CallPart, Chunk, Finish, InferenceRequest, Reasoning, Text
from agents.loop.progress import Draft, Progress
from agents.loop.protocols.shields import Shield, Touchpoint
from agents.loop.protocols.tools import Labelled, Offered, Tool, ToolContext, ToolResult, failure
from agents.loop.replay import Outcome
from agents.loop.replayed_steps import take_over
from agents.loop.run_tool import cut_for_model, run_one
from agents.record.schemas.chunked_text import ChunkedText
from agents.record.schemas.content import CompletionMessage, StopReason, ToolCall, ToolResponse, text_of
from agents.record.schemas.events import (
    Delta,
    Entry,
    ErrorInfo,
    FinalStatus,
    InferenceDetail,
    MemoryDetail,
    Origin,
    OtherDetail,
    ShieldDetail,
    StepStarted,
)

STOP_REASONS: dict[str | None, StopReason] = {
    "stop": "end_of_turn",
    "tool_calls": "end_of_message",
    "function_call": "end_of_message",
    "content_filter": "end_of_turn",
    "length": "out_of_tokens",
    None: "out_of_tokens",
}


def error_info(error: AgentsError) -> ErrorInfo:
    """An expected failure as it is stored."""
    if isinstance(error, ProviderError):
        return ErrorInfo(
            type=error.code or "provider_error",
            message=error.message,
            provider=error.provider,
            upstream_status=error.upstream_status,
        )
    return ErrorInfo(type=error.code or error.type, message=error.message)


# ------------------------------------------------------------------------------------------- shields


async def check_shields(progress: Progress, shields: Sequence[Shield], touchpoint: Touchpoint) -> AsyncIterator[Entry]:
    """Run all shields of a touchpoint at once, as one step. A violation of level ``error`` blocks
    the turn, and its words become the answer; a shield that cannot judge fails it."""
    recorded = progress.tape.take("shield_call", touchpoint)
    if recorded:
        for event in take_over(progress, recorded):
            yield event
        return
    started = progress.step_started("shield_call", touchpoint)
    yield started
    names = [shield.name for shield in shields]
    try:
        violation = await checking.check(shields, progress.said(), touchpoint)
    except AgentsError as error:
        progress.error = error_info(error)
        detail = ShieldDetail(touchpoint=touchpoint, shields=names)
        yield progress.step_ended(started, detail, status="failed", error=progress.error)
        return
    detail = ShieldDetail(touchpoint=touchpoint, shields=names, violation=violation)
    if violation and violation.violation_level == "error":
        progress.blocked = True
        progress.message = CompletionMessage(content=violation.user_message or "", stop_reason="end_of_turn")
    yield progress.step_ended(started, detail)


# ----------------------------------------------------------------------------------------- retrieval


async def prepare_documents(progress: Progress) -> None:
    """Get the turn's documents ready. One that cannot be had ends the turn before any inference."""
    documents = progress.run.documents
    assert documents is not None  # the loop asks only where there are some
    if progress.error is not None:
        return
    try:
        progress.attach(await documents.prepare())
    except AgentsError as error:
        progress.error = error_info(error)


async def retrieve(progress: Progress) -> AsyncIterator[Entry]:
    """Find text for the turn's question and put it before the model."""
    memory = progress.run.memory
    assert memory is not None  # the loop asks only where there is one
    query = progress.texts()[-1] if progress.texts() else ""
    known = progress.tape.retrieved(query)
    if known:
        for event in take_over(progress, *known):
            yield event
        return
    started = progress.step_started("memory_retrieval", "retrieve")
    yield started
    try:
        found = await memory.retrieve(query)
    except AgentsError as error:
        progress.error = error_info(error)
        detail = MemoryDetail(vector_db_ids="", inserted_context="", query=query)
        yield progress.step_ended(started, detail, status="failed", error=progress.error)
        return
    progress.remember(found.context)
    detail = MemoryDetail(
        vector_db_ids=found.vector_db_ids, inserted_context=found.context, query=query, chunks=found.chunks
    )
    yield progress.step_ended(started, detail)


# ----------------------------------------------------------------------------------------- inference


class _Answer:
    """An inference as it arrives."""

    def __init__(self, progress: Progress, started: StepStarted, draft: Draft) -> None:
        self._progress, self._step, self._draft = progress, started.step, draft
        self._calls: dict[int, tuple[str, str, ChunkedText]] = {}
        self._late = False

    def take(self, chunk: Text | Reasoning | CallPart) -> Entry:
        match chunk:
            case Text(text):
                return self._typed("text", self._draft.text, text)
            case Reasoning(text):
                self._late = self._late or (not self._draft.reasoning.size and bool(self._draft.text.size))
                return self._typed("reasoning", self._draft.reasoning, text)
            case CallPart(index, arguments, call_id, name):
                parts = self._calls.setdefault(index, (call_id, name, ChunkedText()))[2]
                return self._typed("call", parts, arguments, index)

    def _typed(self, channel: str, pieces: ChunkedText, text: str, index: int = 0) -> Delta:
        at = pieces.size
        pieces.append(text)
        return self._progress.delta(self._step, channel, at, text, index)

    def message(self, finish: str | None) -> CompletionMessage:
        calls = _distinct([tool_call(*self._calls[index]) for index in sorted(self._calls)])
        calls = calls[:1] if self._progress.run.one_call else calls
        reason = STOP_REASONS.get(finish, "end_of_turn")
        if calls and reason == "end_of_turn":
            reason = "end_of_message"  # some endpoints say "stop" after tool calls
        return CompletionMessage(content=str(self._draft.text), stop_reason=reason, tool_calls=calls)

    def detail(self, finish: str | None) -> InferenceDetail:
        return InferenceDetail(
            model_response=self.message(finish),
            model=self._draft.model,
            finish_reason=finish,
            reasoning=str(self._draft.reasoning),
            reasoning_last=self._late or None,
        )


def tool_call(call_id: str, name: str, parts: ChunkedText) -> ToolCall:
    """A call as the model wrote it; arguments that are no JSON object stay text."""
    raw = str(parts)
    try:
        arguments = msgspec.json.decode(raw or "{}")
    except (ValueError, RecursionError):
        arguments = raw
    if not isinstance(arguments, dict):
        arguments = raw
    return ToolCall(call_id=call_id, tool_name=name, arguments=arguments, arguments_json=raw or "{}")


def _distinct(calls: list[ToolCall]) -> list[ToolCall]:
    """The calls of one message, each with an id of its own: an answer names its call by it."""
    seen: set[str] = set()
    out = []
    for number, call in enumerate(calls):
        name = call.call_id or f"call_{number}"
        while name in seen:
            name = f"{name}_{number}"
        seen.add(name)
        out.append(call if name == call.call_id else call.model_copy(update={"call_id": name}))
    return out


def begin_inference(progress: Progress) -> StepStarted:
    """Begin the step of the next inference, which `infer` then finds begun."""
    recorded = progress.tape.peek("inference")
    progress.begun = progress.step_started("inference", recorded.name if recorded else progress.run.model)
    return progress.begun


async def infer(progress: Progress) -> AsyncIterator[Entry]:
    """Ask the model once. Its message is left in ``progress.message``."""
    run, started = progress.run, progress.begun
    if started is None:
        started = begin_inference(progress)
        yield started
    progress.begun = None
    recorded = progress.tape.take("inference")
    if recorded:
        for event in take_over(progress, recorded, begun=started):
            yield event
        return
    draft = progress.draft(started.step)
    draft.model = run.inference_model
    answer, end, first_at, error = _Answer(progress, started, draft), None, None, None
    try:
        async for chunk in _truncating(progress) if run.truncates else run.inference.stream(_request(progress)):
            if isinstance(chunk, Finish):
                end = chunk
                break
            if first_at is None:
                first_at = progress.now
            yield answer.take(chunk)
    except AgentsError as failure:
        error = progress.error = error_info(failure)
    detail = answer.detail(end.reason if end else None)
    progress.message = detail.model_response
    progress.iterations += 1
    yield progress.step_ended(
        started,
        detail,
        status="failed" if error else "completed",
        usage=end.usage if end else None,
        ttft_us=first_at - started.at if first_at else None,
        error=error,
    )


async def _truncating(progress: Progress) -> AsyncIterator[Chunk]:
    """The model's answer. A history that is too long for it is sent again without its older half.
    Raises ProviderError."""
    while True:
        began = False
        try:
            async for chunk in progress.run.inference.stream(_request(progress)):
                began = True
                yield chunk
            return
        except ProviderError as error:
            if began or error.code != "context_length_exceeded" or not progress.forget_older():
                raise


def _request(progress: Progress) -> InferenceRequest:
    run = progress.run
    choice = run.tool_config.tool_choice or "auto"
    if progress.round and choice not in {"auto", "none"}:
        choice = "auto"  # a forced call is forced once, else the turn could never end
    return InferenceRequest(
        model=run.inference_model,
        messages=progress.messages(),
        tools=() if choice == "none" else progress.tools(),
        tool_choice=choice,
        sampling=run.sampling,
        response_format=run.response_format,
        options=run.options,
    )


# --------------------------------------------------------------------------------------------- tools


async def list_tools(progress: Progress) -> AsyncIterator[Entry]:
    """Ask the sources what tools they have, all at once: a step each. One that does not say fails the
    turn: a model must not answer without the tools it was promised."""
    sources = progress.run.sources
    asked = [asyncio.ensure_future(source.offer()) for source in sources]
    try:
        await asyncio.wait(asked)
    except asyncio.CancelledError:
        for task in asked:
            task.cancel()
        raise
    for source, task in zip(sources, asked, strict=True):
        started = progress.step_started("other", source.label)
        yield started
        shown, error = _offered(progress, task)
        data = {"server_label": source.label, "tools": shown, "error": error.message if error else None}
        status: FinalStatus = "failed" if error else "completed"
        yield progress.step_ended(started, OtherDetail(kind="mcp_list_tools", data=data), status=status, error=error)
        progress.error = progress.error or error


def _offered(progress: Progress, asked: asyncio.Future[Offered]) -> tuple[list[dict[str, Any]], ErrorInfo | None]:
    try:
        offered = asked.result()
    except AgentsError as error:
        return [], error_info(error)
    progress.offer(offered.tools)
    return list(offered.shown), None


async def run_tools(
    progress: Progress, calls: Sequence[ToolCall], asked: Mapping[str, int] | None = None
) -> AsyncIterator[Entry]:
    """Run the server's tools a model asked for, all at once, recorded in call order. ``asked`` are the
    steps in which the client approved them."""
    asked = asked or {}
    run = progress.run
    context = ToolContext(
        ids.public(ids.Kind.SESSION, run.session),
        ids.public(ids.Kind.TURN, run.turn),
        run.actor,
        run.provider_data,
    )
    started = [
        progress.step_started("tool_execution", call.tool_name, call=call, asked=asked.get(call.call_id))
        for call in calls
    ]
    for event in started:
        yield event
    await progress.stored()  # no tool runs of which the log does not know
    progress.count_calls(calls)
    known = [progress.tape.outcome(call) for call in calls]
    async with asyncio.TaskGroup() as group:
        work = [
            None if outcome else group.create_task(_run_tool(progress, call, context))
            for call, outcome in zip(calls, known, strict=True)
        ]
        for event, call, outcome, task in zip(started, calls, known, work, strict=True):
            if outcome is None and task is not None:
                outcome = _came(call, await task, progress.tape.unmatched)
            assert outcome is not None  # it was known, or it came
            yield progress.step_ended(
                event,
                progress.tool_detail(call, outcome.responses, asked=asked.get(call.call_id), origin=outcome.origin),
                status="failed" if outcome.error else "completed",
                error=outcome.error,
            )


def _came(call: ToolCall, result: ToolResult, origin: Origin | None) -> Outcome:
    """What a tool gave back, as it is recorded."""
    response = ToolResponse(
        call_id=call.call_id,
        tool_name=call.tool_name,
        content=result.content,
        metadata=cut_for_model(result) or None,
    )
    error = ErrorInfo(type="tool_error", message=result.error) if result.error else None
    return Outcome(response, origin, error=error)


async def _run_tool(progress: Progress, call: ToolCall, context: ToolContext) -> ToolResult:
    if progress.spent(call):
        return failure(f"Not run: the limit of {progress.run.max_tool_calls} tool calls is reached. Answer without.")
    tool = progress.run.server_tools.get(call.tool_name)
    if tool is None:
        return failure(f"Unknown tool `{call.tool_name}` was called.")
    if not isinstance(call.arguments, dict):
        return failure(f"The arguments of {call.tool_name} are not a JSON object: {call.arguments[:200]}")
    return await run_one(tool, call.arguments, context, progress.run.tool_timeout_s)


def waits_for_client(progress: Progress, call: ToolCall) -> bool:
    """Whether only the client can run this call, or has to approve it. A call of an unknown tool is the
    server's to answer: with an error."""
    tool = progress.run.server_tools.get(call.tool_name)
    if isinstance(tool, Labelled) and tool.asks:
        return True
    return any(tool.name == call.tool_name for tool in progress.run.client_tools)


def words_of(message: CompletionMessage | None) -> str:
    return text_of(message.content) if message else ""


__all__ = [
    "Tool",
    "check_shields",
    "error_info",
    "infer",
    "list_tools",
    "prepare_documents",
    "retrieve",
    "run_tools",
    "waits_for_client",
    "words_of",
]

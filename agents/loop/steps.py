"""One async generator per kind of step: check shields, retrieve, infer, run tools.

Each yields its events and deltas and sets its outcome in the `RunProgress`; an expected failure is a step
with an error, never an exception.
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
from agents.loop.progress import OpenStep, RunProgress
from agents.loop.protocols.shields import ShieldProtocol, Touchpoint
from agents.loop.protocols.tools import HostedTool, ListedTools, ToolContext, ToolResult, failure
from agents.loop.replay import CallOutcome
from agents.loop.replayed_steps import apply_recorded_step
from agents.loop.run_tool import model_metadata, run_tool
from agents.record.schemas.chunked_text import ChunkedText
from agents.record.schemas.content import CompletionMessage, StopReason, ToolCall, ToolResponse, text_of
from agents.record.schemas.events import (
    Delta,
    DeltaChannel,
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
    """Return an expected failure as it is stored."""
    if isinstance(error, ProviderError):
        return ErrorInfo(
            type=error.code or "provider_error",
            message=error.message,
            provider=error.provider,
            upstream_status=error.upstream_status,
        )
    return ErrorInfo(type=error.code or error.type, message=error.message)


# ------------------------------------------------------------------------------------------- shields


async def check_shields(
    progress: RunProgress, shields: Sequence[ShieldProtocol], touchpoint: Touchpoint
) -> AsyncIterator[Entry]:
    """Run all shields of a touchpoint concurrently, as one step. A violation of level ``error`` blocks the
    turn, and its message becomes the answer; a shield that fails, fails the turn."""
    recorded = progress.replay.take_step("shield_call", touchpoint)
    if recorded:
        for event in apply_recorded_step(progress, recorded):
            yield event
        return
    started = progress.step_started("shield_call", touchpoint)
    yield started
    names = [shield.name for shield in shields]
    try:
        violation = await checking.check(shields, progress.shield_input(), touchpoint)
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


async def prepare_documents(progress: RunProgress) -> None:
    """Prepare the turn's documents. If one fails, the turn ends before its first inference."""
    documents = progress.run.documents
    assert documents is not None  # the loop asks only where there are some
    if progress.error is not None:
        return
    try:
        progress.set_documents(await documents.prepare())
    except AgentsError as error:
        progress.error = error_info(error)


async def retrieve(progress: RunProgress) -> AsyncIterator[Entry]:
    """Retrieve context for the turn's question, for the model."""
    memory = progress.run.retriever
    assert memory is not None  # the loop asks only where there is one
    query = progress.texts()[-1] if progress.texts() else ""
    recorded = progress.replay.retrieval(query)
    if recorded:
        for event in apply_recorded_step(progress, *recorded):
            yield event
        return
    started = progress.step_started("memory_retrieval", "retrieve")
    yield started
    try:
        retrieved = await memory.retrieve(query)
    except AgentsError as error:
        progress.error = error_info(error)
        detail = MemoryDetail(vector_db_ids="", inserted_context="", query=query)
        yield progress.step_ended(started, detail, status="failed", error=progress.error)
        return
    progress.set_context(retrieved.context)
    detail = MemoryDetail(
        vector_db_ids=retrieved.vector_db_ids, inserted_context=retrieved.context, query=query, chunks=retrieved.chunks
    )
    yield progress.step_ended(started, detail)


# ----------------------------------------------------------------------------------------- inference


class _ReceivedAnswer:
    """Collects the chunks of an inference as they arrive."""

    def __init__(self, progress: RunProgress, started: StepStarted, draft: OpenStep) -> None:
        self._progress, self._step, self._draft = progress, started.step, draft
        self._calls: dict[int, tuple[str, str, ChunkedText]] = {}
        self._reasoning_after_text = False

    def take(self, chunk: Text | Reasoning | CallPart) -> Entry:
        match chunk:
            case Text(text):
                return self._delta("text", self._draft.text, text)
            case Reasoning(text):
                self._reasoning_after_text = self._reasoning_after_text or (
                    not self._draft.reasoning.size and bool(self._draft.text.size)
                )
                return self._delta("reasoning", self._draft.reasoning, text)
            case CallPart(index, arguments, call_id, name):
                parts = self._calls.setdefault(index, (call_id, name, ChunkedText()))[2]
                return self._delta("call", parts, arguments, index)

    def _delta(self, channel: DeltaChannel, received: ChunkedText, text: str, index: int = 0) -> Delta:
        offset = received.size
        received.append(text)
        return self._progress.delta(self._step, channel, offset, text, index)

    def message(self, finish: str | None) -> CompletionMessage:
        calls = _with_distinct_ids([tool_call(*self._calls[index]) for index in sorted(self._calls)])
        calls = calls[:1] if self._progress.run.single_call else calls
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
            reasoning_last=self._reasoning_after_text or None,
        )


def tool_call(call_id: str, name: str, parts: ChunkedText) -> ToolCall:
    """Return a call as the model wrote it; arguments that are no JSON object stay text."""
    raw = str(parts)
    try:
        arguments = msgspec.json.decode(raw or "{}")
    except (ValueError, RecursionError):
        arguments = raw
    if not isinstance(arguments, dict):
        arguments = raw
    return ToolCall(call_id=call_id, tool_name=name, arguments=arguments, arguments_json=raw or "{}")


def _with_distinct_ids(calls: list[ToolCall]) -> list[ToolCall]:
    """Return the calls of one message with distinct ids, which answers refer to."""
    seen: set[str] = set()
    out = []
    for number, call in enumerate(calls):
        call_id = call.call_id or f"call_{number}"
        while call_id in seen:
            call_id = f"{call_id}_{number}"
        seen.add(call_id)
        out.append(call if call_id == call.call_id else call.model_copy(update={"call_id": call_id}))
    return out


def begin_inference(progress: RunProgress) -> StepStarted:
    """Begin the step of the next inference, which `infer` continues."""
    recorded = progress.replay.next_step("inference")
    progress.started_inference = progress.step_started("inference", recorded.name if recorded else progress.run.model)
    return progress.started_inference


async def infer(progress: RunProgress) -> AsyncIterator[Entry]:
    """Run one inference and set its message as ``progress.message``."""
    run, started = progress.run, progress.started_inference
    if started is None:
        started = begin_inference(progress)
        yield started
    progress.started_inference = None
    recorded = progress.replay.take_step("inference")
    if recorded:
        for event in apply_recorded_step(progress, recorded, started_step=started):
            yield event
        return
    draft = progress.draft(started.step)
    draft.model = run.inference_model
    answer, end, first_at, error = _ReceivedAnswer(progress, started, draft), None, None, None
    try:
        async for chunk in _truncated_stream(progress) if run.truncates else run.inference.stream(_request(progress)):
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


async def _truncated_stream(progress: RunProgress) -> AsyncIterator[Chunk]:
    """Yield the chunks of the model's answer. If the history is too long for the model, the request is repeated
    without its older half. Raises ProviderError."""
    while True:
        began = False
        try:
            async for chunk in progress.run.inference.stream(_request(progress)):
                began = True
                yield chunk
            return
        except ProviderError as error:
            if began or error.code != "context_length_exceeded" or not progress.drop_older_history():
                raise


def _request(progress: RunProgress) -> InferenceRequest:
    run = progress.run
    choice = run.tool_config.tool_choice or "auto"
    if progress.round and choice not in {"auto", "none"}:
        choice = "auto"  # a forced call is forced once, else the turn could never end
    return InferenceRequest(
        model=run.inference_model,
        messages=progress.messages(),
        tools=() if choice == "none" else progress.available_tools(),
        tool_choice=choice,
        sampling=run.sampling,
        response_format=run.response_format,
        options=run.options,
    )


# --------------------------------------------------------------------------------------------- tools


async def list_tools(progress: RunProgress) -> AsyncIterator[Entry]:
    """List the tools of all sources concurrently, with a step for each. A source that fails, fails the turn: a
    model must not answer without the requested tools."""
    sources = progress.run.tool_sources
    listings = [asyncio.ensure_future(source.list_tools()) for source in sources]
    try:
        await asyncio.wait(listings)
    except asyncio.CancelledError:
        for task in listings:
            task.cancel()
        raise
    for source, task in zip(sources, listings, strict=True):
        started = progress.step_started("other", source.label)
        yield started
        descriptions, error = _add_listed_tools(progress, task)
        data = {"server_label": source.label, "tools": descriptions, "error": error.message if error else None}
        status: FinalStatus = "failed" if error else "completed"
        yield progress.step_ended(started, OtherDetail(kind="mcp_list_tools", data=data), status=status, error=error)
        progress.error = progress.error or error


def _add_listed_tools(
    progress: RunProgress, listing: asyncio.Future[ListedTools]
) -> tuple[list[dict[str, Any]], ErrorInfo | None]:
    try:
        offered = listing.result()
    except AgentsError as error:
        return [], error_info(error)
    progress.add_tools(offered.tools)
    return list(offered.descriptions), None


async def run_tools(
    progress: RunProgress, calls: Sequence[ToolCall], approval_steps: Mapping[str, int] | None = None
) -> AsyncIterator[Entry]:
    """Run a model's calls of the server's tools concurrently and record them in the order of the calls.
    ``approval_steps`` are the steps in which the client approved them, by call id."""
    approval_steps = approval_steps or {}
    run = progress.run
    context = ToolContext(
        ids.public(ids.Kind.SESSION, run.session),
        ids.public(ids.Kind.TURN, run.turn),
        run.actor,
        run.provider_data,
    )
    started = [
        progress.step_started("tool_execution", call.tool_name, call=call, approved_in=approval_steps.get(call.call_id))
        for call in calls
    ]
    for event in started:
        yield event
    await progress.wait_until_stored()  # a tool runs only once its step is stored
    progress.count_calls(calls)
    recorded_outcomes = [progress.replay.outcome(call) for call in calls]
    async with asyncio.TaskGroup() as group:
        tasks = [
            None if outcome else group.create_task(_run_tool(progress, call, context))
            for call, outcome in zip(calls, recorded_outcomes, strict=True)
        ]
        for event, call, outcome, task in zip(started, calls, recorded_outcomes, tasks, strict=True):
            if outcome is None and task is not None:
                outcome = _tool_outcome(call, await task, progress.replay.unmatched_origin)
            assert outcome is not None  # it was recorded, or its task returned it
            yield progress.step_ended(
                event,
                progress.tool_detail(
                    call, outcome.responses, approved_in=approval_steps.get(call.call_id), origin=outcome.origin
                ),
                status="failed" if outcome.error else "completed",
                error=outcome.error,
            )


def _tool_outcome(call: ToolCall, result: ToolResult, origin: Origin | None) -> CallOutcome:
    """Return a tool's result as it is recorded."""
    response = ToolResponse(
        call_id=call.call_id,
        tool_name=call.tool_name,
        content=result.content,
        metadata=model_metadata(result) or None,
    )
    error = ErrorInfo(type="tool_error", message=result.error) if result.error else None
    return CallOutcome(response, origin, error=error)


async def _run_tool(progress: RunProgress, call: ToolCall, context: ToolContext) -> ToolResult:
    if progress.is_over_call_limit(call):
        return failure(f"Not run: the limit of {progress.run.max_tool_calls} tool calls is reached. Answer without.")
    tool = progress.run.server_tools.get(call.tool_name)
    if tool is None:
        return failure(f"Unknown tool `{call.tool_name}` was called.")
    if not isinstance(call.arguments, dict):
        return failure(f"The arguments of {call.tool_name} are not a JSON object: {call.arguments[:200]}")
    return await run_tool(tool, call.arguments, context, progress.run.tool_timeout_s)


def waits_for_client(progress: RunProgress, call: ToolCall) -> bool:
    """Whether only the client can run this call, or has to approve it. A call of an unknown tool is the
    server's to answer: with an error."""
    tool = progress.run.server_tools.get(call.tool_name)
    if isinstance(tool, HostedTool) and tool.needs_approval:
        return True
    return any(tool.name == call.tool_name for tool in progress.run.client_tools)


def message_text(message: CompletionMessage | None) -> str:
    return text_of(message.content) if message else ""

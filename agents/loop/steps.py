"""One async generator per kind of step: check shields, retrieve, infer; those of tools are in `agents.loop.tool_steps`.

Each yields its events and deltas and sets its outcome in the `RunProgress`; an expected failure is a step
with an error, never an exception.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing

import msgspec
from msgspec.structs import replace

from agents.base import metrics
from agents.base.errors import AgentsError, ProviderError
from agents.loop import check_shields as checking
from agents.loop.inference.base import CallPart, Chunk, Finish, InferenceRequest, Reasoning, Text, batches
from agents.loop.open_step import OpenStep
from agents.loop.progress import RunProgress
from agents.loop.protocols.shields import ShieldProtocol, Touchpoint
from agents.loop.replayed_steps import apply_recorded_step, is_cut, take_stored_end
from agents.record.schemas.chunked_text import ChunkedText
from agents.record.schemas.content import CompletionMessage, StopReason, ToolCall, Usage, text_of
from agents.record.schemas.events import (
    Delta,
    DeltaChannel,
    ErrorInfo,
    Event,
    InferenceDetail,
    MemoryDetail,
    Output,
    ShieldDetail,
    StepEnded,
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
) -> AsyncIterator[Event]:
    """Run all shields of a touchpoint concurrently, as one step. A violation of level ``error`` blocks the
    turn, and its message becomes the answer; a shield that fails, fails the turn."""
    recorded = progress.replay.take_step("shield_call", touchpoint)
    if recorded:
        for event in apply_recorded_step(progress, recorded):
            yield event
        return
    started = progress.step_started("shield_call", touchpoint)
    yield started
    if (ended := take_stored_end(progress, started)) is not None:
        yield ended
        return
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


async def retrieve(progress: RunProgress) -> AsyncIterator[Event]:
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
    if (ended := take_stored_end(progress, started)) is not None:
        yield ended
        return
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
    """Collects the chunks of an inference as they arrive; ``end`` is the last one."""

    def __init__(self, progress: RunProgress, started: StepStarted, draft: OpenStep) -> None:
        self._progress, self._step, self._draft = progress, started.step, draft
        self._calls: dict[int, tuple[str, str, ChunkedText]] = {}
        self._reasoning_after_text = False
        self.end: Finish | None = None

    def take_all(self, chunks: Sequence[Chunk]) -> list[Delta]:
        """Return the deltas of chunks that came together, up to the end of the answer."""
        deltas: list[Delta] = []
        texts: list[str] = []
        for chunk in chunks:
            if type(chunk) is Text and not chunk.logprobs:
                texts.append(chunk.text)  # nearly all are: their deltas are made together
                continue
            if texts:
                deltas += self._text_deltas(texts)
                texts = []
            if isinstance(chunk, Finish):
                self.end = chunk
                break
            deltas.append(self._take(chunk))
        return deltas + self._text_deltas(texts) if texts else deltas

    def _text_deltas(self, texts: Sequence[str]) -> list[Delta]:
        received = self._draft.text
        deltas = self._progress.text_deltas(self._step, received.size, texts)
        received.extend(texts)
        return deltas

    def _take(self, chunk: Text | Reasoning | CallPart) -> Delta:
        match chunk:
            case Text(text, logprobs):
                self._draft.logprobs.extend(logprobs)
                delta = self._delta("text", self._draft.text, text)
                return replace(delta, logprobs=logprobs)
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
            logprobs=self._draft.logprobs or None,
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


async def may_infer(progress: RunProgress) -> bool:
    """Check budgets before an inference, unless it has begun, or only repeats what is recorded. Where there is nothing
    left, the progress's ``error`` says so."""
    if progress.started_inference or progress.stored or progress.replay.next_step("inference"):
        return True
    progress.error = await progress.check_budgets()
    return progress.error is None


def begin_inference(progress: RunProgress) -> StepStarted:
    """Begin the step of the next inference, which `infer` continues."""
    recorded = progress.replay.next_step("inference")
    progress.started_inference = progress.step_started("inference", recorded.name if recorded else progress.run.model)
    return progress.started_inference


async def infer(progress: RunProgress) -> AsyncIterator[Output]:
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
    while (ended := take_stored_end(progress, started) or end_cut(progress, started)) is not None:
        yield ended
        if not is_cut(ended) or not await may_infer(progress):
            return
        started = begin_inference(progress)
        progress.started_inference = None
        yield started
    draft = progress.draft(started.step)
    draft.model = run.inference_model
    answer, first_at, error = _ReceivedAnswer(progress, started, draft), None, None
    progress.enter_step(started.step)
    measured, outcome = metrics.Inference(run.inference.name), "cancelled"
    try:
        async for deltas in _answer_deltas(progress, answer):
            if first_at is None:
                first_at = progress.now
                measured.first_token()
            yield deltas
        outcome = "completed"
    except AgentsError as failure:
        error = progress.error = error_info(failure)
        outcome = "failed"
    finally:
        measured.end(outcome)
        progress.leave_step()
    end = answer.end
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


def end_cut(progress: RunProgress, started: StepStarted) -> StepEnded | None:
    """End an inference that was cut when its process was lost; None for any other. What it had typed is kept, and
    counted as one token for each part that had arrived: what the model was asked, nobody has told."""
    if not progress.stored.is_cut(started.step):
        return None
    parts = progress.run.typed_parts
    detail = progress.draft(started.step).detail()
    assert isinstance(detail, InferenceDetail)  # the step is an inference
    return progress.step_ended(
        started,
        detail.model_copy(update={"is_cut": True, "model": progress.run.inference_model}),
        status="interrupted",
        usage=Usage(output_tokens=parts) if parts else None,
    )


async def _answer_deltas(progress: RunProgress, answer: _ReceivedAnswer) -> AsyncIterator[list[Delta]]:
    """Yield the deltas of the model's answer, as many at a time as came together. Raises ProviderError."""
    run = progress.run
    answered = _truncated_stream(progress) if run.truncates else batches(run.inference, _request(progress))
    async with aclosing(answered) as received:
        async for chunks in received:
            if deltas := answer.take_all(chunks):
                yield deltas
            if answer.end is not None:
                return


async def _truncated_stream(progress: RunProgress) -> AsyncGenerator[Sequence[Chunk], None]:
    """Yield the chunks of the model's answer. If the history is too long for the model, the request is repeated
    without its older half. Raises ProviderError."""
    while True:
        began = False
        try:
            async with aclosing(batches(progress.run.inference, _request(progress))) as received:
                async for chunks in received:
                    began = True
                    yield chunks
            return
        except ProviderError as error:
            if began or error.code != "context_length_exceeded" or not progress.drop_older_history():
                raise


def _request(progress: RunProgress) -> InferenceRequest:
    run = progress.run
    choice = run.tool_config.tool_choice or "auto"
    if progress.round and choice not in {"auto", "none"}:
        choice = "auto"  # a forced call is forced once, else the turn could never end
    form = run.client_forms.get(choice)
    return InferenceRequest(
        model=run.inference_model,
        messages=progress.messages(),
        tools=() if choice == "none" else progress.available_tools(),
        tool_choice=choice,
        sampling=run.sampling,
        response_format=run.response_format,
        options=run.options,
        grammar=form.grammar if form else None,
    )


def message_text(message: CompletionMessage | None) -> str:
    return text_of(message.content) if message else ""

"""The steps of tools: lists the tools of servers, and runs a model's calls.

A failing tool is an answer to the model, never an exception.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from agents.base import ids
from agents.base.errors import AgentsError
from agents.loop import cut_calls
from agents.loop.cut_calls import PendingStep
from agents.loop.open_step import tool_detail
from agents.loop.progress import RunProgress
from agents.loop.protocols.tools import HostedTool, ListedTools, ToolContext, ToolResult, failure, timeout_of
from agents.loop.replay import CallOutcome
from agents.loop.run import ApprovedCall
from agents.loop.run_tool import model_metadata, run_tool
from agents.loop.steps import error_info
from agents.record.schemas.content import ToolCall, ToolResponse
from agents.record.schemas.events import (
    TOOLS_LEFT_OUT,
    ErrorInfo,
    Event,
    FinalStatus,
    Origin,
    OtherDetail,
)


async def gather_tools(progress: RunProgress) -> AsyncIterator[Event]:
    """Say once which tools of the request are left out, and list those of its sources."""
    if progress.run.left_out and progress.run.resume is None:
        for entry in _note_left_out(progress):
            yield entry
    if progress.run.tool_sources:
        async for entry in _list_tools(progress):
            yield entry


def _note_left_out(progress: RunProgress) -> Iterator[Event]:
    started = progress.step_started("other", "tools left out")
    yield started
    yield progress.step_ended(started, OtherDetail(kind=TOOLS_LEFT_OUT, data={"tools": list(progress.run.left_out)}))


async def _list_tools(progress: RunProgress) -> AsyncIterator[Event]:
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


async def run_approved(progress: RunProgress) -> AsyncIterator[Event]:
    """Make the calls that the client has approved, as far as they are of tools of MCP servers."""
    approved = progress.run.approved_calls
    calls = [_if_hosted(progress, one) for one in approved]
    steps = {one.call.call_id: one.step for one in approved if one.step is not None}
    async for entry in run_tools(progress, calls, steps):
        yield entry


def _if_hosted(progress: RunProgress, approved: ApprovedCall) -> ToolCall:
    """Return a call, by a name that no tool has where its tool is not one of the server that it was asked for."""
    tool = progress.run.server_tools.get(approved.call.tool_name)
    if isinstance(tool, HostedTool) and tool.kind == "mcp" and tool.label == approved.label:
        return approved.call
    name = f"{approved.label}.{approved.call.tool_name}"
    return approved.call.model_copy(update={"tool_name": name})


async def run_tools(
    progress: RunProgress, calls: Sequence[ToolCall], approval_steps: Mapping[str, int] | None = None
) -> AsyncIterator[Event]:
    """Run a model's calls of the server's tools concurrently and record them in the order of the calls.
    ``approval_steps`` are the steps in which the client approved them, by call id."""
    approval_steps = approval_steps or {}
    run = progress.run
    context = ToolContext(
        ids.public(ids.Kind.SESSION, run.session),
        ids.public(ids.Kind.TURN, run.turn),
        run.actor,
        run.provider_data,
        budget=run.budget,
    )
    started = [
        progress.step_started("tool_execution", call.tool_name, call=call, approved_in=approval_steps.get(call.call_id))
        for call in calls
    ]
    for event in started:
        yield event
    progress.count_calls(calls)
    outcomes = [progress.replay.outcome(call) for call in calls]
    pending: list[PendingStep] = []
    for event, call, outcome in zip(started, calls, outcomes, strict=True):
        ended = progress.stored_end(event)
        if ended is None:
            pending.append((event, call, outcome or cut_calls.outcome_of_cut(progress, call, event)))
        else:
            yield ended
    for entry in cut_calls.go_on(progress, pending):
        yield entry
    await progress.wait_until_stored()  # a tool runs only once its step is stored
    async with asyncio.TaskGroup() as group:
        tasks = [
            None if outcome else group.create_task(_run_tool(progress, event.step, call, context))
            for event, call, outcome in pending
        ]
        for (event, call, outcome), task in zip(pending, tasks, strict=True):
            if outcome is None and task is not None:
                outcome = _tool_outcome(call, await task, progress.replay.unmatched_origin)
            assert outcome is not None  # it was recorded, or its task returned it
            yield progress.step_ended(
                event,
                tool_detail(
                    progress.run,
                    call,
                    outcome.responses,
                    approved_in=approval_steps.get(call.call_id),
                    origin=outcome.origin,
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


async def _run_tool(progress: RunProgress, step: int, call: ToolCall, context: ToolContext) -> ToolResult:
    progress.enter_step(step)  # in a task of its own
    context = replace(context, call_key=ids.public(ids.Kind.STEP, step))
    if progress.is_over_call_limit(call):
        return failure(f"Not run: the limit of {progress.run.max_tool_calls} tool calls is reached. Answer without.")
    tool = progress.run.server_tools.get(call.tool_name)
    if tool is None:
        return failure(f"Unknown tool `{call.tool_name}` was called.")
    if not isinstance(call.arguments, dict):
        return failure(f"The arguments of {call.tool_name} are not a JSON object: {call.arguments[:200]}")
    return await run_tool(tool, call.arguments, context, timeout_of(tool, progress.run.tool_timeout_s))


def waits_for_client(progress: RunProgress, call: ToolCall) -> bool:
    """Whether only the client can run this call, or has to approve it. A call of an unknown tool is the
    server's to answer: with an error."""
    tool = progress.run.server_tools.get(call.tool_name)
    if isinstance(tool, HostedTool) and tool.needs_approval:
        return True
    return any(tool.name == call.tool_name for tool in progress.run.client_tools)

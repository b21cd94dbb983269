"""Runs one tool with a timeout, and always returns a result."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from agents.base import metrics, redaction
from agents.base.errors import AgentsError
from agents.loop.protocols.tools import Tool, ToolContext, ToolResult, failure, redact_result
from agents.record.schemas.content import text_of
from agents.record.schemas.items import CUT_KEY, MAX_MODEL_TEXT


async def run_tool(tool: Tool, arguments: dict[str, Any], context: ToolContext, seconds: float) -> ToolResult:
    """Call a tool and return its result, or a failure after ``seconds``. Secrets of this server and of the
    request are redacted in it."""
    outcome, began = "cancelled", time.perf_counter()
    try:
        result = await _run(tool, arguments, context, seconds)
        outcome = "failed" if result.error else "completed"
    finally:
        metrics.count_tool_call(outcome, time.perf_counter() - began)
    return redact_result(result, redaction.secrets_in_json(context.provider_data))


async def _run(tool: Tool, arguments: dict[str, Any], context: ToolContext, seconds: float) -> ToolResult:
    """Call a tool. A tool that ignores its cancellation is left running."""
    task = asyncio.ensure_future(tool.call(arguments, context))
    try:
        done, _ = await asyncio.wait({task}, timeout=seconds)
    except asyncio.CancelledError:
        _abandon(task)
        raise
    if not done:
        _abandon(task)
        return failure(f"{tool.definition.name} did not answer within {seconds:g} s.")
    try:
        return task.result()
    except AgentsError as error:
        return failure(error.message)
    except asyncio.CancelledError:  # the tool's own doing: nobody has stopped this turn
        return failure(f"{tool.definition.name} gave up.")


def _abandon(task: asyncio.Future[ToolResult]) -> None:
    task.cancel()
    task.add_done_callback(lambda left: left.cancelled() or left.exception())  # nobody asks for it any more


def model_metadata(result: ToolResult) -> dict[str, Any]:
    """Return a result's metadata, with the length to which a text too long for the model is cut: the step
    has the full text."""
    if len(text_of(result.content)) <= MAX_MODEL_TEXT:
        return result.metadata
    return {**result.metadata, CUT_KEY: MAX_MODEL_TEXT}

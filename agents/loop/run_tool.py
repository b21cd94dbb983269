"""Running one tool: for so long and no longer, and with an answer whatever happens."""

from __future__ import annotations

import asyncio
from typing import Any

from agents.base import redaction
from agents.base.errors import AgentsError
from agents.loop.protocols.tools import Tool, ToolContext, ToolResult, failure, without
from agents.record.schemas.content import text_of
from agents.record.schemas.items import CUT_KEY, MAX_MODEL_TEXT


async def run_one(tool: Tool, arguments: dict[str, Any], context: ToolContext, seconds: float) -> ToolResult:
    """The answer of a tool, or that there was none in time. No secret is in it that the tool could know:
    none of this server, and none of the request."""
    return without(await _run(tool, arguments, context, seconds), redaction.secrets_in_json(context.provider_data))


async def _run(tool: Tool, arguments: dict[str, Any], context: ToolContext, seconds: float) -> ToolResult:
    """One that does not let itself be stopped is left behind."""
    task = asyncio.ensure_future(tool.call(arguments, context))
    try:
        done, _ = await asyncio.wait({task}, timeout=seconds)
    except asyncio.CancelledError:
        _leave(task)
        raise
    if not done:
        _leave(task)
        return failure(f"{tool.definition.name} did not answer within {seconds:g} s.")
    try:
        return task.result()
    except AgentsError as error:
        return failure(error.message)
    except asyncio.CancelledError:  # the tool's own doing: nobody has stopped this turn
        return failure(f"{tool.definition.name} gave up.")


def _leave(task: asyncio.Future[ToolResult]) -> None:
    task.cancel()
    task.add_done_callback(lambda left: left.cancelled() or left.exception())  # nobody asks for it any more


def cut_for_model(result: ToolResult) -> dict[str, Any]:
    """A result's metadata, which say where a text that is too long for the model is cut: the whole of
    it stands in the step."""
    if len(text_of(result.content)) <= MAX_MODEL_TEXT:
        return result.metadata
    return {**result.metadata, CUT_KEY: MAX_MODEL_TEXT}

"""Tools that are Python functions of the operator's own, named in the settings. They run in a process of their own
(`function_worker`): a plain function in a thread there, a coroutine function on its loop.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic import ConfigDict, TypeAdapter

from agents.loop.protocols.tools import InDoubtRule, Repeat, ServerToolGroup, ToolContext, ToolResult, failure
from agents.record.schemas.content import ContentItem, ToolDef
from agents.tools.providers.function_worker import FunctionError, FunctionWorker, Paths, ProcessEnded

PROVIDER = "function"

_ITEMS: TypeAdapter[ContentItem | list[ContentItem]] = TypeAdapter(
    ContentItem | list[ContentItem], config=ConfigDict(defer_build=True)
)


@dataclass(frozen=True)
class FunctionTool:
    """A function as a tool: the one at ``index`` in the worker's definitions. What a repeated call does, a function
    says by an attribute of its own: ``function.repeat = "read"``; and ``function.in_doubt = "done"`` what is done about
    a call that may not be repeated and whose process was lost."""

    worker: FunctionWorker
    index: int
    group: str
    definition: ToolDef
    repeat: Repeat
    in_doubt: InDoubtRule

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> ToolResult:
        try:
            head, body = await self.worker.call(self.index, arguments, context)
        except ProcessEnded as ended:
            return failure(str(ended))
        except FunctionError as error:
            return failure(f"{self.definition.name} was not called: {error}")
        content = _ITEMS.validate_json(body) if head.get("is_json") else body.decode(errors="surrogatepass")
        return ToolResult(content=content, error=head.get("error"), metadata=head.get("metadata") or {})


def groups(worker: FunctionWorker, paths: Paths) -> list[ServerToolGroup]:
    """The groups of tools that the worker's definitions are."""
    tools = [_tool(worker, index, definition) for index, definition in enumerate(worker.definitions)]
    return [ServerToolGroup(name, PROVIDER, [tool for tool in tools if tool.group == name]) for name in paths]


def _tool(worker: FunctionWorker, index: int, definition: dict[str, Any]) -> FunctionTool:
    tool_def = ToolDef(**{name: definition[name] for name in ("name", "description", "input_schema")})
    return FunctionTool(worker, index, definition["group"], tool_def, definition["repeat"], definition["in_doubt"])

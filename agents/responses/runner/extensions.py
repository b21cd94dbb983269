"""Extension points of the Responses API for other subjects: hosted tools of a request, files in its input.

A subject sets its functions when it is installed. Without it a request that needs them is refused.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agents.base.access import Actor
from agents.loop.extensions import not_installed
from agents.loop.protocols.tools import HostedTool, ToolSource
from agents.loop.provider_set import Providers

if TYPE_CHECKING:  # subjects register here in every command, also in those that answer no request
    from agents.responses.schemas.input_items import FilePart, ImagePart, TextPart
    from agents.responses.schemas.tools import CodeInterpreterTool, FileSearchTool, McpToolParam, WebSearchTool


def _no_file_search(providers: Providers, actor: Actor, tool: FileSearchTool, where: str) -> HostedTool:
    raise not_installed("file_search is", "knowledge", where)


def _no_web_search(providers: Providers, actor: Actor, tool: WebSearchTool, where: str) -> HostedTool:
    raise not_installed(f"{tool.type} is", "tools", where)


def _no_code_interpreter(providers: Providers, actor: Actor, tool: CodeInterpreterTool, where: str) -> HostedTool:
    raise not_installed("code_interpreter is", "tools", where)


def _no_mcp(providers: Providers, tool: McpToolParam, where: str, provider_data: Mapping[str, Any]) -> ToolSource:
    raise not_installed("mcp is", "tools", where)


async def _no_files(providers: Providers, actor: Actor, part: FilePart | ImagePart, where: str) -> TextPart | ImagePart:
    raise not_installed("files are", "knowledge", where)


@dataclass(slots=True)
class ResponseExtensions:
    """The functions that subjects set. ``file_search``, ``web_search``, ``code_interpreter`` and ``mcp`` create the
    tool, or the source of tools, for a tool of a request; ``read_part`` converts a file, or an image from a file, for a
    model. Each raises InvalidRequest with the position in the request; ``read_part`` NotFound, too."""

    file_search: Callable[[Providers, Actor, FileSearchTool, str], HostedTool] = _no_file_search
    web_search: Callable[[Providers, Actor, WebSearchTool, str], HostedTool] = _no_web_search
    code_interpreter: Callable[[Providers, Actor, CodeInterpreterTool, str], HostedTool] = _no_code_interpreter
    mcp: Callable[[Providers, McpToolParam, str, Mapping[str, Any]], ToolSource] = _no_mcp
    read_part: Callable[[Providers, Actor, FilePart | ImagePart, str], Awaitable[TextPart | ImagePart]] = _no_files


extensions = ResponseExtensions()

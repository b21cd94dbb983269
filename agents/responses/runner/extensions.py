"""What subjects beside the Responses API add to it: the server's tools of a request, files in its input.

A subject sets its functions when it is installed. Without it a request that needs them is refused.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agents.base.access import Actor
from agents.loop.extensions import not_installed
from agents.loop.protocols.tools import Labelled, ToolSource
from agents.loop.provider_set import Providers

if TYPE_CHECKING:  # subjects register here in every command, also in those that answer no request
    from agents.responses.schemas.input_items import FilePart, ImagePart, TextPart
    from agents.responses.schemas.requests import CodeInterpreterTool, FileSearchTool, McpToolParam, WebSearchTool


def _no_file_search(providers: Providers, actor: Actor, asked: FileSearchTool, where: str) -> Labelled:
    raise not_installed("file_search is", "knowledge", where)


def _no_web_search(providers: Providers, actor: Actor, asked: WebSearchTool, where: str) -> Labelled:
    raise not_installed(f"{asked.type} is", "tools", where)


def _no_code_interpreter(providers: Providers, actor: Actor, asked: CodeInterpreterTool, where: str) -> Labelled:
    raise not_installed("code_interpreter is", "tools", where)


def _no_mcp(providers: Providers, asked: McpToolParam, where: str, provider_data: Mapping[str, Any]) -> ToolSource:
    raise not_installed("mcp is", "tools", where)


async def _no_files(providers: Providers, actor: Actor, part: FilePart | ImagePart, where: str) -> TextPart | ImagePart:
    raise not_installed("files are", "knowledge", where)


@dataclass(slots=True)
class Extensions:
    """``file_search``, ``web_search``, ``code_interpreter`` and ``mcp`` make the tool, or the server of tools, that
    stands at a place of a request; ``read_part`` says what a model can read of a file, or of an image that is one. Each
    raises InvalidRequest, naming the place; ``read_part`` NotFound, too."""

    file_search: Callable[[Providers, Actor, FileSearchTool, str], Labelled] = _no_file_search
    web_search: Callable[[Providers, Actor, WebSearchTool, str], Labelled] = _no_web_search
    code_interpreter: Callable[[Providers, Actor, CodeInterpreterTool, str], Labelled] = _no_code_interpreter
    mcp: Callable[[Providers, McpToolParam, str, Mapping[str, Any]], ToolSource] = _no_mcp
    read_part: Callable[[Providers, Actor, FilePart | ImagePart, str], Awaitable[TextPart | ImagePart]] = _no_files


extensions = Extensions()

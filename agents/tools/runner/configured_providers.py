"""Create from the settings: functions, web search, the code interpreter, the operator's MCP servers."""

from __future__ import annotations

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from agents.loop.embeddings.registry import EmbeddingModels
from agents.loop.inference.registry import Endpoints
from agents.loop.protocols.tools import ServerToolGroup
from agents.loop.provider_set import SubjectProviders
from agents.tools.providers import code_interpreter, functions, mcp, scripted, web_search
from agents.tools.providers.function_worker import FunctionError, FunctionWorker
from agents.tools.providers.web_search import Brave, Tavily, WebSearch


def make_providers(models: Endpoints, embeddings: EmbeddingModels, pace: float) -> SubjectProviders:
    """Create the subject's providers. Raises ImproperlyConfigured."""
    worker = _function_worker()
    parts = (_mcp_servers(), *([worker] if worker else []))
    return SubjectProviders(tools={group.name: group for group in _groups(pace, worker)}, parts=parts)


def _function_worker() -> FunctionWorker | None:
    """Start the process of the functions, if there are any. Raises ImproperlyConfigured for a function that cannot be a
    tool."""
    if not settings.TOOL_FUNCTIONS:
        return None
    try:
        return FunctionWorker(settings.TOOL_FUNCTIONS)
    except FunctionError as error:
        raise ImproperlyConfigured(f"TOOL_FUNCTIONS: {error}") from error


def _groups(pace: float, worker: FunctionWorker | None) -> list[ServerToolGroup]:
    """Groups of tools."""
    keys = {"brave-search": settings.BRAVE_SEARCH_API_KEY, "tavily-search": settings.TAVILY_SEARCH_API_KEY}
    engines = (Brave(settings.BRAVE_SEARCH_URL), Tavily(settings.TAVILY_SEARCH_URL))
    groups = functions.groups(worker, settings.TOOL_FUNCTIONS) if worker else []
    groups.append(web_search.group(WebSearch(engines, keys)))
    if settings.CODE_INTERPRETER:
        groups.append(code_interpreter.group())
    groups.append(ServerToolGroup(scripted.GROUP, tools=scripted.tools(pace)))
    return groups


def _mcp_servers() -> mcp.McpClient:
    """The way to MCP servers, the operator's among them. Raises ImproperlyConfigured."""
    try:
        servers = mcp.configured(settings.MCP_SERVERS)
    except ValueError as error:
        raise ImproperlyConfigured(str(error)) from error
    return mcp.McpClient(allow_private=settings.MCP_ALLOW_PRIVATE, configured=servers, call_s=settings.TOOL_TIMEOUT_S)

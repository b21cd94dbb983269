"""Create from the settings: functions, web search, the code interpreter, the operator's MCP servers."""

from __future__ import annotations

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from agents.loop.embeddings.registry import EmbeddingModels
from agents.loop.inference.registry import Endpoints
from agents.loop.protocols.tools import ServerToolGroup
from agents.loop.provider_set import SubjectProviders
from agents.tools.providers import code_interpreter, functions, mcp, scripted, web_search
from agents.tools.providers.web_search import Brave, Tavily, WebSearch


def make_providers(models: Endpoints, embeddings: EmbeddingModels, pace: float) -> SubjectProviders:
    """Create the subject's providers. Raises ImproperlyConfigured."""
    return SubjectProviders(tools={group.name: group for group in _groups(pace)}, parts=(_mcp_servers(),))


def _groups(pace: float) -> list[ServerToolGroup]:
    """Groups of tools. Raises ImproperlyConfigured for a function that cannot be a tool."""
    keys = {"brave-search": settings.BRAVE_SEARCH_API_KEY, "tavily-search": settings.TAVILY_SEARCH_API_KEY}
    engines = (Brave(settings.BRAVE_SEARCH_URL), Tavily(settings.TAVILY_SEARCH_URL))
    try:
        groups = functions.load(settings.TOOL_FUNCTIONS)
    except functions.FunctionError as error:
        raise ImproperlyConfigured(f"TOOL_FUNCTIONS: {error}") from error
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

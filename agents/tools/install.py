"""How tools that the server runs join it: groups for turns, built-in tools and MCP servers for responses."""

from __future__ import annotations

from agents.base.lazy_import import lazy_import
from agents.loop.background import backgrounds
from agents.loop.extensions import extensions as loop
from agents.responses.runner.extensions import extensions as responses


def install() -> None:
    backgrounds["tools"] = lazy_import("agents.tools.runner.background.ToolsBackground")
    loop.make_providers["tools"] = lazy_import("agents.tools.runner.configured_providers.make_providers")
    loop.find_group = lazy_import("agents.tools.runner.toolgroups.mcp_group")
    loop.list_groups = lazy_import("agents.tools.runner.toolgroups.mcp_groups")
    loop.hosted_tools = lazy_import("agents.tools.runner.agent_tools.hosted_tools")
    responses.web_search = lazy_import("agents.tools.runner.response_tools.web_search")
    responses.code_interpreter = lazy_import("agents.tools.runner.response_tools.code_interpreter")
    responses.mcp = lazy_import("agents.tools.runner.response_tools.mcp_source")

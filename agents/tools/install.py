"""How tools that the server runs join it: groups for turns, built-in tools and MCP servers for responses."""

from __future__ import annotations

from agents.base.lazy_import import LazyFunction
from agents.loop.background import backgrounds
from agents.loop.extensions import extensions as loop
from agents.responses.runner.extensions import extensions as responses


def install() -> None:
    backgrounds["tools"] = LazyFunction("agents.tools.runner.background.ToolsBackground")
    loop.make_providers["tools"] = LazyFunction("agents.tools.runner.configured_providers.make_providers")
    loop.find_group = LazyFunction("agents.tools.runner.toolgroups.mcp_group")
    loop.list_groups = LazyFunction("agents.tools.runner.toolgroups.mcp_groups")
    loop.hosted_tools = LazyFunction("agents.tools.runner.agent_tools.hosted_tools")
    responses.web_search = LazyFunction("agents.tools.runner.response_tools.web_search")
    responses.code_interpreter = LazyFunction("agents.tools.runner.response_tools.code_interpreter")
    responses.mcp = LazyFunction("agents.tools.runner.response_tools.mcp_source")

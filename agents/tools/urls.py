"""Where tools that the server runs are reached."""

from __future__ import annotations

from django.urls import URLPattern

from agents.base.api.routes import Routes
from agents.tools.api import tool_runtime, tools

API = Routes(
    rest=[
        ("tools", tools.ToolList),
        ("tools/<path:tool_name>", tools.ToolDetailView),
        ("toolgroups", tools.ToolGroupList),
        ("toolgroups/<path:toolgroup_id>", tools.ToolGroupDetail),
        ("tool-runtime/list-tools", tool_runtime.RuntimeTools),
        ("tool-runtime/invoke", tool_runtime.Invocation),
    ]
)
PAGES: list[URLPattern] = []

"""Tool groups, their tools and calls, as of Llama Stack v0.2.12 (June 2025)."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from agents.base.schemas.wire import SmallJson, Wire, null_is
from agents.record.schemas.content import Content, Url


class RegisterToolGroup(Wire):
    toolgroup_id: str = Field(min_length=1, max_length=200)
    provider_id: str = Field(min_length=1, max_length=100)
    mcp_endpoint: Url | None = None
    args: Annotated[SmallJson, null_is({})] = {}


class InvokeTool(Wire):  # type: ignore[no-redef]  # the plug-in writes a parameter of this name itself
    tool_name: str = Field(min_length=1, max_length=400)
    kwargs: Annotated[dict[str, Any], null_is({})] = {}


class ToolInvocation(Wire):
    """What a tool answered. ``error_code`` is 1 with an ``error_message``."""

    content: Content | None = None
    error_message: str | None = None
    error_code: int | None = None
    metadata: dict[str, Any] | None = None

"""Deltas of a step, as the Agents API streams them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from agents.base.schemas.wire import Wire
from agents.record.schemas.content import ToolCall


class TextDelta(Wire):
    type: Literal["text"] = "text"
    text: str


class ToolCallDelta(Wire):
    type: Literal["tool_call"] = "tool_call"
    tool_call: str | ToolCall
    parse_status: Literal["started", "in_progress", "failed", "succeeded"]


StepDelta = Annotated[TextDelta | ToolCallDelta, Field(discriminator="type")]

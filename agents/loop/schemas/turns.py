"""Requests that start a turn, and that resume one that waits for its client."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import field_validator, model_validator

from agents.base.schemas.wire import Wire, null_is
from agents.loop.schemas.turn_budget import TurnBudget
from agents.record.schemas.agents import AgentToolGroup
from agents.record.schemas.content import Content, InputMessage, ToolConfig, ToolResponse, Url
from agents.record.schemas.events import CallOutcome


class Document(Wire):
    """A document for the context of one turn, inline or at a URL."""

    content: Content | Url
    mime_type: Annotated[str, null_is("text/plain")] = "text/plain"


class CreateTurn(Wire):
    messages: list[InputMessage]
    stream: bool | None = False
    documents: list[Document] | None = None
    toolgroups: list[AgentToolGroup] | None = None
    tool_config: ToolConfig | None = None
    budget: TurnBudget | None = None


class DecideStep(Wire):
    """What became of a call whose process was lost: it was made, it was not, or ``content`` is its result."""

    outcome: CallOutcome
    content: Content | None = None

    @model_validator(mode="after")
    def _content_of_result(self) -> DecideStep:
        if (self.outcome == "result") != (self.content is not None):
            raise ValueError("content: it is given with the outcome 'result', and only then")
        return self


class ResumeTurn(Wire):
    tool_responses: list[ToolResponse]
    stream: bool | None = False

    @field_validator("tool_responses", mode="before")
    @classmethod
    def _older_shape(cls, value: Any) -> Any:
        """v0.2.0 clients send ``{call_id: response}``."""
        return list(value.values()) if isinstance(value, dict) else value

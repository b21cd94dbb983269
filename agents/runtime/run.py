"""Everything a run needs, as one frozen value; nothing is looked up later."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agents import ids
from agents.providers.inference.base import Inference
from agents.providers.memory.base import Documents, Memory
from agents.providers.safety.base import Shield
from agents.providers.tools.base import Tool
from agents.schemas.content import (
    InputMessage,
    ResponseFormat,
    SamplingParams,
    ToolCall,
    ToolConfig,
    ToolDef,
    ToolResponse,
    Usage,
)


@dataclass(frozen=True, slots=True)
class PendingCall:
    """A client's tool call this turn was waiting for: its step, and when the waiting began."""

    step: int
    call: ToolCall
    started_at: int


@dataclass(frozen=True, slots=True)
class Resume:
    """How a turn goes on: the answers, the calls they answer, and where the numbers stand.

    ``pending`` is empty when a completed turn is resumed (a ReAct client finds calls in text that
    the server never saw)."""

    leg: int
    responses: Sequence[ToolResponse]
    pending: Sequence[PendingCall]
    next_seq: int
    next_step: int
    round: int
    iterations: int
    usage: Usage


@dataclass(frozen=True, slots=True)
class Run:
    """One leg of a turn, ready to go.

    ``history`` are the session's items before this turn and ``earlier`` what its earlier legs added,
    encoded; ``context`` is text that follows the last input message in this turn's inferences
    (documents); ``documents`` are those that have to be prepared first. ``provider_data``
    is what the caller sent along for providers: it lives as long as the run, and is never stored."""

    turn: int
    session: int
    actor: str
    model: str
    inference_model: str
    inference: Inference
    instructions: str
    input_messages: Sequence[InputMessage]
    history: Sequence[bytes] = ()
    earlier: Sequence[bytes] = ()
    context: str = ""
    client_tools: Sequence[ToolDef] = ()
    server_tools: Mapping[str, Tool] = field(default_factory=dict)
    tool_config: ToolConfig = field(default_factory=ToolConfig)
    sampling: SamplingParams = field(default_factory=SamplingParams)
    response_format: ResponseFormat | None = None
    input_shields: Sequence[Shield] = ()
    output_shields: Sequence[Shield] = ()
    memory: Memory | None = None
    documents: Documents | None = None
    max_infer_iters: int = 10
    tool_timeout_s: float = 60.0
    provider_data: Mapping[str, Any] = field(default_factory=dict, repr=False)
    resume: Resume | None = None
    clock: Callable[[], int] = ids.now_us
    new_key: Callable[[], int] = ids.new_key

    @property
    def tools(self) -> list[ToolDef]:
        """Every tool the model may call, the server's first."""
        return [*(tool.definition for tool in self.server_tools.values()), *self.client_tools]

"""The input of a run as one frozen value; nothing is looked up later."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agents.base import ids, tracing
from agents.base.tracing import TraceContext
from agents.loop.inference.base import InferenceEndpoint
from agents.loop.protocols.retrieval import DocumentPreparation, Retriever
from agents.loop.protocols.shields import ShieldProtocol
from agents.loop.protocols.tools import ClientForm, Tool, ToolSource
from agents.loop.replay import RecordedTurn
from agents.loop.schemas.turn_budget import TurnBudget
from agents.record.schemas.content import (
    ResponseFormat,
    SamplingParams,
    ToolCall,
    ToolConfig,
    ToolDef,
    ToolResponse,
    TurnMessage,
    Usage,
)
from agents.record.schemas.events import Event, Steering, ToolDetail


@dataclass(frozen=True, slots=True)
class PendingCall:
    """A client's tool call that a turn was waiting for: its step, and when the wait began. For a server's call
    that the client had to approve, ``approved`` is the client's decision."""

    step: int
    call: ToolCall
    started_at: int
    approved: bool | None = None
    detail: ToolDetail | None = None


@dataclass(frozen=True, slots=True)
class Resume:
    """The continuation of a turn: the answers, the calls they answer, and the next numbers.

    ``pending`` is empty when a completed turn is resumed (a ReAct client finds calls in text, which the
    server never saw); ``messages`` are those that the caller sent with its answers. With ``steering`` nothing is
    answered: the client has steered the response before."""

    response_number: int
    responses: Sequence[ToolResponse]
    pending: Sequence[PendingCall]
    next_seq: int
    next_step: int
    round: int
    iterations: int
    usage: Usage
    messages: Sequence[TurnMessage] = ()
    steering: Steering | None = None


@dataclass(frozen=True, slots=True)
class ApprovedCall:
    """A call of a tool of the server ``label`` that the client has approved. ``step`` asked for that, in a turn that
    need not be stored."""

    call: ToolCall
    step: int | None
    label: str


@dataclass(frozen=True, slots=True)
class Compaction:
    """When a run has the model sum up the conversation: before an inference of more than ``threshold`` tokens; or at
    once, with nothing else after it (``is_only``). ``seal`` encrypts the summary for a client that keeps it."""

    seal: Callable[[str], str]
    threshold: int | None = None
    is_only: bool = False


@dataclass(frozen=True, slots=True)
class ClientInput:
    """Messages that a client has sent for a turn, each with the id that it is stored under."""

    messages: Sequence[TurnMessage]
    ids: Sequence[str]


@dataclass(frozen=True, slots=True)
class Run:
    """The input of one response of a turn.

    ``history`` are the session's items before this turn and ``earlier`` those of its earlier responses,
    encoded; ``context`` is text that follows the last input message in this turn's inferences
    (documents); ``documents`` are those that have to be prepared first. ``provider_data``
    is the caller's data for providers: it lives as long as the run and is never stored.

    ``client_forms`` say, by name, how the client knows those of its tools that are not simply functions, and
    ``left_out`` which tools of the request nobody here can run, so that the model is not offered them.
    ``tool_sources`` list more of the server's tools before the first inference, and ``approved_calls`` are made before
    it.
    ``options`` go with each inference (`InferenceRequest`). ``max_infer_iters`` bounds the rounds;
    with ``ends_with_client_calls`` calls of the client's tools end the response also at that bound.
    ``max_tool_calls`` bounds the server's calls of a response, ``single_call`` those of an inference, and ``budget``
    what the turn spends. With ``truncates`` older history is dropped rather than failing where it is too long for the
    model. A fork replays its ``recorded_turn``. A run that is taken over from another process repeats the
    ``stored_events`` of its response; ``typed_texts`` are what its open inference had typed, by (step, channel), and
    ``typed_parts`` in how many parts. What the client sends while the run is steerable (``is_steerable``) begins the
    turn's next response; else it joins this one. ``resumes`` says whether the turn goes on when its process is lost;
    None leaves it to the server. ``trace`` is the position in a trace of the request that began the turn. ``agent`` is
    the agent that the turn was handed over to, None while it is with its own."""

    turn: int
    session: int
    actor: str
    model: str
    inference_model: str
    inference: InferenceEndpoint
    instructions: str
    input_messages: Sequence[TurnMessage]
    history: Sequence[bytes] = ()
    earlier: Sequence[bytes] = ()
    context: str = ""
    client_tools: Sequence[ToolDef] = ()
    client_forms: Mapping[str, ClientForm] = field(default_factory=dict)
    left_out: Sequence[str] = ()
    server_tools: Mapping[str, Tool] = field(default_factory=dict)
    tool_sources: Sequence[ToolSource] = ()
    approved_calls: Sequence[ApprovedCall] = ()
    tool_config: ToolConfig = field(default_factory=ToolConfig)
    sampling: SamplingParams = field(default_factory=SamplingParams)
    response_format: ResponseFormat | None = None
    input_shields: Sequence[ShieldProtocol] = ()
    output_shields: Sequence[ShieldProtocol] = ()
    retriever: Retriever | None = None
    documents: DocumentPreparation | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    max_infer_iters: int = 10
    max_tool_calls: int | None = None
    single_call: bool = False
    budget: TurnBudget | None = None
    ends_with_client_calls: bool = False
    truncates: bool = False
    compaction: Compaction | None = None
    is_steerable: bool = False
    tool_timeout_s: float = 60.0
    resumes: bool | None = None
    provider_data: Mapping[str, Any] = field(default_factory=dict, repr=False)
    resume: Resume | None = None
    recorded_turn: RecordedTurn | None = None
    stored_events: Sequence[Event] = ()
    typed_texts: Mapping[tuple[int, str], str] = field(default_factory=dict)
    typed_parts: int = 0
    trace: TraceContext | None = field(default_factory=tracing.current.get)
    agent: int | None = None
    clock: Callable[[], int] = ids.now_us
    new_key: Callable[[], int] = ids.new_key

    @property
    def tools(self) -> list[ToolDef]:
        """Every tool the model may call, the server's first."""
        return [*(tool.definition for tool in self.server_tools.values()), *self.client_tools]

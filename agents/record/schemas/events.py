"""The events and deltas of a turn.

An *event* changed rows; events are numbered per turn from 0 without gaps by the loop, the only
source of a turn's events. Folding a turn's events gives its rows. A *delta* is a chunk of generated
text: not an event, it carries the number of the last event before it (``after``), its position
after that event (``ordinal``, from 1), and its offset in the text of its channel.

A reader's position is a *cursor*: ``"7"`` means all up to event 7 has been seen, ``"7.40"`` also
the first 40 deltas after it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import msgspec
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from agents.base.schemas.wire import AgentKey, StepKey, Timestamp, WireOutput
from agents.record.schemas.content import (
    CompletionMessage,
    Content,
    SafetyViolation,
    ToolCall,
    ToolResponse,
    TurnMessage,
    Usage,
)

StepType = Literal["inference", "tool_execution", "shield_call", "memory_retrieval", "other"]
StepStatus = Literal["in_progress", "awaiting_input", "completed", "failed", "cancelled", "interrupted"]
FinalStatus = Literal["completed", "failed", "cancelled", "interrupted"]
CallOutcome = Literal["done", "not_done", "result"]
MADE = "(The call was made before the server stopped. Its result is not known.)"
"""What the model is told of a call that was made, and whose result nobody gives."""
RULE = "rule:in_doubt"
"""Who has decided about a call where the rule of its tool did; nobody can have this name."""
TurnStatus = Literal["queued", "in_progress", "awaiting_input"] | FinalStatus


class ErrorInfo(WireOutput):
    """Why something failed: ``type`` for programs (``provider_error``, ``timeout``, …). ``budget`` says whose budget is
    reached (``user``, ``session``, …)."""

    type: str
    message: str
    provider: str | None = None
    upstream_status: int | None = None
    budget: str | None = None


class Origin(WireOutput):
    """Where a step of a fork has its outcome from. ``taken_over``: the step was done in the turn that was
    forked, before the place of the fork, and is only repeated here: it took no time and used no tokens.
    ``recorded``: a call that was made there later has the same tool and arguments. ``edited``: whoever forked
    gave the result. ``live``: no record fits, so that the tool ran. ``step`` is that other turn's step."""

    how: Literal["taken_over", "recorded", "edited", "live"]
    step: str | None = None


# What a finished step holds. Field names are the Agents API's, so that a stored detail is most
# of its wire form; each kind may say more than the API shows.


class _Detail(WireOutput):
    origin: Origin | None = None


COMPACTION = "compaction"
"""Kind of an inference that sums up what came before it."""


class InferenceDetail(_Detail):
    """``reasoning_last`` says that the words came before the first thought; ``is_cut`` that the process was lost
    before the model had finished, which was then asked again in a later step. ``logprobs`` are the probabilities of
    the tokens of its text, where they were asked for and its endpoint gave some. ``compaction`` is set where the
    message is a summary that stands for what came before: the summary as a client keeps it, encrypted, or empty where
    it did not come about."""

    model_response: CompletionMessage
    model: str = ""
    finish_reason: str | None = None
    reasoning: str = ""
    reasoning_last: bool | None = None
    is_cut: bool | None = None
    logprobs: list[dict[str, Any]] | None = None
    compaction: str | None = None


ServerToolKind = Literal["web_search", "file_search", "code_interpreter", "mcp"]
ClientToolKind = Literal["custom", "local_shell", "shell", "apply_patch", "tool_search"]
"""OpenAI's tools other than functions that the server, or its client, runs."""


class ToolDetail(_Detail):
    """One call. ``tool_responses`` is empty while the tool runs, or when it never answered. ``kind``
    and ``label`` say which of OpenAI's tools it is, and of which server or namespace. ``approval`` says that
    the step is not the call itself but the question whether it may be made; ``asked`` is, of a call that
    was approved, the step of that question. ``answered_by`` is the user or API key that gave the answer, approved or
    refused the call, or cancelled its turn instead, when the step ended."""

    tool_calls: list[ToolCall]
    tool_responses: list[ToolResponse] = []
    kind: ServerToolKind | ClientToolKind | None = None
    label: str | None = None
    approval: Literal["requested", "approved", "refused"] | None = None
    asked: str | None = None
    answered_by: str | None = None


class ShieldDetail(_Detail):
    touchpoint: Literal["user-input", "assistant-output"]
    shields: list[str]
    violation: SafetyViolation | None = None


class MemoryDetail(_Detail):
    vector_db_ids: str
    inserted_context: Content
    query: str = ""
    chunks: list[dict[str, Any]] = []


TOOLS_LEFT_OUT = "tools_left_out"
"""Kind of the step that says which tools of a request a model is not offered."""


USER_INPUT = "user_input"
"""Kind of the step that says what the client sent while the turn ran: ``data`` has the ``messages``, and their ``ids``.
They are items of the session, and in the next inference."""


class OtherDetail(_Detail):
    kind: str
    data: dict[str, Any] = {}


StepDetail = InferenceDetail | ToolDetail | ShieldDetail | MemoryDetail | OtherDetail
DETAILS: dict[str, Any] = {
    "inference": InferenceDetail,
    "tool_execution": ToolDetail,
    "shield_call": ShieldDetail,
    "memory_retrieval": MemoryDetail,
    "other": OtherDetail,
}
"""The detail of each type of step."""


class _Event(WireOutput):
    seq: int
    at: Timestamp


class TurnStarted(_Event):
    """The first event of a turn: what was asked, and of which model."""

    type: Literal["turn.started"] = "turn.started"
    model: str
    input_messages: list[TurnMessage]


class Steering(WireOutput):
    """What a client said while its response ran, and the response that begins with it: its ``response`` id, the number
    of its first ``step``, and the messages with the ids that they were stored under."""

    response: str
    step: int
    messages: list[TurnMessage]
    ids: list[str]


class TurnResumed(_Event):
    """The caller answered the pending calls, and may have said more (``input_messages``); the events
    of response number ``leg`` follow. With ``steering`` the run itself has ended the response before, which nothing
    else says, and begins this one."""

    type: Literal["turn.resumed"] = "turn.resumed"
    leg: int
    tool_responses: list[ToolResponse]
    input_messages: list[TurnMessage] = []
    steering: Steering | None = None


class TurnTakenOver(_Event):
    """Another process goes on with the turn, behind the steps that are stored: the one that ran it was lost, or has
    handed it over. ``by`` is the process as people know it, ``idle_us`` how long nothing was stored before, in
    microseconds; ``attempt`` counts the takeovers since a step was last finished, from 1."""

    type: Literal["turn.taken_over"] = "turn.taken_over"
    by: str
    cause: Literal["lost", "handed_over"]
    idle_us: int
    attempt: int = 1


class StepStarted(_Event):
    """A step begins. ``round`` numbers the iterations of the loop from 0; ``name`` is the tool,
    the model or the touchpoint; ``detail`` is there when something is known already (the call). ``agent`` is the agent
    that the turn was handed over to before, if it was."""

    type: Literal["step.started"] = "step.started"
    step: StepKey
    number: int
    round: int
    step_type: StepType
    name: str
    server_side: bool = True
    status: Literal["in_progress", "awaiting_input"] = "in_progress"
    detail: ToolDetail | None = None
    agent: AgentKey | None = None


class StepInDoubt(_Event):
    """The process of a call was lost before its result was stored, and the call may not be made twice: its turn waits
    for somebody to decide what became of it."""

    type: Literal["step.in_doubt"] = "step.in_doubt"
    step: StepKey


class StepDecided(_Event):
    """Somebody has decided what became of a call whose process was lost before its result was stored: it was made
    (``done``, with what the model is told as ``result``), it was not made, or this is its ``result``."""

    type: Literal["step.decided"] = "step.decided"
    step: StepKey
    outcome: CallOutcome
    by: str
    result: ToolResponse | None = None


class StepRepeated(_Event):
    """The call of a step whose process was lost is about to be made again, under the same key."""

    type: Literal["step.repeated"] = "step.repeated"
    step: StepKey


class StepEnded(_Event):
    """A step is over. ``usage`` and ``ttft_us`` (time to first token, microseconds) belong to
    inferences; ``detail`` keeps what was received even where the step failed. ``waited_us`` is for how long it waited
    for a person or the client, microseconds. ``heard`` is what the client said beside its answers, where these come
    from a record and no response begins with them."""

    type: Literal["step.ended"] = "step.ended"
    step: StepKey
    step_type: StepType
    name: str
    status: Literal["completed", "failed", "cancelled", "interrupted"] = "completed"
    started_at: Timestamp
    detail: StepDetail
    usage: Usage | None = None
    ttft_us: int | None = None
    waited_us: int | None = None
    error: ErrorInfo | None = None
    heard: list[TurnMessage] | None = None


class TurnAwaiting(_Event):
    """The turn waits for answers to these calls of client tools."""

    type: Literal["turn.awaiting_input"] = "turn.awaiting_input"
    output_message: CompletionMessage
    iterations: int


class TurnEnded(_Event):
    """The last event of a turn (or of its resumed part). ``usage`` sums the turn's inferences.
    ``text_kept`` is set by recovery after a crash: characters of the open step that survived."""

    type: Literal["turn.ended"] = "turn.ended"
    status: FinalStatus
    output_message: CompletionMessage | None = None
    usage: Usage = Usage()
    iterations: int = 0
    error: ErrorInfo | None = None
    reason: str | None = None
    text_kept: int | None = None


Event = Annotated[
    TurnStarted
    | TurnResumed
    | TurnTakenOver
    | StepStarted
    | StepInDoubt
    | StepDecided
    | StepRepeated
    | StepEnded
    | TurnAwaiting
    | TurnEnded,
    Field(discriminator="type"),
]
EVENT: TypeAdapter[Event] = TypeAdapter(Event, config=ConfigDict(defer_build=True))
"""Reads and writes one event as JSON."""

LAST_TYPES = frozenset({"turn.ended", "turn.awaiting_input"})
"""Types of the last event of a response: its stream ends."""


def ends_response(entry: Entry, first_seq: int, with_following: bool = False) -> bool:
    """Whether an entry is the last that a reader of the response with the event ``first_seq`` gets: its end, or the
    beginning of the response that follows it because its client has steered it, unless those are read too."""
    if isinstance(entry, Delta) or entry.seq < first_seq:
        return False
    return entry.type in LAST_TYPES or (not with_following and begins_following(entry, first_seq))


def begins_following(entry: Entry, first_seq: int) -> bool:
    """Whether an entry begins a response that follows the one with the event ``first_seq`` within its run."""
    return isinstance(entry, TurnResumed) and entry.steering is not None and entry.seq > first_seq


DeltaChannel = Literal["text", "reasoning", "call"]


class Delta(msgspec.Struct, frozen=True, gc=False):
    """A chunk of text that a step generates. ``channel`` is ``text``, ``reasoning``, or ``call``
    (the raw text of a tool call as it arrives); ``index`` tells parallel calls apart. ``logprobs`` are those of the
    tokens of a text, as in `InferenceDetail`.

    There is one per token: a Pydantic model would cost more than the rest of its way."""

    step: int
    channel: DeltaChannel
    offset: int
    text: str
    after: int
    ordinal: int
    index: int = 0
    logprobs: Sequence[dict[str, Any]] = ()


Entry = Event | Delta
"""An entry of a turn's log."""

Output = Event | list[Delta]
"""What a run yields: an event, or the deltas that came together from its model."""

Cursor = tuple[int, int]
"""A reader's position: the number of an event, and the ordinal of a delta after it (0: before the first)."""
START: Cursor = (-1, 0)
LAST_ORDINAL = 1 << 48
"""Above the ordinals of all deltas: in a cursor it stands behind those of an event, however many they are."""


def size_of(value: Any) -> int:
    """Estimate the bytes of an entry, or a part of one, by the characters of its texts."""
    size, parts = 0, [value]
    for part in parts:  # it grows meanwhile
        kind = type(part)
        if kind is str or kind is bytes:
            size += len(part)
        elif part is None or kind is int:
            size += 8
        elif isinstance(part, BaseModel):
            parts += part.__dict__.values()
        elif isinstance(part, dict):
            parts += part.values()
        elif isinstance(part, list | tuple):
            parts += part
        else:
            size += 8
    return size


def position(entry: Entry) -> Cursor:
    """Return the cursor of a reader that has seen an entry."""
    return (entry.after, entry.ordinal) if isinstance(entry, Delta) else (entry.seq, 0)


def cursor_of(entry: Entry) -> str:
    """Return the cursor after an entry, as text."""
    if isinstance(entry, Delta):
        return f"{entry.after}.{entry.ordinal}"
    return str(entry.seq)


def parse_cursor(text: str) -> tuple[int, int]:
    """Parse a cursor: ``"7.40"`` → (7, 40), ``""`` → (-1, 0): before the first event. Raises ValueError."""
    if not text:
        return -1, 0
    seq, _, ordinal = text.partition(".")
    if not (seq.lstrip("-").isdecimal() and (ordinal or "0").isdecimal()) or len(text) > 24:
        raise ValueError("a cursor looks like 7 or 7.40")
    return int(seq), int(ordinal or 0)

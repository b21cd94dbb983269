"""Replays the recorded steps of the turn that a fork was made from.

The loop of a fork begins where its source began. Up to the fork each step takes its recorded outcome, so
that the same code builds the conversation and the model gets the same bytes; after the fork only results of
tools and retrievals may still come from the record.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import msgspec

from agents.base import ids
from agents.record.schemas.content import Content, ToolCall, ToolResponse, TurnMessage, text_of
from agents.record.schemas.events import (
    USER_INPUT,
    ErrorInfo,
    FinalStatus,
    InferenceDetail,
    MemoryDetail,
    Origin,
    OtherDetail,
    StepDetail,
    StepType,
    ToolDetail,
)

if TYPE_CHECKING:
    from agents.loop.run import Run

_REPLAYED_TYPES = frozenset({"inference", "tool_execution", "shield_call", "memory_retrieval"})


def is_replayed(step: RecordedStep) -> bool:
    """Tell whether the loop takes a step from a record: one of these types, or what the client sent meanwhile."""
    detail = step.detail
    return step.type in _REPLAYED_TYPES or (isinstance(detail, OtherDetail) and detail.kind == USER_INPUT)


OriginKind = Literal["taken_over", "recorded", "edited", "live"]


@dataclass(frozen=True, slots=True)
class RecordedStep:
    """A finished step of the source."""

    key: int
    type: StepType
    name: str
    detail: StepDetail
    status: FinalStatus = "completed"
    error: ErrorInfo | None = None

    def origin(self, how: OriginKind) -> Origin:
        return Origin(how=how, step=ids.public(ids.Kind.STEP, self.key))

    @property
    def response(self) -> ToolResponse | None:
        """The result of a tool."""
        detail = self.detail
        return detail.tool_responses[0] if isinstance(detail, ToolDetail) and detail.tool_responses else None

    @property
    def approval(self) -> str | None:
        return self.detail.approval if isinstance(self.detail, ToolDetail) else None


@dataclass(frozen=True, slots=True)
class EditedResult:
    """A result that replaces the recorded one of a call. For answers to calls that the server never saw
    (``call_id`` None) it replaces the first answer."""

    step: int
    call_id: str | None
    content: Content


@dataclass(frozen=True, slots=True)
class NextResponse:
    """The next response of the source, after its client had answered: its run, and the messages sent with the
    answers. ``restarts`` says that rounds count anew, as in the Responses API."""

    run: Run
    messages: Sequence[TurnMessage] = ()
    restarts: bool = False


@dataclass(frozen=True, slots=True)
class RecordedTurn:
    """The turn that a fork replays. ``replayed`` are the steps before the fork, ``reusable`` those after it,
    whose results are used again with ``reuses_results``. ``next_responses`` follow each other where the
    client's calls are answered."""

    replayed: Sequence[RecordedStep] = ()
    reusable: Sequence[RecordedStep] = ()
    edit: EditedResult | None = None
    next_responses: Sequence[NextResponse] = ()
    reuses_results: bool = True


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """The outcome of a call. ``response`` is None where the step only requested approval and got it."""

    response: ToolResponse | None
    origin: Origin | None
    error: ErrorInfo | None = None
    approval: str | None = None

    @property
    def responses(self) -> list[ToolResponse]:
        return [self.response] if self.response else []


class Replay:
    """Hands out the steps of a recorded turn, each once."""

    def __init__(self, recorded: RecordedTurn | None) -> None:
        self._is_fork = recorded is not None
        self._recorded = recorded or RecordedTurn(reuses_results=False)
        self._replayed = deque(self._recorded.replayed)
        self._reusable = deque(self._recorded.reusable)
        self._next_responses = deque(self._recorded.next_responses)
        self._edit = self._recorded.edit

    @property
    def is_fork(self) -> bool:
        """Whether this is the run of a fork."""
        return self._is_fork

    def next_step(self, step_type: StepType, name: str = "") -> RecordedStep | None:
        """Return the next step before the fork, if it is of this kind."""
        head = self._replayed[0] if self._replayed else None
        return head if head and head.type == step_type and name in ("", head.name) else None

    def take_step(self, step_type: StepType, name: str = "") -> RecordedStep | None:
        """Return the same step and move on."""
        return self._replayed.popleft() if self.next_step(step_type, name) else None

    # ------------------------------------------------------------------------------------ outcomes

    def retrieval(self, query: str) -> tuple[RecordedStep, Origin] | None:
        """Return the recorded retrieval: the next step, or a reusable one with the same query."""
        step = self.take_step("memory_retrieval")
        if step:
            return step, step.origin("taken_over")
        for later in self._reusable if self._recorded.reuses_results else ():
            if isinstance(later.detail, MemoryDetail) and later.detail.query == query and later.error is None:
                self._reusable.remove(later)
                return later, later.origin("recorded")
        return None

    def outcome(self, call: ToolCall, *, is_approval: bool = False) -> CallOutcome | None:
        """Return the outcome of a call, or of its request for approval (``is_approval``): as recorded before
        the fork, as edited, or of an equal call after the fork; None where the call has to be made."""
        head = self._next_call_step(call)
        if head:
            self._replayed.popleft()
            return _recorded_outcome(head, call, head.origin("taken_over"))
        if self._edit and self._edit.call_id == call.call_id:
            return self._edited_outcome(self._edit, call)
        for later in self._reusable if self._recorded.reuses_results else ():
            if _is_same_call(later, call, is_approval=is_approval):
                self._reusable.remove(later)
                return _recorded_outcome(later, call, later.origin("recorded"))
        return None

    def _next_call_step(self, call: ToolCall) -> RecordedStep | None:
        head = self.next_step("tool_execution", call.tool_name)
        calls = head.detail.tool_calls if head and isinstance(head.detail, ToolDetail) else []
        return head if calls and calls[0].call_id == call.call_id else None

    def _edited_outcome(self, edit: EditedResult, call: ToolCall) -> CallOutcome:
        self._edit = None
        self._reusable = deque(step for step in self._reusable if step.key != edit.step)
        response = ToolResponse(call_id=call.call_id, tool_name=call.tool_name, content=edit.content)
        return CallOutcome(response, Origin(how="edited", step=ids.public(ids.Kind.STEP, edit.step)))

    @property
    def unmatched_origin(self) -> Origin | None:
        """The origin of a call without a matching record; None where no record was searched."""
        return Origin(how="live") if self._recorded.reuses_results else None

    # ----------------------------------------------------------------------------------- responses

    def unseen_answers(self, text: str) -> tuple[list[ToolResponse], Origin] | None:
        """Return recorded answers to calls that the server never saw, which the client found in the model's
        text: those before the fork, or those to the same text after it."""
        head = next((step for step in self._replayed if step.type != "shield_call"), None)  # shields end a response
        if head and isinstance(head.detail, ToolDetail) and not head.detail.tool_calls:
            self._replayed.remove(head)
            return list(head.detail.tool_responses), head.origin("taken_over")
        recorded_text = text  # until a later inference of the source replaces it
        for index, later in enumerate(self._reusable):
            if isinstance(later.detail, InferenceDetail):
                recorded_text = text_of(later.detail.model_response.content)
            elif isinstance(later.detail, ToolDetail) and not later.detail.tool_calls:
                edited = self._edit is not None and self._edit.step == later.key
                if not edited and not (self._recorded.reuses_results and recorded_text == text):
                    return None
                self._reusable = deque(list(self._reusable)[index + 1 :])
                return self._recorded_answers(later, later.detail, edited=edited)
        return None

    def _recorded_answers(
        self, step: RecordedStep, detail: ToolDetail, *, edited: bool
    ) -> tuple[list[ToolResponse], Origin]:
        answers = list(detail.tool_responses)
        if edited and self._edit:
            answers[0] = answers[0].model_copy(update={"content": self._edit.content, "metadata": None})
            self._edit = None
        return answers, step.origin("edited" if edited else "recorded")

    def peek_response(self) -> NextResponse | None:
        return self._next_responses[0] if self._next_responses else None

    def take_response(self) -> NextResponse | None:
        return self._next_responses.popleft() if self._next_responses else None


def _recorded_outcome(step: RecordedStep, call: ToolCall, origin: Origin) -> CallOutcome | None:
    """Return the outcome of a recorded step for ``call``; None if it has none."""
    response, approved = step.response, step.approval == "approved"
    if response is None and not approved:
        return None
    if response is not None:
        response = response.model_copy(update={"call_id": call.call_id, "tool_name": call.tool_name})
    return CallOutcome(response, origin, step.error, step.approval)


def _is_same_call(step: RecordedStep, call: ToolCall, *, is_approval: bool) -> bool:
    """Whether a recorded step made the same call, or requested its approval, and has an outcome."""
    detail = step.detail
    if not isinstance(detail, ToolDetail) or not detail.tool_calls or bool(detail.approval) != is_approval:
        return False
    if detail.approval == "requested" or not (detail.tool_responses or detail.approval):
        return False
    recorded_call = detail.tool_calls[0]
    return recorded_call.tool_name == call.tool_name and _arguments(recorded_call) == _arguments(call)


def _arguments(call: ToolCall) -> bytes | str:
    """Return arguments as canonical JSON; text that is no JSON stays text."""
    return call.arguments if isinstance(call.arguments, str) else msgspec.json.encode(call.arguments, order="sorted")

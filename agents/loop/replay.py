"""What a fork has of the turn it was made from: outcomes that the loop takes instead of asking for them.

The loop of a fork begins where its source began. Up to the place of the fork each step takes its outcome
from here, so that the conversation is built up by the same code that built it before and a model is sent
the same bytes; behind that place only results of tools and retrievals may still come from the record.
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
    ErrorInfo,
    FinalStatus,
    InferenceDetail,
    MemoryDetail,
    Origin,
    StepDetail,
    StepType,
    ToolDetail,
)

if TYPE_CHECKING:
    from agents.loop.run import Run

How = Literal["taken_over", "recorded", "edited", "live"]


@dataclass(frozen=True, slots=True)
class RecordedStep:
    """A step of the source that is over."""

    key: int
    type: StepType
    name: str
    detail: StepDetail
    status: FinalStatus = "completed"
    error: ErrorInfo | None = None

    def origin(self, how: How) -> Origin:
        return Origin(how=how, step=ids.public(ids.Kind.STEP, self.key))

    @property
    def response(self) -> ToolResponse | None:
        """What a tool gave back."""
        detail = self.detail
        return detail.tool_responses[0] if isinstance(detail, ToolDetail) and detail.tool_responses else None

    @property
    def approval(self) -> str | None:
        return self.detail.approval if isinstance(self.detail, ToolDetail) else None


@dataclass(frozen=True, slots=True)
class Edit:
    """A result given by hand for the call that a step of the source made; for answers to calls that nobody
    saw (``call_id`` None) it stands for the first."""

    step: int
    call_id: str | None
    content: Content


@dataclass(frozen=True, slots=True)
class NextLeg:
    """How the source went on once its client had answered: what was said beside the answers, and the run
    that went on. Responses count their rounds anew."""

    run: Run
    messages: Sequence[TurnMessage] = ()
    restarts: bool = False


@dataclass(frozen=True, slots=True)
class Tape:
    """``taken`` are the steps before the fork, ``later`` those from it on whose results may be used again;
    without ``replays`` none is. ``legs`` follow each other where the client's calls are answered."""

    taken: Sequence[RecordedStep] = ()
    later: Sequence[RecordedStep] = ()
    edit: Edit | None = None
    legs: Sequence[NextLeg] = ()
    replays: bool = True


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a call came to. ``response`` is None where the step only asked for approval and got it."""

    response: ToolResponse | None
    origin: Origin | None
    error: ErrorInfo | None = None
    approval: str | None = None

    @property
    def responses(self) -> list[ToolResponse]:
        return [self.response] if self.response else []


class Player:
    """A tape as it is played: what was given out is gone."""

    def __init__(self, tape: Tape | None) -> None:
        self._is_tape = tape is not None
        self._tape = tape or Tape(replays=False)
        self._taken = deque(self._tape.taken)
        self._later = deque(self._tape.later)
        self._legs = deque(self._tape.legs)
        self._edit = self._tape.edit

    @property
    def plays(self) -> bool:
        """Whether this is a fork's run."""
        return self._is_tape

    def peek(self, step_type: StepType, name: str = "") -> RecordedStep | None:
        """The next step, if it is taken over and of this kind."""
        head = self._taken[0] if self._taken else None
        return head if head and head.type == step_type and name in ("", head.name) else None

    def take(self, step_type: StepType, name: str = "") -> RecordedStep | None:
        """The same, and go on."""
        return self._taken.popleft() if self.peek(step_type, name) else None

    # ------------------------------------------------------------------------------------ outcomes

    def retrieved(self, query: str) -> tuple[RecordedStep, Origin] | None:
        """What was found before, here or later, with the same words."""
        step = self.take("memory_retrieval")
        if step:
            return step, step.origin("taken_over")
        for later in self._later if self._tape.replays else ():
            if isinstance(later.detail, MemoryDetail) and later.detail.query == query and later.error is None:
                self._later.remove(later)
                return later, later.origin("recorded")
        return None

    def outcome(self, call: ToolCall, *, asks: bool = False) -> Outcome | None:
        """What a call came to, or became of the question whether it may be made (``asks``): as it was before
        the fork, as it was edited, or as an equal call came out later; None where it has to be made."""
        head = self._head(call)
        if head:
            self._taken.popleft()
            return _outcome(head, call, head.origin("taken_over"))
        if self._edit and self._edit.call_id == call.call_id:
            return self._edited(self._edit, call)
        for later in self._later if self._tape.replays else ():
            if _same(later, call, asks=asks):
                self._later.remove(later)
                return _outcome(later, call, later.origin("recorded"))
        return None

    def _head(self, call: ToolCall) -> RecordedStep | None:
        head = self.peek("tool_execution", call.tool_name)
        calls = head.detail.tool_calls if head and isinstance(head.detail, ToolDetail) else []
        return head if calls and calls[0].call_id == call.call_id else None

    def _edited(self, edit: Edit, call: ToolCall) -> Outcome:
        self._edit = None
        self._later = deque(one for one in self._later if one.key != edit.step)
        response = ToolResponse(call_id=call.call_id, tool_name=call.tool_name, content=edit.content)
        return Outcome(response, Origin(how="edited", step=ids.public(ids.Kind.STEP, edit.step)))

    @property
    def unmatched(self) -> Origin | None:
        """What is said of a call that no record fits, where one was looked for."""
        return Origin(how="live") if self._tape.replays else None

    # ---------------------------------------------------------------------------------------- legs

    def unasked(self, said: str) -> tuple[list[ToolResponse], Origin] | None:
        """Answers to calls that the server never saw, which the client found in the words of the model:
        where these are the same, or come before the fork."""
        head = next((one for one in self._taken if one.type != "shield_call"), None)  # shields end a leg
        if head and isinstance(head.detail, ToolDetail) and not head.detail.tool_calls:
            self._taken.remove(head)
            return list(head.detail.tool_responses), head.origin("taken_over")
        words = said  # where the words themselves were taken over
        for place, later in enumerate(self._later):
            if isinstance(later.detail, InferenceDetail):
                words = text_of(later.detail.model_response.content)
            elif isinstance(later.detail, ToolDetail) and not later.detail.tool_calls:
                edited = self._edit is not None and self._edit.step == later.key
                if not edited and not (self._tape.replays and words == said):
                    return None
                self._later = deque(list(self._later)[place + 1 :])
                return self._answers(later, later.detail, edited=edited)
        return None

    def _answers(self, step: RecordedStep, detail: ToolDetail, *, edited: bool) -> tuple[list[ToolResponse], Origin]:
        answers = list(detail.tool_responses)
        if edited and self._edit:
            answers[0] = answers[0].model_copy(update={"content": self._edit.content, "metadata": None})
            self._edit = None
        return answers, step.origin("edited" if edited else "recorded")

    def peek_leg(self) -> NextLeg | None:
        return self._legs[0] if self._legs else None

    def next_leg(self) -> NextLeg | None:
        return self._legs.popleft() if self._legs else None


def _outcome(step: RecordedStep, call: ToolCall, origin: Origin) -> Outcome | None:
    """None of a step that came to nothing."""
    response, approved = step.response, step.approval == "approved"
    if response is None and not approved:
        return None
    if response is not None:
        response = response.model_copy(update={"call_id": call.call_id, "tool_name": call.tool_name})
    return Outcome(response, origin, step.error, step.approval)


def _same(step: RecordedStep, call: ToolCall, *, asks: bool) -> bool:
    """Whether a recorded step made the same call, or asked about it, and has an outcome."""
    detail = step.detail
    if not isinstance(detail, ToolDetail) or not detail.tool_calls or bool(detail.approval) != asks:
        return False
    if detail.approval == "requested" or not (detail.tool_responses or detail.approval):
        return False
    made = detail.tool_calls[0]
    return made.tool_name == call.tool_name and _arguments(made) == _arguments(call)


def _arguments(call: ToolCall) -> bytes | str:
    """Arguments as JSON in one form; text that is none stays text."""
    return call.arguments if isinstance(call.arguments, str) else msgspec.json.encode(call.arguments, order="sorted")

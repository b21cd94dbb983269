"""The arguments of each tool. Their descriptions are written for a model that knows nothing of this server."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field, model_validator

from agents.base.schemas.wire import Wire
from agents.record.schemas.events import CallOutcome

DEFAULT_CHARS, MIN_CHARS, MAX_CHARS = 8_000, 2_000, 40_000
"""Characters of one answer: about 2,000 tokens by default, at most 10,000."""
MAX_WAIT_S = 50
"""Seconds that one call waits for a turn: below what proxies and clients take for a lost connection."""
SearchLevel = Literal["turn", "step", "session"]

MaxChars = Annotated[
    int,
    Field(
        ge=MIN_CHARS,
        le=MAX_CHARS,
        description="Longest answer, in characters (4 are about one token). A longer one is cut and says how to go on.",
    ),
]
Wait = Annotated[
    int,
    Field(
        ge=0,
        le=MAX_WAIT_S,
        description="Seconds to wait for the turn to end or to ask for something. It goes on afterwards in any case.",
    ),
]
TurnId = Annotated[str, Field(description="Id of the turn, as search_log gives it.")]
LogQuery = Annotated[
    str,
    Field(description="Query in the log's language; empty for everything. query_guide explains it."),
]


class BoundedArguments(Wire):
    """The base: how long the answer may be. An argument that is not known is refused: a search without what it was
    meant to look for would answer with everything."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    max_chars: MaxChars = DEFAULT_CHARS


class SearchArguments(BoundedArguments):
    query: LogQuery = ""
    level: Annotated[SearchLevel, Field(description="What to list: turns, steps or sessions.")] = "turn"
    order: Annotated[Literal["newest", "oldest"], Field(description="Which come first.")] = "newest"
    limit: Annotated[int, Field(ge=1, le=100, description="Most rows of the answer.")] = 20
    after: Annotated[str, Field(description="Go on behind this id, as the answer before said.")] = ""


class GuideArguments(BoundedArguments):
    level: Annotated[SearchLevel | None, Field(description="Only fields that rows of this level have themselves.")] = (
        None
    )


class ReadTurnArguments(BoundedArguments):
    turn_id: TurnId
    part: Annotated[
        Literal["steps", "input", "output"],
        Field(
            description="'steps': the turn and an outline of its steps; 'input', 'output': all of what it was asked, "
            "or answered."
        ),
    ] = "steps"
    first_step: Annotated[
        int, Field(ge=0, le=10**9, description="Number of the first step of the outline; 0: the turn itself, and all.")
    ] = 0
    offset: Annotated[int, Field(ge=0, description="Characters to leave out, of 'input' and 'output'.")] = 0
    wait_seconds: Wait = 0


class ReadStepArguments(BoundedArguments):
    step_id: Annotated[str, Field(description="Id of the step, as search_log or read_turn give it.")]
    offset: Annotated[int, Field(ge=0, description="Characters to leave out, as the answer before said.")] = 0


class CompareArguments(BoundedArguments):
    turn_id: TurnId
    other_id: Annotated[str, Field(description="Id of the turn to compare it with.")]
    offset: Annotated[int, Field(ge=0, description="Characters to leave out, as the answer before said.")] = 0


class NumbersArguments(BoundedArguments):
    query: LogQuery = ""
    level: Annotated[SearchLevel, Field(description="What to count: turns, steps or sessions.")] = "turn"
    by: Annotated[
        list[str],
        Field(
            max_length=2,
            description="One or two fields or lengths of time to group by, such as ['agent'], ['tool'], ['error'], "
            "['day', 'model'].",
        ),
    ] = []
    limit: Annotated[int, Field(ge=1, le=200, description="Most groups, those with the most rows first.")] = 20


class ListAgentsArguments(BoundedArguments):
    start: Annotated[int, Field(ge=0, le=10**9, description="Agents to leave out, as the answer before said.")] = 0


class RunArguments(BoundedArguments):
    agent: Annotated[str, Field(description="Name or id of the agent, as list_agents gives them.")]
    message: Annotated[str, Field(min_length=1, description="What the agent is asked.")]
    session_id: Annotated[
        str, Field(description="Session to continue, so that the agent knows what was said; empty for a new one.")
    ] = ""
    wait_seconds: Wait = 30
    idempotency_key: Annotated[
        str,
        Field(
            max_length=256,
            pattern=r"^[ -~]*$",
            description="A name of your own for this call. The same one within a day starts nothing again: it returns "
            "the turn that it started. Use it where a call may have to be repeated.",
        ),
    ] = ""


class CallAnswer(Wire):
    """The answer to one waiting call: what its tool returned, or whether it may be made."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    call_id: Annotated[str, Field(description="Id of the call, as read_turn gives it.")]
    content: Annotated[str | None, Field(description="What the tool returned, for a call that you have made.")] = None
    approve: Annotated[
        bool | None, Field(description="Whether the server may make the call, for one that waits for approval.")
    ] = None
    reason: Annotated[str, Field(max_length=2_000, description="Why it may not, for the model.")] = ""


class AnswerArguments(BoundedArguments):
    turn_id: TurnId
    answers: Annotated[
        list[CallAnswer],
        Field(min_length=1, max_length=128, description="One answer to each call that the turn waits for."),
    ]
    wait_seconds: Wait = 30


class CallDecision(Wire):
    """What became of one call whose process was lost."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    step_id: Annotated[str, Field(description="Id of the call's step, as read_turn gives it.")]
    outcome: Annotated[
        CallOutcome,
        Field(
            description="'done': it was made, its result is not known; 'not_done': it was not, and is made now; "
            "'result': it was made, and this is its result."
        ),
    ]
    content: Annotated[str | None, Field(description="The result, with outcome 'result' and only then.")] = None

    @model_validator(mode="after")
    def _content_of_result(self) -> CallDecision:
        if (self.outcome == "result") != (self.content is not None):
            raise ValueError("content: it is given with the outcome 'result', and only then")
        return self


class DecideArguments(BoundedArguments):
    turn_id: TurnId
    decisions: Annotated[
        list[CallDecision],
        Field(min_length=1, max_length=128, description="One decision for each call in doubt, or for some of them."),
    ]
    wait_seconds: Wait = 30


class CancelArguments(BoundedArguments):
    turn_id: TurnId

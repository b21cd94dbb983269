"""A fork as it is asked for: from which step, with what changed, and where tools have their results from."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from agents.base.schemas.wire import Wire, null_is
from agents.record.schemas.agents import ForkSettings
from agents.record.schemas.content import Content

Tools = Literal["recorded", "live"]


class ForkChanges(ForkSettings):
    """What is changed from the step on. ``tool_result`` is what its tool is to have given back, ``input``
    what the user is to have said (only from the first step on). A field that is none of these is refused:
    a fork that silently changes nothing would be taken for a result."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    tool_result: Content | None = None
    input: str | None = Field(default=None, min_length=1)

    @property
    def settings(self) -> ForkSettings:
        return ForkSettings(**self.changed_values)


class ForkTurn(Wire):
    """``step`` is a step's id, or its place from 1. With ``tools`` ``recorded`` a tool that is called as it
    was called before gives what it gave then; what was never called is run."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    step: int | str
    changes: Annotated[ForkChanges, null_is(ForkChanges())] = ForkChanges()
    tools: Tools = "recorded"
    stream: bool | None = False

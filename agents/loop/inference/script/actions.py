"""The actions of a scripted model."""

from __future__ import annotations

from dataclasses import dataclass


class ImpossibleAction(ValueError):
    """A request that the scripted model cannot answer; the message says why, for the caller."""


@dataclass(frozen=True, slots=True)
class Say:
    text: str


@dataclass(frozen=True, slots=True)
class Repeat:
    """Say ``text`` ``times`` times, a space between."""

    times: int
    text: str


@dataclass(frozen=True, slots=True)
class Think:
    text: str


@dataclass(frozen=True, slots=True)
class CallTool:
    """``arguments`` is sent as it is, JSON or not."""

    tool_name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Wait:
    seconds: float


@dataclass(frozen=True, slots=True)
class Fail:
    message: str
    status: int | None = None


@dataclass(frozen=True, slots=True)
class Cut:
    """Break off without finishing, as a lost connection does."""


@dataclass(frozen=True, slots=True)
class End:
    """Finish here with this reason."""

    reason: str


ScriptAction = Say | Repeat | Think | CallTool | Wait | Fail | Cut | End
"""One action of a scripted model."""

FinalAction = Fail | Cut | End
"""An action that ends an answer."""

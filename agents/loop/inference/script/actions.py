"""What a scripted model can do, one act at a time."""

from __future__ import annotations

from dataclasses import dataclass


class CannotAct(ValueError):
    """What was asked for cannot be done; the message says why, for who asked."""


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
class Call:
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
    """Break off in the middle, as a lost connection does."""


@dataclass(frozen=True, slots=True)
class End:
    """Finish here with a reason of one's own."""

    reason: str


Act = Say | Repeat | Think | Call | Wait | Fail | Cut | End
"""All that a scripted model can do."""

Ending = Fail | Cut | End
"""Acts after which nothing follows."""

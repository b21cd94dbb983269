"""Hooks through which feedback, a subject above, is written with the turns that are reported, and read with those that
are exported. Where it is not installed there is none."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from agents.record.schemas.feedback import ReportedFeedback


@dataclass(frozen=True, slots=True)
class JudgedTurn:
    """A stored turn with what was reported of it. ``owner`` is the user who reported; ``steps`` are the keys of the
    steps that entries name."""

    turn: int
    session: int
    owner: int
    entries: Sequence[ReportedFeedback]
    steps: Mapping[str, int]


@dataclass(slots=True)
class FeedbackHooks:
    """``put`` stores what was reported, within the caller's transaction. ``of_turn`` reads all feedback of a turn,
    oldest first, with public ids. ``reported`` reads an entry of a turn by the id of its sender."""

    put: Callable[[JudgedTurn], None] = lambda judged: None
    of_turn: Callable[[int], Sequence[ReportedFeedback]] = lambda turn: ()
    reported: Callable[[int, str], ReportedFeedback | None] = lambda turn, entry_id: None


hooks = FeedbackHooks()

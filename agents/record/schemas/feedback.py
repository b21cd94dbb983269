"""Feedback as other programs report it, and as exports have it."""

from __future__ import annotations

from typing import Literal

import msgspec


class ReportedFeedback(msgspec.Struct, frozen=True):
    """One entry on a turn, or on its step of the sender's id ``step``. ``id`` is the sender's, by which it is known
    when it comes again. Times are microseconds since 1970; of two reports of one id the later ``updated_us`` counts."""

    id: str
    step: str = ""
    rating: Literal["up", "down"] | None = None
    name: str = ""
    value: float | None = None
    comment: str = ""
    author: str = ""
    created_us: int = 0
    updated_us: int = 0

"""Hooks through which subjects above add to what is read of the log. One that is not set adds nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from agents.base.access import Actor


@dataclass(slots=True)
class LogHooks:
    """``comparison`` yields in text what two turns (public ids) have in common and what not, in chunks. It raises
    NotFound, also for a turn the actor may not see."""

    comparison: Callable[[Actor, str, str], Iterator[str]] | None = None


hooks = LogHooks()

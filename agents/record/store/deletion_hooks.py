"""What other subjects keep about records, and how it goes when the records are deleted.

A subject whose rows name sessions, turns or steps adds an `Attached` when it is installed. `deletion` and `removal`
call all of them within the transaction that deletes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

Drop = Callable[[Sequence[int]], None]
"""Deletes what is about the records of these keys."""


def _nothing(keys: Sequence[int]) -> None:
    """Nothing is kept about these."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletionHooks:
    """``sessions``, ``turns`` and ``steps`` are called when these are deleted, the children of a record before it.
    ``merged`` is called with steps that go while their turn stays: what is about them is about the turn from then on.
    ``sources`` is called with turns that are deleted for good, before they are: what they were made of goes, so that
    they are not made again."""

    sessions: Drop = _nothing
    turns: Drop = _nothing
    steps: Drop = _nothing
    merged: Drop = _nothing
    sources: Drop = _nothing


_hooks: dict[str, DeletionHooks] = {}


def add(subject: str, hooks: DeletionHooks) -> None:
    """Call these from now on; a subject is called once, however often it is added."""
    _hooks[subject] = hooks


def drop_of_sessions(keys: Sequence[int]) -> None:
    for hooks in _hooks.values():
        hooks.sessions(keys)


def drop_of_turns(keys: Sequence[int]) -> None:
    for hooks in _hooks.values():
        hooks.turns(keys)


def drop_of_steps(keys: Sequence[int]) -> None:
    for hooks in _hooks.values():
        hooks.steps(keys)


def merge_steps(keys: Sequence[int]) -> None:
    for hooks in _hooks.values():
        hooks.merged(keys)


def drop_sources(turns: Sequence[int]) -> None:
    for hooks in _hooks.values():
        hooks.sources(turns)

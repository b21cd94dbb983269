"""Hooks by which other subjects delete their rows together with records.

A subject whose rows refer to sessions, turns or steps adds `DeletionHooks` when it is installed. `deletion` and
`removal` call all of them within the transaction that deletes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

Drop = Callable[[Sequence[int]], None]
"""Deletes the rows that refer to the records of these keys."""


def _nothing(keys: Sequence[int]) -> None:
    """Delete nothing: the default hook."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletionHooks:
    """The hooks of one subject. ``sessions``, ``turns`` and ``steps`` are called when these are deleted, children
    before their parents. ``merged`` is called with steps that are deleted while their turn stays: rows that refer to
    them refer to the turn from then on. ``sources`` is called before turns are deleted for good: it deletes the reports
    they were built from, so that they are not built again."""

    sessions: Drop = _nothing
    turns: Drop = _nothing
    steps: Drop = _nothing
    merged: Drop = _nothing
    sources: Drop = _nothing


_hooks: dict[str, DeletionHooks] = {}


def add(subject: str, hooks: DeletionHooks) -> None:
    """Register the hooks of a subject; adding it again replaces them."""
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

"""Hooks by which other subjects act before turns are deleted.

Rows that refer to turns need no hook: their models declare what becomes of them. A hook is called within the
transaction that deletes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

DropSources = Callable[[Sequence[int]], None]
"""Deletes the reports that these turns were built from, so that they are not built again."""

_hooks: dict[str, DropSources] = {}


def add(subject: str, drop: DropSources) -> None:
    """Register the hook of a subject; adding it again replaces it."""
    _hooks[subject] = drop


def drop_sources(turns: Sequence[int]) -> None:
    """Call all hooks for turns that are deleted for good."""
    for drop in _hooks.values():
        drop(turns)

"""Hooks by which other subjects write that a turn has ended, or waits, in the transaction that stores it.

What they write is there when the end of the turn is, and only then. They are called after everything else has been
written; a turn that was resumed ends several times.
"""

from __future__ import annotations

from collections.abc import Callable

from agents.record.schemas.events import TurnAwaiting, TurnEnded

EndingHook = Callable[[int, TurnAwaiting | TurnEnded], None]
"""Takes the key of the turn, and its event. It must be quick: it is a part of every turn."""

DoubtHook = Callable[[int, int], None]
"""Takes the key of the turn, and the time in microseconds since 1970."""

_hooks: dict[str, EndingHook] = {}
_of_doubt: dict[str, DoubtHook] = {}


def add(subject: str, hook: EndingHook) -> None:
    """Register the hook of a subject; adding it again replaces it."""
    _hooks[subject] = hook


def add_of_doubt(subject: str, hook: DoubtHook) -> None:
    """Register a hook for turns that wait for somebody to decide what became of a call."""
    _of_doubt[subject] = hook


def call_of_doubt(turn: int, at_us: int) -> None:
    """Call these hooks for a turn that begins to wait for a decision."""
    for hook in _of_doubt.values():
        hook(turn, at_us)


def call(turn: int, event: TurnAwaiting | TurnEnded) -> None:
    """Call all hooks for a turn that ends or begins to wait."""
    for hook in _hooks.values():
        hook(turn, event)

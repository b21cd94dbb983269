"""Hooks by which other subjects write that a turn has ended, or waits, in the transaction that stores it.

What they write is there when the end of the turn is, and only then. They are called after everything else has been
written; a turn that was resumed ends several times.
"""

from __future__ import annotations

from collections.abc import Callable

from agents.record.schemas.events import TurnAwaiting, TurnEnded

EndingHook = Callable[[int, TurnAwaiting | TurnEnded], None]
"""Takes the key of the turn, and its event. It must be quick: it is a part of every turn."""

_hooks: dict[str, EndingHook] = {}


def add(subject: str, hook: EndingHook) -> None:
    """Register the hook of a subject; adding it again replaces it."""
    _hooks[subject] = hook


def call(turn: int, event: TurnAwaiting | TurnEnded) -> None:
    """Call all hooks for a turn that ends or begins to wait."""
    for hook in _hooks.values():
        hook(turn, event)

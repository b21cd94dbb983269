"""Compares two turns for whoever reads text."""

from __future__ import annotations

from collections.abc import Iterator

from agents.base.access import Actor
from agents.forks.store import comparison_input
from agents.forks.wire import comparison_text


def comparison_chunks(actor: Actor, turn: str, other: str) -> Iterator[str]:
    """Yield the comparison of two turns, by their public ids, as text. Raises NotFound."""
    return comparison_text.chunks(comparison_input.comparison(actor, turn, other))

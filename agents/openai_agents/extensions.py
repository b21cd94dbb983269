"""Extension points for other subjects: traces of turns.

A subject sets its functions when it is installed. Without it a request that needs them is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from agents.base.access import Actor
from agents.loop.extensions import not_installed


def _no_trace(actor: Actor, turn: int) -> bytes:
    raise not_installed("traces are", "telemetry", "traces")


@dataclass(slots=True)
class AgentsApiExtensions:
    """The functions that subjects set. ``trace`` encodes a turn as an OTLP request for traces, as JSON. Raises
    NotFound."""

    trace: Callable[[Actor, int], bytes] = _no_trace


extensions = AgentsApiExtensions()

"""The last failure of each kind of periodic work, for the page of the server's health."""

from __future__ import annotations

from dataclasses import dataclass

from agents.base import ids, metrics, redaction

MAX_MESSAGE = 300
"""Characters of an error that are kept."""


@dataclass(frozen=True, slots=True)
class RoundFailure:
    """The last failure of a round; ``at_us`` is when."""

    name: str
    at_us: int
    error: str


_failures: dict[str, RoundFailure] = {}


def failed(name: str, error: BaseException) -> None:
    """Note that a round failed."""
    metrics.count_failed_round(name)
    words = f"{type(error).__name__}: {error}".splitlines()[0]
    _failures[name] = RoundFailure(name, ids.now_us(), redaction.redact_error(words)[:MAX_MESSAGE])


def last_failures() -> list[RoundFailure]:
    """Return the last failure of each round that has failed, the newest first."""
    return sorted(_failures.values(), key=lambda failure: -failure.at_us)


def forget() -> None:
    """Drop what was noted (tests)."""
    _failures.clear()

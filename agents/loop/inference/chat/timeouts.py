"""Timeouts and retries of requests to an endpoint.

This module only computes: it does not sleep, and it does no I/O.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from agents.base.errors import ProviderError


@dataclass(frozen=True, slots=True)
class EndpointLimits:
    """The limits of one inference. ``first_token_s`` counts from the request of a try, ``idle_s`` between
    two reads after the first token, ``tail_s`` from the finish reason to the end of the stream, ``total_s``
    over all tries and the pauses between them. ``output_chars`` caps text, reasoning and arguments together."""

    connect_s: float = 5.0
    first_token_s: float = 120.0
    idle_s: float = 60.0
    tail_s: float = 5.0
    total_s: float = 600.0
    output_chars: int = 4 * 2**20


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """The number of tries, and the pauses between them."""

    tries: int = 3
    min_pause_s: float = 0.5
    max_pause_s: float = 8.0
    max_retry_after_s: float = 60.0

    def pause_s(self, error: ProviderError, *, failed: int) -> float | None:
        """Return the pause after ``failed`` tries, the last of which ended in ``error``; None to give up.
        An endpoint's ``Retry-After`` is honoured; otherwise the pause is random in a range that doubles
        with each try, so that callers that failed together do not retry together."""
        if failed >= self.tries or not error.retryable:
            return None
        if error.retry_after_s is not None:
            return error.retry_after_s if error.retry_after_s <= self.max_retry_after_s else None
        return random.uniform(self.min_pause_s, min(2.0**failed, self.max_pause_s))  # noqa: S311 - no secret


class Tries:
    """Counts the tries of one inference and holds its deadlines."""

    __slots__ = ("_retries", "deadlines", "failed")

    def __init__(self, retries: RetryPolicy, limits: EndpointLimits, now: float) -> None:
        self._retries = retries
        self.deadlines = Deadlines(limits, now)
        self.failed = 0

    def pause_s(self, error: ProviderError, now: float) -> float | None:
        """Return the pause after a try that ended in ``error`` before its answer began; None to give up."""
        self.failed += 1
        pause_s = self._retries.pause_s(error, failed=self.failed)
        return pause_s if pause_s is not None and self.deadlines.allow(pause_s, now) else None


class Deadlines:
    """The times at which one inference is given up, on the event loop's clock."""

    __slots__ = ("_first_token", "_limits", "_total")

    def __init__(self, limits: EndpointLimits, now: float) -> None:
        self._limits = limits
        self._total = now + limits.total_s
        self._first_token = self._total

    def begin_try(self, now: float) -> float:
        """Note that a request is sent; returns the deadline of its first token."""
        self._first_token = min(now + self._limits.first_token_s, self._total)
        return self._first_token

    def of_next_read(self, now: float, *, started: bool, finished: bool) -> float:
        if not started and not finished:
            return self._first_token
        return min(now + (self._limits.tail_s if finished else self._limits.idle_s), self._total)

    def allow(self, pause_s: float, now: float) -> bool:
        """Whether there is time left after a pause of ``pause_s``."""
        return now + pause_s < self._total

    def reason(self, now: float, *, started: bool) -> str:
        """Describe the deadline that has passed, for an error message."""
        if now >= self._total:
            return f"did not finish within {self._limits.total_s:g} s"
        if started:
            return f"fell silent for {self._limits.idle_s:g} s"
        return f"sent no token within {self._limits.first_token_s:g} s"

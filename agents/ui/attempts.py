"""How often a password may be wrong: per account and per address, within five minutes.

Counted in this process only, which is what one server needs. An attempt counts as failed from its
beginning until it is taken back, so a hundred at once are not a hundred free ones. Names that do
not exist are counted like those that do: the answer tells nothing about them.
"""

from __future__ import annotations

import ipaddress
import math
import threading
import time
from collections.abc import Callable

from django.utils.translation import ngettext

from agents.errors import RateLimited
from agents.query.tokens import fold

WINDOW_S = 300.0
PER_ACCOUNT, PER_ADDRESS = 5, 20
REMEMBERED = 20_000
"""Accounts and addresses at most; the one that failed longest ago is forgotten first."""


class Attempts:
    """Failed attempts of the last five minutes. ``clock`` gives seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._failed: dict[str, list[float]] = {}

    def begin(self, account: str, address: str) -> None:
        """Count an attempt. Raises RateLimited, with Retry-After, when there were too many."""
        now = self._clock()
        limits = (_account(account), PER_ACCOUNT), (_address(address), PER_ADDRESS)
        with self._lock:
            waits = [self._wait(name, limit, now) for name, limit in limits]
            if max(waits) > 0:
                raise _too_many(math.ceil(max(waits)))
            for name, _ in limits:
                # newest at the end, so that the oldest can be forgotten
                self._failed[name] = [*self._failed.pop(name, ()), now]
            while len(self._failed) > REMEMBERED:
                del self._failed[next(iter(self._failed))]

    def take_back(self, account: str, address: str) -> None:
        """The attempt begun last did not fail."""
        with self._lock:
            for name in (_account(account), _address(address)):
                if self._failed.get(name):
                    self._failed[name].pop()

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._failed.clear()

    def _wait(self, name: str, limit: int, now: float) -> float:
        """Seconds until one more is allowed; 0 or less for now."""
        recent = [at for at in self._failed.get(name, ()) if at > now - WINDOW_S]
        if name in self._failed:
            self._failed[name] = recent
        return recent[-limit] + WINDOW_S - now if len(recent) >= limit else 0.0


def _account(name: str) -> str:
    return f"account {fold(name)[:150]}"


def _address(text: str) -> str:
    """An IPv6 network of 64 bits is one household: its addresses count together."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return f"address {text[:64]}"
    if isinstance(address, ipaddress.IPv6Address):
        network = ipaddress.IPv6Network((address, 64), strict=False).network_address
        return f"address {address.ipv4_mapped or network}"
    return f"address {address}"


def _too_many(seconds: int) -> RateLimited:
    minutes = math.ceil(seconds / 60)
    words = ngettext(
        "Too many attempts. Try again in %(minutes)s minute.",
        "Too many attempts. Try again in %(minutes)s minutes.",
        minutes,
    )
    return RateLimited(words % {"minutes": minutes}, code="too_many_attempts", headers={"Retry-After": str(seconds)})


attempts = Attempts()
"""The process's counter."""

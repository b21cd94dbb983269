"""Limits wrong passwords. A wrong one slows its source down, not the account's owner.

A source is a device that was logged in to the account before, or else an address. A known device has a count of its
own, so that nobody else can lock it out. For the others each account counts per address; an address, and an account
under guesses from many addresses, are slowed down more and more, but never locked.

The counts are those of this process, which is enough for one server. An attempt counts as failed from its start until
it is taken back, so that a hundred at once are not a hundred free ones. Names that do not exist are counted like those
that do: the answer reveals nothing about them.
"""

from __future__ import annotations

import ipaddress
import math
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from django.utils.translation import ngettext

from agents.base.errors import RateLimited
from agents.base.tokenizer import fold

MAX_COUNTS = 20_000
"""Counts that are kept; the one with the oldest failure is dropped first."""
FIRST_WAIT_S = 5.0


@dataclass(frozen=True, slots=True)
class AttemptLimit:
    """Allows ``free`` failures within ``within_s`` seconds. After that the source has to wait: with ``max_wait_s`` for
    a time that doubles with each failure, up to this; without it until the oldest no longer counts."""

    free: int
    within_s: float
    max_wait_s: float | None = None


DEVICE = AttemptLimit(10, 300)
PAIR = AttemptLimit(5, 300)
"""One account from one address."""
ADDRESS = AttemptLimit(20, 300, max_wait_s=60)
ACCOUNT = AttemptLimit(20, 3600, max_wait_s=60)
"""One account from all addresses: limits guesses that come from many of them."""


@dataclass(frozen=True, slots=True)
class LoginSource:
    """The source of an attempt to log in to an account. ``device`` is one that was logged in to this account before, ''
    for an unknown one."""

    account: str
    address: str
    device: str = ""

    def limits(self) -> Iterator[tuple[str, AttemptLimit]]:
        """The counts that its failures add to, with their limits."""
        if self.device:
            yield f"device {self.device}", DEVICE
            return
        account, address = _account_name(self.account), _address_name(self.address)
        yield f"{address} {account}", PAIR
        yield address, ADDRESS
        yield account, ACCOUNT


class LoginAttempts:
    """The failed attempts that still count. ``clock`` gives seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._failed: dict[str, list[float]] = {}

    def begin(self, source: LoginSource) -> None:
        """Count an attempt. Raises RateLimited, with Retry-After, when there were too many."""
        now = self._clock()
        with self._lock:
            wait = max(self._wait(name, limit, now) for name, limit in source.limits())
            if wait > 0:
                raise _too_many(math.ceil(wait))
            for name, _ in source.limits():
                # newest at the end, so that the oldest can be forgotten
                self._failed[name] = [*self._failed.pop(name, ()), now]
            while len(self._failed) > MAX_COUNTS:
                del self._failed[next(iter(self._failed))]

    def take_back(self, source: LoginSource) -> None:
        """Remove the last attempt, which did not fail."""
        with self._lock:
            for name, _ in source.limits():
                if self._failed.get(name):
                    self._failed[name].pop()

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._failed.clear()

    def _wait(self, name: str, limit: AttemptLimit, now: float) -> float:
        """Seconds until one more is allowed; 0 or less for now."""
        recent = [at for at in self._failed.get(name, ()) if at > now - limit.within_s]
        if name in self._failed:
            self._failed[name] = recent
        over = len(recent) - limit.free
        if over < 0:
            return 0.0
        if limit.max_wait_s is None:
            return recent[-limit.free] + limit.within_s - now
        return recent[-1] + min(FIRST_WAIT_S * 2.0**over, limit.max_wait_s) - now


def _account_name(name: str) -> str:
    return f"account {fold(name)[:150]}"


def _address_name(text: str) -> str:
    """The name under which an address counts. An IPv6 network of 64 bits is one household: its addresses count
    together."""
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
    message = ngettext(
        "Too many attempts. Try again in %(minutes)s minute.",
        "Too many attempts. Try again in %(minutes)s minutes.",
        minutes,
    )
    return RateLimited(message % {"minutes": minutes}, code="too_many_attempts", headers={"Retry-After": str(seconds)})


attempts = LoginAttempts()
"""The process's counter."""

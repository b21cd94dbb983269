"""How often a password may be wrong. A wrong one slows whoever sent it, not the account's owner.

A sender is a device that has been logged in to the account before, or else an address. A known device
has a count of its own, so nobody else can keep it out. For the others each account counts per
address; an address, and an account under guesses from many addresses, are slowed more and more, but
never closed.

Counted in this process only, which is what one server needs. An attempt counts as failed from its
beginning until it is taken back, so a hundred at once are not a hundred free ones. Names that do
not exist are counted like those that do: the answer tells nothing about them.
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

REMEMBERED = 20_000
"""Counts at most; the one that failed longest ago is forgotten first."""
FIRST_WAIT_S = 5.0


@dataclass(frozen=True, slots=True)
class Limit:
    """So many failures within so many seconds. After that one has to wait: with ``longest_s`` for a time
    that doubles with each more, up to this; without it until the oldest no longer counts."""

    free: int
    within_s: float
    longest_s: float | None = None


DEVICE = Limit(10, 300)
PAIR = Limit(5, 300)
"""One account from one address."""
ADDRESS = Limit(20, 300, longest_s=60)
ACCOUNT = Limit(20, 3600, longest_s=60)
"""From wherever: what bounds guesses at one account that come from many addresses."""


@dataclass(frozen=True, slots=True)
class Sender:
    """Who tries a password for an account. ``device`` is one that was logged in to this account before,
    '' for a stranger."""

    account: str
    address: str
    device: str = ""

    def limits(self) -> Iterator[tuple[str, Limit]]:
        """What its failures count for."""
        if self.device:
            yield f"device {self.device}", DEVICE
            return
        account, address = _account(self.account), _address(self.address)
        yield f"{address} {account}", PAIR
        yield address, ADDRESS
        yield account, ACCOUNT


class Attempts:
    """The failed attempts that still count. ``clock`` gives seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._failed: dict[str, list[float]] = {}

    def begin(self, sender: Sender) -> None:
        """Count an attempt. Raises RateLimited, with Retry-After, when there were too many."""
        now = self._clock()
        with self._lock:
            wait = max(self._wait(name, limit, now) for name, limit in sender.limits())
            if wait > 0:
                raise _too_many(math.ceil(wait))
            for name, _ in sender.limits():
                # newest at the end, so that the oldest can be forgotten
                self._failed[name] = [*self._failed.pop(name, ()), now]
            while len(self._failed) > REMEMBERED:
                del self._failed[next(iter(self._failed))]

    def take_back(self, sender: Sender) -> None:
        """The attempt begun last did not fail."""
        with self._lock:
            for name, _ in sender.limits():
                if self._failed.get(name):
                    self._failed[name].pop()

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._failed.clear()

    def _wait(self, name: str, limit: Limit, now: float) -> float:
        """Seconds until one more is allowed; 0 or less for now."""
        recent = [at for at in self._failed.get(name, ()) if at > now - limit.within_s]
        if name in self._failed:
            self._failed[name] = recent
        over = len(recent) - limit.free
        if over < 0:
            return 0.0
        if limit.longest_s is None:
            return recent[-limit.free] + limit.within_s - now
        return recent[-1] + min(FIRST_WAIT_S * 2.0**over, limit.longest_s) - now


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

"""Numbers of pages, kept for a while where they took long to count.

What took a tenth of a second is shown again for twenty times as long, at most ``NUMBERS_MAX_AGE_SECONDS``: however
large the store and however many its readers, counting one thing keeps a core busy for at most a twentieth of the
time. Requests for the same numbers at the same time wait for one count.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from django.conf import settings
from django.http import HttpRequest
from django.utils.translation import get_language

from agents.base.access import Actor, readable_scopes
from agents.uikit.links import at

Numbers = TypeVar("Numbers")

MIN_COST_S = 0.1
"""What is counted faster is counted anew each time."""
AGE_PER_COST = 20
"""How many times as long as it took to count them numbers are kept."""
LONG_S = 1.0
"""A page whose numbers took longer the last time is sent without them, to any browser."""
MAX_KEPT = 256


@dataclass(frozen=True, slots=True)
class Counted(Generic[Numbers]):
    """Numbers, how many whole seconds ago they were counted, and in how many they will be counted anew; 0 for now."""

    numbers: Numbers
    age_s: int
    renewed_in_s: int


class _Kept:
    """Numbers under a key, and until when they are shown; ``lock`` is held by who counts them."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.numbers: Any = None
        self.counted_at = self.ends_at = float("-inf")


class KeptNumbers:
    """The numbers that a process keeps; ``clock`` gives seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._kept: OrderedDict[Hashable, _Kept] = OrderedDict()
        self._lock = threading.Lock()
        self._costs: dict[str, float] = {}
        self._has_counted = False

    def counted(self, actor: Actor, kind: str, key: Hashable, count: Callable[[], Numbers]) -> Counted[Numbers]:
        """Return what ``count`` returns, or returned a while ago to somebody who may see the same. ``kind`` names
        numbers that cost alike; ``key`` tells them from all others of the kind in the same language. Raises as
        ``count`` does."""
        if not settings.NUMBERS_MAX_AGE_SECONDS:
            return Counted(count(), 0, 0)
        kept = self._entry((kind, key, get_language(), _sight(actor)))
        with kept.lock:
            began_at = self._clock()
            if began_at < kept.ends_at:
                return Counted(kept.numbers, int(began_at - kept.counted_at), int(kept.ends_at - began_at) + 1)
            numbers = kept.numbers = count()
            kept.counted_at = self._clock()
            kept.ends_at = kept.counted_at + self._max_age_s(kind, kept.counted_at - began_at)
            return Counted(numbers, 0, 0)

    def _max_age_s(self, kind: str, cost_s: float) -> float:
        if not self._has_counted:  # the first of the process loads numpy, which says nothing of the next
            self._has_counted = True
            return 0
        self._costs[kind] = cost_s
        return 0 if cost_s < MIN_COST_S else min(cost_s * AGE_PER_COST, settings.NUMBERS_MAX_AGE_SECONDS)

    def take_long(self, kind: str) -> bool:
        """Tell whether numbers of this kind took long the last time."""
        return self._costs.get(kind, 0) > LONG_S

    def forget(self) -> None:
        """Count everything anew: somebody has just changed what is counted, and will look."""
        with self._lock:
            self._kept.clear()

    def _entry(self, key: Hashable) -> _Kept:
        with self._lock:
            kept = self._kept.setdefault(key, _Kept())
            self._kept.move_to_end(key)
            if len(self._kept) > MAX_KEPT:
                self._kept.popitem(last=False)
            return kept


kept_numbers = KeptNumbers()
"""Those of this process."""


def come_later(request: HttpRequest, kind: str) -> bool:
    """Tell whether a page is sent before its numbers are counted. A browser with JavaScript, which has set its time
    zone as a cookie, fetches them; any other gets them with the page, or where they take long by a link."""
    return "tz" in request.COOKIES or (kept_numbers.take_long(kind) and "numbers" not in request.GET)


def url_with_numbers(request: HttpRequest) -> str:
    """Return the URL of a page with its numbers."""
    params = request.GET.copy()
    params["numbers"] = "1"
    return f"{at(request.path_info)}?{params.urlencode()}"


def _sight(actor: Actor) -> Hashable:
    """Return what is equal for actors that see the same rows."""
    if actor.is_admin:
        return "all"
    return actor.user_id, tuple(sorted(readable_scopes(actor)))

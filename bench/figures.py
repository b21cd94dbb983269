"""A row of the table: one figure of one case, and the target it is held to. Prints nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

CPU_SHARE = "% CPU"
"""The unit of CPU seconds in a second, which takes as many more on a slower machine as a time does."""
RATE, FOUND = "per s", "% found"
TIMES = {"µs", "ms", "s"}
SECOND = 0.63
"""The slowness of the second machine that targets were set on; that of the first is 1."""


@dataclass(frozen=True, slots=True)
class Target:
    """At most ``most``, in the row's unit. A time (in ms) with commits in it may take as long as
    the disk needs on top: ``commits`` times the measured fdatasync. ``set_at`` is the slowness
    (`bench.yardstick`) of the machine it was set on."""

    most: float
    commits: int = 0
    set_at: float = 1.0

    def allowed(self, fdatasync_ms: float) -> float:
        return self.most + self.commits * fdatasync_ms


@dataclass(frozen=True, slots=True)
class Row:
    """One figure. ``peer`` is Llama Stack 0.2.12 under the same load, in the same unit; ``note``
    says how the figure came about (how many, how far they spread); ``slowness`` is how fast the machine was meanwhile
    (`bench.yardstick`)."""

    what: str
    figure: str
    value: float
    unit: str
    target: Target | None = None
    peer: str = ""
    note: str = ""
    slowness: float = 1.0

    @property
    def key(self) -> str:
        """What tells the figure from all others."""
        return f"{self.what}: {self.figure}"

    @property
    def is_cpu(self) -> bool:
        """Whether it is of CPU time, which goes on only while the server has a core."""
        return "CPU" in self.figure

    @property
    def more_is_better(self) -> bool:
        return self.unit in (RATE, FOUND)

    @property
    def ratio(self) -> float:
        """The figure as it would be where the yardstick is 1; what is no matter of speed, as it is."""
        if self.unit == RATE:
            return self.value * self.slowness
        return self.value / self.slowness if self.is_time else self.value

    @property
    def is_time(self) -> bool:
        """Whether a slower machine makes the figure larger."""
        return self.unit == CPU_SHARE or self.unit.split(" ", 1)[0] in TIMES


@dataclass(frozen=True, slots=True)
class Spread:
    """Median and 95th percentile in milliseconds of ``count`` samples."""

    p50_ms: float
    p95_ms: float
    count: int

    def __str__(self) -> str:
        return f"p95 {number(self.p95_ms)} ms, n = {self.count:,}"


def number(value: float) -> str:
    """Three significant digits, and all of those before the point."""
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.3g}"


def spread(seconds: Sequence[float]) -> Spread:
    """Nearest-rank percentiles of at least one sample."""
    ordered = sorted(seconds)
    last = len(ordered) - 1
    p50, p95 = (ordered[round(share * last)] * 1000 for share in (0.5, 0.95))
    return Spread(p50, p95, len(ordered))


def latency(
    what: str, figure: str, seconds: Sequence[float], target: Target | None = None, *, peer: str = "", note: str = ""
) -> Row:
    """The median of times, with their spread in the note."""
    found = spread(seconds)
    return Row(what, figure, found.p50_ms, "ms", target, peer, "; ".join(filter(None, (str(found), note))))

"""The table: figures, targets, and by how much they are met; in Markdown, and as JSON.

A time may take "figure + commits times fdatasync", so the measured fdatasync stands above the table.
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Any

from bench.figures import Row, Spread, number

JSON = Any
HEAD = ("what", "figure", "measured", "target", "measured / target", "at the targets' speed", "Llama Stack", "how")
RIGHT = {2, 3, 4, 5, 6}
BEGIN, END = "<!-- table begins -->", "<!-- table ends -->"


@dataclass(slots=True)
class Report:
    """One run. ``skipped`` and ``failed`` give a reason by the case's name."""

    server: str
    disk: Spread
    pinned: bool = False
    quick: bool = False
    at: datetime = field(default_factory=lambda: datetime.now(UTC))
    rows: list[Row] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)

    def missed(self) -> list[Row]:
        """The rows over their target."""
        return [row for row in self.rows if row.target and not self.is_met(row)]

    def is_met(self, row: Row) -> bool:
        """Whether a row is within its target, the disk's share included."""
        return row.target is None or row.value <= row.target.allowed(self.disk.p50_ms)

    def there(self, row: Row) -> float:
        """Of a row with a target: what it would be on a machine as fast as the one that was set on."""
        if not (row.target and row.is_time):
            return row.value
        wait = row.target.commits * self.disk.p50_ms
        return (row.value - wait) * row.target.set_at / row.slowness + wait

    def met_there(self) -> int:
        """How many targets would be met at the speed they were set at."""
        return sum(self.there(row) <= row.target.allowed(self.disk.p50_ms) for row in self.rows if row.target)

    def markdown(self) -> str:
        lines = [*self._preamble(), "", *table([HEAD, *map(self._cells, self.rows)], RIGHT)]
        for title, reasons in (("Skipped", self.skipped), ("FAILED", self.failed)):
            lines += ["", *(f"- {title}: {name}: {reason}" for name, reason in reasons.items())] if reasons else []
        return "\n".join(lines)

    def as_json(self) -> str:
        rows = [asdict(row) | {"met": self.is_met(row) if row.target else None} for row in self.rows]
        whole: JSON = {
            "server": self.server,
            "machine": machine(),
            "at": self.at.isoformat(timespec="seconds"),
            "pinned": self.pinned,
            "quick": self.quick,
            "fdatasync_ms": {"p50": self.disk.p50_ms, "p95": self.disk.p95_ms},
            "rows": rows,
            "skipped": self.skipped,
            "failed": self.failed,
        }
        return json.dumps(whole, indent=1, ensure_ascii=False)

    def _preamble(self) -> list[str]:
        cores = "server and client each on a core of its own" if self.pinned else "server and client share the cores"
        sizes = "; quick: smaller sizes, not to be quoted" if self.quick else ""
        targets = sum(row.target is not None for row in self.rows)
        met = f"{targets - len(self.missed())} of {targets} targets met as measured"
        return [
            f"{self.server}, {self.at:%Y-%m-%d %H:%M} UTC, {machine()}, {cores}{sizes}.",
            f"fdatasync of a page takes {self.disk.p50_ms:.2f} ms here (p95 {self.disk.p95_ms:.2f}).",
            f"The same Python takes {self._slowness()} times as long here as where the first targets were set.",
            f"{met}, {self.met_there()} at the targets' speed.",
        ]

    def _slowness(self) -> str:
        found = [row.slowness for row in self.rows] or [1.0]
        return " to ".join(sorted({f"{min(found):.2f}", f"{max(found):.2f}"}))

    def _cells(self, row: Row) -> tuple[str, ...]:
        target = share = there = ""
        if row.target:
            allowed = row.target.allowed(self.disk.p50_ms)
            commits = f" + {row.target.commits} × {self.disk.p50_ms:.2f}" if row.target.commits else ""
            target = f"≤ {row.target.most:g}{commits} {row.unit}".rstrip()
            ratio = f"{row.value / allowed:.2f}" if allowed else ""
            share = f"{ratio} {'met' if self.is_met(row) else 'MISSED'}".lstrip()
            there = f"{self.there(row) / allowed:.2f}" if allowed else ""
        measured = f"{number(row.value)} {row.unit}".rstrip()
        return (row.what, row.figure, measured, target, share, there, row.peer, row.note)


def merged(rounds: Sequence[Report]) -> Report:
    """One report of several of the same: the medians of their figures, and how far these move."""
    if len(rounds) == 1:
        return rounds[0]
    by_key: dict[str, list[Row]] = {}
    for row in chain.from_iterable(report.rows for report in rounds):
        by_key.setdefault(row.key, []).append(row)
    skipped = dict(chain.from_iterable(report.skipped.items() for report in rounds))
    failed = dict(chain.from_iterable(report.failed.items() for report in rounds))
    return replace(rounds[0], rows=list(map(_median, by_key.values())), skipped=skipped, failed=failed)


def _median(rows: Sequence[Row]) -> Row:
    """The row in the middle (of two, the lower one)."""
    ordered = sorted(rows, key=lambda row: row.value)
    low, middle, high = ordered[0], ordered[(len(ordered) - 1) // 2], ordered[-1]
    spread = f"{len(rows)} rounds, {number(low.value)} to {number(high.value)}"
    return replace(middle, note="; ".join(filter(None, (middle.note, spread))))


def table(lines: Sequence[Sequence[str]], right: Collection[int]) -> list[str]:
    """A Markdown table whose columns line up in a terminal too; the first line is its head, ``right`` are the columns
    of numbers."""
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    rule = [("-" * (width - 1) + ":") if at in right else "-" * width for at, width in enumerate(widths)]
    return [_line(line, widths, right) for line in (lines[0], rule, *lines[1:])]


def _line(cells: Sequence[str], widths: Sequence[int], right: Collection[int]) -> str:
    padded = (
        cell.rjust(width) if at in right else cell.ljust(width)
        for at, (cell, width) in enumerate(zip(cells, widths, strict=True))
    )
    return f"| {' | '.join(padded)} |"


def machine() -> str:
    """The processor, its cores, the Python."""
    names = [line.partition(":")[2].strip() for line in _cpuinfo() if line.startswith("model name")]
    name = names[0] if names else platform.machine()
    return f"{name}, {os.cpu_count()} cores, Python {platform.python_version()}"


def _cpuinfo() -> list[str]:
    return Path("/proc/cpuinfo").read_text().splitlines()


def replace_table(path: Path, markdown: str) -> None:
    """Put a table between the two marker comments of a file. Raises ValueError without them."""
    before, begin, rest = path.read_text().partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"{path} has no place for the table: {BEGIN} … {END}")
    path.write_text(f"{before}{BEGIN}\n\n{markdown}\n\n{END}{after}")

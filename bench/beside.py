"""Our server and another one, measured in turn in one run: figure by figure ours, theirs, and how many times ours
theirs is. The ratio is the median over the rounds, for what the machine does to one it does to both."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median

from bench.figures import Row, number
from bench.report import Report, machine, merged, table

CASES = ("turns", "paced", "turn-once", "whole-turn", "client-tools", "responses", "lists")
"""What both have: the Agents API as Llama Stack has it, and OpenAI's Responses."""
HEAD = ("what", "figure", "ours", "theirs", "theirs / ours", "rounds")
RIGHT = {2, 3, 4}


def markdown(rounds: Sequence[tuple[Report, Report]]) -> str:
    """The table of (ours, theirs) of each round, and what one of them has not."""
    ours, theirs = rounds[0]
    lines = [
        f"{ours.server} beside {theirs.server}, {ours.at:%Y-%m-%d %H:%M} UTC, {machine()}, "
        "in turn on one core, client and endpoint on another.",
        f"fdatasync of a page takes {ours.disk.p50_ms:.2f} ms here (p95 {ours.disk.p95_ms:.2f}).",
        "",
        *table([HEAD, *_lines(rounds)], RIGHT),
    ]
    lacking = [
        f"- {report.server}, {title}: {name}: {reason}"
        for report in map(merged, zip(*rounds, strict=True))
        for title, reasons in (("has not", report.skipped), ("FAILED", report.failed))
        for name, reason in reasons.items()
    ]
    return "\n".join([*lines, *([""] if lacking else []), *lacking])


def _lines(rounds: Sequence[tuple[Report, Report]]) -> Iterator[tuple[str, ...]]:
    found = [({row.key: row for row in ours.rows}, {row.key: row for row in theirs.rows}) for ours, theirs in rounds]
    for key, row in {key: row for ours, theirs in found for key, row in (ours | theirs).items()}.items():
        ours, theirs = ([each[side][key].value for each in found if key in each[side]] for side in (0, 1))
        both = [(mine[key].value, other[key].value) for mine, other in found if key in mine and key in other]
        ratios = [other / mine for mine, other in both if mine]
        ratio = f"{number(median(ratios))} ×" if ratios else ""
        yield row.what, row.figure, _middle(ours, row), _middle(theirs, row), ratio, _spread(ratios)


def _spread(ratios: Sequence[float]) -> str:
    if len(ratios) < 2:
        return str(len(ratios) or "")
    return f"{len(ratios)}, {number(min(ratios))} to {number(max(ratios))}"


def _middle(values: Sequence[float], row: Row) -> str:
    return f"{number(median(values))} {row.unit}".rstrip() if values else ""

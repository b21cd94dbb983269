"""Sums and percentiles, of all rows and of groups of them."""

from __future__ import annotations

from collections.abc import Iterator

from agents.log_tools.wire.bounds import one_line
from agents.log_tools.wire.rows import NAME_CHARS, duration_text, time_text
from agents.logs.schemas.numbers import Group, Groups, Percentiles, Stats


def paragraphs(sentence: str, stats: Stats, groups: Groups | None) -> Iterator[str]:
    """Yield what was counted, the numbers of all of it, and those of each group."""
    yield f"{one_line(sentence, 400)}: {numbers_text(stats)}"
    if groups is None:
        return
    yield f"by {', '.join(groups.by)}:"
    yield from (f"  {_label(group)}: {numbers_text(group.stats)}" for group in groups.groups)
    if groups.more:
        yield f"  and {groups.more:,} more groups"


def numbers_text(stats: Stats) -> str:
    """Write the numbers of some rows on one line, without those that are nothing."""
    failed = f"{stats.failed:,} failed"
    if stats.failed and stats.failure_rate is not None:
        failed += f" ({stats.failure_rate:.1%} of those that ended)"
    facts = [
        f"{stats.count:,}",
        failed if stats.failed else "",
        f"{stats.stopped:,} stopped" if stats.stopped else "",
        f"{stats.live:,} running or waiting" if stats.live else "",
        _percentiles("duration", stats.duration_ms),
        _percentiles("first token", stats.ttft_ms),
        f"{stats.tokens.input_tokens:,}+{stats.tokens.output_tokens:,} tokens" if stats.tokens.total_tokens else "",
        f"${stats.cost_usd:,.4f}" if stats.cost_usd else "",
        f"{stats.steps:,} steps with {stats.errors:,} errors" if stats.steps else "",
    ]
    return ", ".join(filter(None, facts))


def _percentiles(name: str, times: Percentiles) -> str:
    if not times.count:
        return ""
    return f"{name} p50 {duration_text(times.p50)} p95 {duration_text(times.p95)} p99 {duration_text(times.p99)}"


def _label(group: Group) -> str:
    labels = [one_line(label, NAME_CHARS) or "(none)" for label in group.labels]
    if group.from_us is not None:
        labels.append(f"from {time_text(group.from_us)}")
    return ", ".join(labels)

"""What rows of several levels have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agents.logs.schemas.rows import TokenCounts
from agents.models.journal import Term
from agents.record.models.choices import TermKind


def tags(table: Any, column: str, keys: Sequence[int]) -> dict[int, list[str]]:
    """The tags of these rows, in order, without the pairs of their metadata."""
    pairs = list(table.objects.filter(**{f"{column}__in": list(keys)}).values_list(column, "term_id"))
    wanted = Term.objects.filter(pk__in={term for _, term in pairs}, kind=int(TermKind.TAG))
    names = dict(wanted.values_list("pk", "value"))
    found: dict[int, list[str]] = {}
    for key, term in pairs:
        if term in names:
            found.setdefault(key, []).append(names[term])
    return {key: sorted(each) for key, each in found.items()}


def milliseconds(microseconds: int | None) -> float | None:
    return None if microseconds is None else microseconds / 1000


def dollars(nano: int | None) -> float | None:
    return None if nano is None else nano / 1e9


def tokens(read: int, written: int, cached: int, reasoning: int) -> TokenCounts:
    return TokenCounts(
        input_tokens=read,
        output_tokens=written,
        cached_tokens=cached,
        reasoning_tokens=reasoning,
        total_tokens=read + written,
    )

"""The order of a list: by which amount, and where in it a page begins."""

from __future__ import annotations

from dataclasses import dataclass

from agents.base.errors import InvalidRequest

SORT_FIELDS = ("started", "duration", "waited", "tokens", "cost", "ttft")
"""The amounts that rows are sorted by; ``-`` before the name means the largest first."""


@dataclass(frozen=True, slots=True)
class SortOrder:
    """Rows by an amount, the smallest first or, ``descending``, the largest; those without it come last, and of equal
    ones the newest first."""

    field: str
    descending: bool

    @property
    def text(self) -> str:
        return f"{'-' if self.descending else ''}{self.field}"

    @property
    def is_by_time(self) -> bool:
        """Whether rows come in the order of their keys, or its reverse."""
        return self.field == "started"


NEWEST_FIRST = SortOrder("started", descending=True)


def read_order(text: str) -> SortOrder:
    """Read an order: ``-cost``, ``duration``; the newest first where nothing is said. Raises InvalidRequest."""
    if not text:
        return NEWEST_FIRST
    order = SortOrder(text.removeprefix("-"), text.startswith("-"))
    if order.field not in SORT_FIELDS:
        names = ", ".join(SORT_FIELDS)
        raise InvalidRequest(f"sort: '{text[:40]}' is none of {names}, or one of them behind a '-'.", param="sort")
    return order


@dataclass(frozen=True, slots=True)
class SortPosition:
    """A place in an order: that of the row with this key, which had this amount, None for none, when it was read. The
    row may have another by now, or be gone."""

    amount: int | None
    key: int

"""Limits of the admin's queries: counts stop at ten thousand, and a condition without an index looks at the
newest 200,000 rows. So a page costs the same at ten million rows as at ten thousand."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from django.core.paginator import Paginator

from agents.uikit import format

if TYPE_CHECKING:
    _Paginator = Paginator[Any]
else:  # generic in the stubs only
    _Paginator = Paginator

MAX_COUNTED = 10_000
MAX_SCANNED = 200_000


class CappedPaginator(_Paginator):
    """Paginate up to row `MAX_COUNTED`; ``capped`` says whether there are more."""

    object_list: Any

    @cached_property
    def counted(self) -> int:
        return int(self.object_list.order_by()[: MAX_COUNTED + 1].count())

    @cached_property
    def count(self) -> int:
        return min(self.counted, MAX_COUNTED)

    @property
    def capped(self) -> bool:
        return self.counted > MAX_COUNTED


def count_label(rows: Any) -> str:
    """The number of rows as text; it counts up to `MAX_COUNTED`."""
    total = int(rows.order_by()[: MAX_COUNTED + 1].count())
    return format.integer(total) if total <= MAX_COUNTED else f"{format.integer(MAX_COUNTED)}+"


def newest_rows(rows: Any) -> Any:
    """The newest `MAX_SCANNED` rows of a table with time-ordered keys, for a condition without an index."""
    keys = rows.model._base_manager.order_by("-pk").values_list("pk", flat=True)
    oldest = keys[MAX_SCANNED : MAX_SCANNED + 1].first()
    return rows if oldest is None else rows.filter(pk__gt=oldest)

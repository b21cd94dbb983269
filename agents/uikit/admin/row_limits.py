"""How far a list looks: counts end at ten thousand, and what no index serves ends at the newest
200,000 rows. At ten million rows a page then costs what it costs at ten thousand."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from django.core.paginator import Paginator

from agents.uikit import format

if TYPE_CHECKING:
    _Paginator = Paginator[Any]
else:  # generic in the stubs only
    _Paginator = Paginator

CAP = 10_000
REACH = 200_000


class CappedPaginator(_Paginator):
    """Pages up to row `CAP`; ``capped`` tells that there are more."""

    object_list: Any

    @cached_property
    def counted(self) -> int:
        return int(self.object_list.order_by()[: CAP + 1].count())

    @cached_property
    def count(self) -> int:
        return min(self.counted, CAP)

    @property
    def capped(self) -> bool:
        return self.counted > CAP


def counted(rows: Any) -> str:
    """How many rows there are, in words: no more than `CAP` are counted."""
    found = int(rows.order_by()[: CAP + 1].count())
    return format.whole(found) if found <= CAP else f"{format.whole(CAP)}+"


def newest(rows: Any) -> Any:
    """The newest `REACH` rows of a table with time-ordered keys, for a condition without an index."""
    keys = rows.model._base_manager.order_by("-pk").values_list("pk", flat=True)
    oldest = keys[REACH : REACH + 1].first()
    return rows if oldest is None else rows.filter(pk__gt=oldest)

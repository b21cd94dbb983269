"""Finds the items of a history that bring tools: those that clients sent as items, and what their searches found."""

from __future__ import annotations

from agents.base.models.terms import TermKind
from agents.base.store import terms
from agents.record.schemas.turns import ItemSnapshot
from agents.record.store.items import ItemQuery

BEGINNINGS = (b'{"type":"additional_tools"', b'{"type":"tool_search_output"')
"""What such an item begins with as it is stored."""
MAX_ITEMS = 64
"""Items of a history whose tools are offered, the last ones."""

_BEGINS = " OR ".join(f"SUBSTR(i.wire, 1, {len(beginning)}) = %s" for beginning in BEGINNINGS)
_ANSWERS = "i.step_id IN (SELECT s.id FROM agents_step s WHERE s.turn_id = i.turn_id AND s.tool_id = %s)"


def last(history: ItemQuery) -> list[ItemSnapshot]:
    """Return the last of these items, newest first. What a search found that a turn waited for is its step's."""
    search = terms.find(TermKind.TOOL, "tool_search")
    if search is None:
        return history.last(f"({_BEGINS})", BEGINNINGS, MAX_ITEMS)
    return history.last(f"({_BEGINS} OR {_ANSWERS})", [*BEGINNINGS, search], MAX_ITEMS)

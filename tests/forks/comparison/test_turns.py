"""Two recorded turns side by side."""

from __future__ import annotations

import pytest

from agents.base.store import keys
from agents.forks.schemas.comparison import Comparison
from agents.forks.store import comparison_input
from tests.loop.test_loop import tool
from tests.support.builders import make_turn

pytestmark = pytest.mark.django_db

ONE = 'call lookup {"query": "a"}\nthen\ncall lookup {"query": "b"}\nthen\nsay Done.'


def compared(first: str, second: str) -> Comparison:
    actor, tools = keys.local(), {**tool("lookup"), **tool("other")}
    one, two = (make_turn(actor, script, server_tools=tools).public_id for script in (first, second))
    return comparison_input.comparison(actor, one, two)


def kinds(found: Comparison) -> list[str]:
    return [pair.kind for pair in found.steps]


def test_inserting_one_tool_call_shows_one_insertion() -> None:
    more = 'call lookup {"query": "a"}\ncall other {"query": "new"}\nthen\ncall lookup {"query": "b"}\nthen\nsay Done.'
    found = compared(ONE, more)
    [inserted] = [pair for pair in found.steps if pair.kind == "inserted"]
    assert inserted.b is not None
    assert (inserted.type, inserted.b.name, inserted.a) == ("tool_execution", "other", None)
    assert (found.counts.inserted, found.counts.deleted) == (1, 0)
    back = compared(more, ONE)
    assert (back.counts.inserted, back.counts.deleted) == (0, 1)


def test_the_same_twice_is_the_same() -> None:
    found = compared(ONE, ONE)
    assert set(kinds(found)) == {"same"}
    assert all(text.same for text in found.texts)
    assert not found.in_order


def test_a_changed_argument_is_a_change_of_its_step() -> None:
    found = compared(ONE, ONE.replace('"b"', '"c"'))
    assert kinds(found) == ["same", "same", "changed", "changed", "same"]
    texts = {text.name: text for text in found.steps[3].texts}
    assert [piece.op for piece in texts["arguments"].pieces] == ["same", "deleted", "inserted", "same"]


def test_what_was_asked_and_answered_and_spent_is_compared() -> None:
    found = compared("say One.", "say Two words.")
    facts = {fact.name: fact for fact in found.facts}
    assert facts["status"].same
    assert (facts["output_tokens"].change or 0) > 0
    assert [text.name for text in found.texts] == ["input", "output"]
    assert not any(text.same for text in found.texts)

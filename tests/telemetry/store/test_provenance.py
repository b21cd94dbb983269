"""The reports behind a turn, read as far as they are asked for."""

from __future__ import annotations

import pytest

from agents.base.access import Actor
from agents.base.errors import NotFound
from agents.base.store import keys
from agents.record.models.turns import Turn
from agents.telemetry.store.external import provenance
from tests.support.pages.external_turns import tell
from tests.telemetry.reading import reports

pytestmark = pytest.mark.django_db


@pytest.fixture
def turn(db: None) -> int:
    me: Actor = keys.local()
    spans = [*reports.turn(1), *[reports.span(1, number, "step", parent=1) for number in range(10, 19)]]
    for some in (spans[:3], spans[3:4], spans[4:9], spans[9:]):
        tell(me, *some)
    [key] = Turn.objects.unscoped("test").values_list("pk", flat=True)
    return int(key)


@pytest.mark.parametrize("first", range(14))
@pytest.mark.parametrize("most", [1, 3, 100])
def test_some_spans_are_those_of_all(turn: int, first: int, most: int) -> None:
    whole = list(provenance.spans(turn))
    assert provenance.spans_page(turn, first, most) == (whole[first : first + most], 13)


def test_a_span_is_found_by_its_id(turn: int) -> None:
    for span in provenance.spans(turn):
        assert provenance.reports_of_span(turn, span.id) == [span]
    with pytest.raises(NotFound):
        provenance.reports_of_span(turn, "0000000000000063")

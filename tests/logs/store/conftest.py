"""A store of many turns, whose columns are sealed or not."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from agents.base.access import Actor
from agents.logs.models.segments import Segment
from agents.logs.store import segments
from tests.logs.store.many_turns import STATES, Many
from tests.support.cases import sparing


@pytest.fixture(params=sparing(STATES, "in between"))
def many(
    request: pytest.FixtureRequest, admin: Actor, make_user: Callable[..., Actor], monkeypatch: pytest.MonkeyPatch
) -> Many:
    """Random turns of two actors: not sealed, all sealed, or sealed at random moments while some were
    changed, deleted and came in late."""
    monkeypatch.setattr(segments, "SMALL_TURNS", 16)
    monkeypatch.setattr(segments, "LARGE_TURNS", 64)
    monkeypatch.setattr(segments, "MAX_STALE_TURNS", 4)
    made = Many(random.Random(7), [admin, make_user("ana", teams=["red"]), make_user("ben", teams=["blue"])])
    made.add(240)
    if request.param == "sealed":
        segments.seal_all()
        assert sum(Segment.objects.filter(live=True).values_list("turns", flat=True)) == 240
    if request.param == "in between":
        _disturb(made)
    return made


def _disturb(made: Many) -> None:
    for _ in range(12):
        upkeep: list[Callable[[], object]] = [made.change, made.delete, made.late, segments.maintain]
        for work in made.chance.sample(upkeep, 3):
            work()
    made.add(20)
    made.change()
    made.delete()
    made.late()
    assert Segment.objects.filter(live=True).count() > 1

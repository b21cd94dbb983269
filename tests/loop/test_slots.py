"""Who runs next, and who is told to come later: nobody's turns keep those of others from running."""

from __future__ import annotations

import random
from collections import Counter
from contextlib import suppress

import pytest

from agents.base.errors import RateLimited
from agents.loop.slots import Slot, Slots
from tests.conftest import actor

ANN, BEN, CLEO = (actor(name, user_id=number) for number, name in enumerate(("ann", "ben", "cleo"), start=1))


def taken(slots: Slots, who: object, agent: int | None = None) -> Slot:
    with slots.entered(who, agent) as slot:  # type: ignore[arg-type]  # an actor
        return slot


def test_one_caller_alone_leaves_a_fifth_free() -> None:
    slots = Slots(60, 100)
    mine = [taken(slots, ANN) for _ in range(70)]
    assert sum(slot.granted for slot in mine) == 48
    assert all(taken(slots, BEN).granted for _ in range(9))
    assert taken(slots, CLEO).granted


def test_a_single_slot_is_anybodys() -> None:
    slots = Slots(1, 10)
    first, second = taken(slots, ANN), taken(slots, BEN)
    assert (first.granted, first.queued, second.granted, second.queued) == (True, False, False, True)
    told: list[str] = []
    assert not slots.when_granted(second, lambda: told.append("second"))
    slots.leave(first)
    slots.leave(first)
    assert (second.granted, told) == (True, ["second"])
    assert not taken(slots, ANN).granted


def test_those_in_line_come_by_caller_and_then_by_agent() -> None:
    slots = Slots(1, 100)
    running = taken(slots, CLEO)
    line = [taken(slots, ANN, agent=1) for _ in range(4)]
    other = taken(slots, ANN, agent=2)
    ben = taken(slots, BEN)
    order = []
    names = {**{slot: f"ann {place}" for place, slot in enumerate(line)}, other: "ann's other", ben: "ben"}
    while names:
        slots.leave(running)
        [running] = [slot for slot in names if slot.granted]
        order.append(names.pop(running))
    assert order == ["ann 0", "ben", "ann's other", "ann 1", "ann 2", "ann 3"]


def test_a_full_line_refuses_who_fills_it_and_nobody_else() -> None:
    slots = Slots(1, 10)
    taken(slots, CLEO)
    mine = [taken(slots, ANN) for _ in range(8)]
    with pytest.raises(RateLimited) as refused:
        taken(slots, ANN)
    assert (refused.value.status, refused.value.headers["Retry-After"]) == (429, "5")
    assert not taken(slots, BEN).granted
    slots.leave(mine[0])
    assert not taken(slots, ANN).granted


def test_what_cannot_wait_is_refused_at_once() -> None:
    slots = Slots(1, 10)
    with slots.hold(ANN), pytest.raises(RateLimited), slots.hold(BEN):
        pytest.fail("there is no slot")
    with slots.hold(BEN):
        pass


def test_a_slot_is_left_where_its_turn_could_not_begin() -> None:
    slots = Slots(1, 10)
    with suppress(ValueError), slots.entered(ANN, None):
        raise ValueError
    assert taken(slots, BEN).granted


@pytest.mark.parametrize("seed", range(20))
def test_nobody_waits_while_there_is_room(seed: int) -> None:
    choose = random.Random(seed)
    slots = Slots(7, 9)
    held: list[Slot] = []
    for _ in range(300):
        if held and choose.random() < 0.5:
            slots.leave(held.pop(choose.randrange(len(held))))
        else:
            with suppress(RateLimited):
                held.append(taken(slots, choose.choice([ANN, BEN, CLEO]), choose.choice([None, 1, 2])))
        running = Counter(slot.caller for slot in held if slot.granted)
        assert running.total() <= 7
        assert sum(not slot.granted for slot in held) <= 9
        for slot in held:
            assert slot.granted or running[slot.caller] >= 4 * (7 - running.total())

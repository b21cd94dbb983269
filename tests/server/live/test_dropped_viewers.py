"""Viewers whose connection drops again and again, wherever it likes: each reads on from the last event it has,
and has in the end what everybody has, once and in order.
"""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from itertools import count

import pytest

from tests.server.live.test_following import busy_turn, plain
from tests.support.depth import deep
from tests.support.live.caller import Caller, Frame, Talk, script
from tests.support.live.held_model import HeldModel

pytestmark = [pytest.mark.server, pytest.mark.slow, pytest.mark.timeout(1200)]

VIEWERS = 3
WORDS = 60


def by_drops(talk: Talk, turn: str, seed: int) -> tuple[list[Frame], int]:
    """All frames of a turn, read by a viewer that is cut off after some of them; and how often it was. Now and
    then by a reset, and by either way of saying where it was."""
    chance, seen = random.Random(seed), list[Frame]()
    for drops in count():
        after = seen[-1].cursor if seen else ""
        headers = {"Last-Event-ID": after} if after and chance.randrange(2) else None
        with talk.following(turn, "" if headers else after, headers) as stream:
            left = chance.randrange(12)
            for frame in stream:
                seen.append(frame)
                left -= 1
                if left < 0:
                    break
            else:
                return seen, drops
    raise AssertionError


@pytest.mark.parametrize("seed", range(deep(2, 60)))
def test_viewers_of_a_running_turn_miss_nothing(caller: Caller, held: HeldModel, seed: int) -> None:
    talk, question = Talk(caller, model="held/held"), held.hold()
    turn, chance = talk.begin(question.question), random.Random(seed)
    with ThreadPoolExecutor(VIEWERS) as pool:
        viewers = [pool.submit(by_drops, talk, turn, seed * VIEWERS + number) for number in range(VIEWERS)]
        for number in range(WORDS):
            question.say(chance.choice((f"{number} ", "ü" * 3, "\n", "\u2028", "👩‍👧 ")))
        question.end("The end.")
        read = [viewer.result() for viewer in viewers]
    whole = plain(talk.frames(turn))
    assert [plain(frames) for frames, _ in read] == [whole] * VIEWERS
    assert len({cursor for cursor, _ in whole}) == len(whole)
    assert sum(drops for _, drops in read) > VIEWERS


def test_viewers_of_turns_of_several_rounds_miss_nothing(caller: Caller) -> None:
    for seed in range(deep(2, 40)):
        talk, turn = busy_turn(caller)
        seen, _ = by_drops(talk, turn, seed)
        assert plain(seen) == plain(talk.frames(turn))


def test_callers_that_are_reset_change_nothing(caller: Caller) -> None:
    """Whoever starts a turn may be gone at any moment: it is there, once, and ends."""
    talk = Talk(caller, toolgroups=["builtin::demo"])
    for seed in range(deep(6, 200)):
        chance = random.Random(seed)
        aside = talk.aside()
        with aside.saying(script("say Hm.", 'call get_weather {"city": "Oslo"}', "then", "repeat 30 word")) as stream:
            for _ in zip(stream, range(chance.randrange(1, 30)), strict=False):
                pass
        [made] = aside.turns()
        frames = aside.frames(made["turn_id"])
        assert frames[-1].type == "turn_complete"
        assert aside.turn(made["turn_id"])["status"] == "completed"

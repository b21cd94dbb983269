"""A turn as its page reads it: some steps, landmarks, the whole in little, and what stands beside it."""

from __future__ import annotations

import pytest

from agents.base.access import Actor
from agents.logs.store import adjacent_turns
from agents.query import parser
from agents.query.tree import SearchPhrase
from agents.record.models.turns import Step, Turn
from agents.record.store import read_turns, search_in_turn, step_pages
from tests.loop.test_loop import tool
from tests.record.store.test_large_values import made_with
from tests.support.builders import Recorded, make_agent, make_session, make_turn

pytestmark = pytest.mark.django_db


def looked(actor: Actor, rounds: int = 5, last: str = "say Done.") -> Recorded:
    script = "\n".join(f'say Step {n}\ncall lookup {{"query": "kettle {n}"}}\nthen' for n in range(rounds))
    return make_turn(actor, f"{script}\n{last}", server_tools=tool(), max_infer_iters=1_000)


def test_some_steps_are_those_of_the_whole_turn(admin: Actor) -> None:
    made = looked(admin)
    whole = read_turns.turn(admin, made.turn).steps
    assert step_pages.steps(made.turn, 3, 4) == whole[3:7]
    assert step_pages.steps_by_key(made.turn, [whole[8].key, whole[2].key]) == (whole[2], whole[8])
    assert read_turns.head(admin, made.turn).steps == ()


def test_a_step_of_another_turn_is_not_among_them(admin: Actor) -> None:
    made, other = looked(admin), looked(admin)
    assert step_pages.steps_by_key(made.turn, [read_turns.turn(admin, other.turn).steps[0].key]) == ()


def test_a_long_text_is_only_begun(admin: Actor) -> None:
    made = made_with(admin, "x" * 500_000)
    step = step_pages.steps(made.turn, 1, 1)[0]
    assert [(cut.pointer, cut.size) for cut in step.cuts] == [("/tool_responses/0/content", 500_000)]
    assert len(step.detail or b"") < 10_000
    assert b"".join(step_pages.detail(step.key)) == read_turns.turn(admin, made.turn).steps[1].detail


def test_landmarks_are_found_wherever_they_are(admin: Actor) -> None:
    made = looked(admin, last="fail 500 gone")
    assert step_pages.landmarks(made.turn) == step_pages.Landmarks(total=11, failed=10)
    assert step_pages.landmarks(looked(admin).turn) == step_pages.Landmarks(total=11)


def test_steps_under_way_in_a_span_of_time(admin: Actor) -> None:
    made = looked(admin)
    whole = read_turns.turn(admin, made.turn).steps
    span = whole[4].started_at + 1, whole[6].started_at
    expected = [step for step in whole if step.started_at <= span[1] and (step.completed_at or 0) >= span[0]]
    assert list(step_pages.within(made.turn, span, 0, 100)) == expected
    assert step_pages.count_within(made.turn, span) == len(expected)
    assert list(step_pages.within(made.turn, span, expected[1].number, 1)) == [expected[1]]


def test_depth_counts_the_steps_around_one(admin: Actor) -> None:
    made = looked(admin)
    whole = read_turns.turn(admin, made.turn).steps
    for inner, outer in ((3, 2), (4, 3), (5, 3)):
        Step.all_objects.filter(pk=whole[inner].key).update(parent_id=whole[outer].key)
    shown = step_pages.steps(made.turn, 3, 3)
    assert list(step_pages.depths(shown).values()) == [1, 2, 2]


def test_the_whole_in_little_counts_every_step_once(admin: Actor) -> None:
    made = looked(admin, last="fail 500 gone")
    turn = read_turns.turn(admin, made.turn)
    buckets = step_pages.overview(made.turn, (turn.started_at, turn.completed_at or 0), 10)
    assert sum(bucket.count for bucket in buckets) == 11
    assert sum(bucket.failed for bucket in buckets) == 1
    assert all(0 <= bucket.number < 10 for bucket in buckets)


# ------------------------------------------------------------------------------------------- search


def numbers(made: Recorded, *words: str) -> tuple[int, ...]:
    return search_in_turn.steps_with(made.turn, [SearchPhrase(text=word, prefix=True) for word in words]).numbers


def test_it_finds_the_steps_with_all_words(admin: Actor) -> None:
    made, other = looked(admin), looked(admin)
    assert 3 in numbers(made, "kettle", "1")
    assert numbers(made, "kett") == numbers(other, "kett") != ()
    assert numbers(made, "kettle", "nowhere") == ()
    assert search_in_turn.steps_with(made.turn, []) == search_in_turn.StepMatches()


def test_it_finds_words_behind_what_the_index_holds(admin: Actor) -> None:
    made = made_with(admin, "filler " * 100_000 + "The Needle is here. " + "x" * 300_000)
    assert numbers(made, "needle") == (1,)
    assert numbers(made, "needle", "filler") == (1,)
    assert numbers(made, "haystack") == ()


def test_letters_over_the_edge_of_two_blocks_are_found(admin: Actor) -> None:
    from agents.record.store.large_values import BLOCK

    made = made_with(admin, "." * (BLOCK - 3) + " needle " + "." * BLOCK)
    assert numbers(made, "needle") == (1,)


# --------------------------------------------------------------------------------------- neighbours


def test_turns_beside_one_in_its_session(admin: Actor) -> None:
    agent = make_agent(admin)
    session = make_session(admin, agent)
    first, second, third = (make_turn(admin, agent=agent, session=session).turn for _ in range(3))
    make_turn(admin)
    assert adjacent_turns.in_session(admin, session, second) == adjacent_turns.AdjacentTurns(first, third)
    assert adjacent_turns.in_session(admin, session, first) == adjacent_turns.AdjacentTurns(None, second)


def test_turns_beside_one_in_a_list(admin: Actor) -> None:
    made = [make_turn(admin, script).turn for script in ("say a", "fail 500 x", "say b", "fail 500 y", "say c")]
    query = parser.parse("status:failed", now_us=0)
    assert adjacent_turns.in_list(admin, query, made[2]) == adjacent_turns.AdjacentTurns(made[1], made[3])
    assert adjacent_turns.in_list(admin, parser.parse("", now_us=0), made[0]) == adjacent_turns.AdjacentTurns(
        None, made[1]
    )


def test_a_duration_is_ranked_among_enough_others_only(admin: Actor) -> None:
    agent = make_agent(admin)
    turns = [make_turn(admin, agent=agent).turn for _ in range(20)]
    for number, key in enumerate(turns):
        Turn.objects.unscoped("test").filter(pk=key).update(duration_us=number * 1000)
    assert adjacent_turns.rank(admin, agent.key, 15_000) == adjacent_turns.DurationRank(75, 20)
    assert adjacent_turns.rank(admin, make_agent(admin).key, 15_000) is None

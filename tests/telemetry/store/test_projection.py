"""What was reported becomes turns: growing, in any order, once, and among its owner's rows alone."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from agents.base.access import Actor
from agents.base.models.changes import ChangeKind
from agents.base.store import changes, keys
from agents.base.store.writer import writer
from agents.logs.store import listing, rows
from agents.query.parser import read
from agents.record.models.agents import Session
from agents.record.models.choices import StepStatus
from agents.record.models.turns import Step, Turn, TurnBody
from agents.record.store import tags
from agents.telemetry.models.traces import Trace
from agents.telemetry.reading.otlp import traces_from_json
from agents.telemetry.store.external import inbox, timeouts
from agents.telemetry.store.external.projector import projector
from tests.conftest import Clock
from tests.telemetry.reading import reports

pytestmark = pytest.mark.django_db


@pytest.fixture
def me(db: None) -> Actor:
    return keys.local()


def tell(actor: Actor, *spans: Any) -> None:
    """As if a request with these spans had come."""
    inbox.accept(actor, traces_from_json(reports.request(*spans)).spans)
    projector.wake()


def turns(actor: Actor, text: str = "") -> list[Any]:
    """The rows of the list, the oldest first."""
    found = listing.page(actor, read(text, now_us=0, level="turn"))
    return rows.of("turn", found.keys[::-1])


def steps(turn: Any) -> list[tuple[Any, ...]]:
    found = Step.objects.unscoped("test").filter(turn_id=turn.id).order_by("number")
    return list(found.values_list("name", "status", "started_at", "parent__name", "foreign_id"))


# ------------------------------------------------------------------------------------------ growing


def test_a_turn_grows_under_one_id(me: Actor) -> None:
    first, tool, last, root = reports.turn(1)
    tell(me, first)
    [running] = turns(me)
    assert running.status == "in_progress"
    assert [name for name, *_ in steps(running)] == ["gpt-4o"]
    [step] = Step.objects.unscoped("test").values_list("pk", flat=True)
    tell(me, tool, last)
    tell(me, root)
    [done] = turns(me)
    assert (done.id, done.status, done.agent_name) == (running.id, "completed", "forecaster")
    assert [name for name, *_ in steps(done)] == ["gpt-4o", "weather", "gpt-4o"]
    assert Step.objects.unscoped("test").filter(pk=step).exists()
    assert done.session_name == "talk-1"
    assert [agent for agent in Session.objects.unscoped("test").values_list("name", flat=True)] == ["talk-1"]


def test_the_order_does_not_matter(me: Actor, make_user: Callable[..., Actor]) -> None:
    spans = [*reports.turn(1), *reports.turn(2, "And tomorrow?", "Rain.", at=10.0)]
    tell(me, *spans)
    expected = told(turns(me))
    for number, order in enumerate(itertools.islice(itertools.permutations(spans), 0, 40_000, 5_003)):
        other = make_user(f"user {number}")
        for span in order:
            tell(other, span)
        tell(other, *order[:3])  # sent again
        assert told(turns(other)) == expected


def told(found: Iterable[Any]) -> list[Any]:
    """What does not depend on keys."""
    return [
        (
            *(
                turn.status,
                turn.agent_name,
                turn.session_name,
                turn.input_preview,
                turn.output_preview,
                turn.started_at,
            ),
            *(turn.duration_ms, turn.usage, turn.cost_usd, turn.model, steps(turn)),
        )
        for turn in found
    ]


def test_turns_stand_in_their_session_by_time(me: Actor) -> None:
    for trace, at in ((3, 30.0), (1, 10.0), (2, 20.0)):
        tell(me, *reports.turn(trace, f"at {at:g}", at=at))
    [session] = Session.objects.unscoped("test").all()
    found = Turn.objects.unscoped("test").filter(session=session).order_by("number")
    asked = [body.input_preview for body in TurnBody.objects.unscoped("test").order_by("turn__number")]
    assert asked == ["at 10", "at 20", "at 30"]
    assert [turn.number for turn in found] == [0, 1, 2]
    assert [turn.parent_id for turn in found] == [None, found[0].pk, found[1].pk]
    assert (session.turn_count, session.last_turn) == (3, found[2].pk)


def test_a_session_sums_its_turns_whatever_came_late(me: Actor) -> None:
    first, tool, last, root = reports.turn(1)
    for some in ((root,), (first, tool), (last,), (first,)):
        tell(me, *some)
        [session], [turn] = Session.objects.unscoped("test").all(), turns(me)
        assert (session.turn_count, session.input_tokens) == (1, turn.usage.input_tokens)
    assert session.input_tokens == 40


def test_a_conversation_named_late_takes_the_turn_along(me: Actor) -> None:
    first, _tool, _last, root = reports.turn(1)
    tell(me, first)
    made_up = Session.objects.unscoped("test").get()
    assert made_up.name == ""
    tell(me, root)
    session = Session.objects.unscoped("test").get()
    assert (session.name, session.turn_count) == ("talk-1", 1)


# ------------------------------------------------------------------------------------------ what people said


def test_what_was_said_of_it_stays(me: Actor) -> None:
    first, tool, last, root = reports.turn(1)
    tell(me, first, tool, root)
    [turn] = turns(me)
    writer.write(lambda: tags.add(["vip"], turns=[turn.id]))
    [number] = Step.objects.unscoped("test").filter(name="weather").values_list("pk", flat=True)
    writer.write(lambda: tags.add(["odd"], steps=[number]))
    tell(me, last)
    assert [row.id for row in turns(me, "tag:vip")] == [turn.id]
    assert turns(me)[0].tags == ["vip"]
    assert [row.id for row in turns(me, "step(tag:odd)")] == [turn.id]


# ------------------------------------------------------------------------------------------ others


def test_the_same_trace_of_two_users_is_two(me: Actor, make_user: Callable[..., Actor]) -> None:
    other = make_user("other")
    tell(other, *reports.turn(1))
    tell(me, *reports.turn(1))
    assert Turn.objects.unscoped("test").count() == 2
    assert [row.agent_name for row in turns(other)] == ["forecaster"]
    assert len({row.session_id for row in turns(me)}) == 2  # the local user sees all


def test_calls_of_one_conversation_find_each_other(me: Actor) -> None:
    """Model calls that are traces of their own, without a word of a session: what one answered stands in
    the next one's history."""
    chat: dict[str, Any] = {"gen_ai__operation__name": "chat", "gen_ai__request__model": "gpt-4o"}
    one, two = "It is eighteen degrees in Rome.", "Tomorrow it will rain, they say."
    asked = reports.text("user", "How warm is it?")
    both = f"{asked[:-1]}, {reports.text('assistant', one)[1:-1]}, {reports.text('user', 'And tomorrow?')[1:]}"
    first = reports.span(
        1, 1, "chat", **chat, gen_ai__input__messages=asked, gen_ai__output__messages=reports.text("assistant", one)
    )
    second = reports.span(
        2,
        1,
        "chat",
        at=5.0,
        **chat,
        gen_ai__input__messages=both,
        gen_ai__output__messages=reports.text("assistant", two),
    )
    for some in ((first, second), (second, first)):
        Turn.objects.unscoped("test").delete()
        Trace.objects.unscoped("test").delete()
        Session.objects.unscoped("test").delete()
        for span in some:
            tell(me, span)
        assert [(row.input_preview, row.output_preview) for row in turns(me)] == [
            ("How warm is it?", one),
            ("And tomorrow?", two),
        ]
        assert len({row.session_id for row in turns(me)}) == 1


def test_what_is_no_agents_doing_makes_no_turn(me: Actor) -> None:
    tell(me, reports.span(1, 1, "GET /", http__method="GET"))
    assert turns(me) == []
    assert Trace.objects.unscoped("test").get().turn_count == 0


# ------------------------------------------------------------------------------------------ no news


def test_what_has_no_end_is_interrupted_until_it_has_one(me: Actor, clock: Clock) -> None:
    first, tool, last, root = reports.turn(1)
    tell(me, first)
    assert timeouts.end_quiet_turns(clock.now_us) == 0
    clock.now_us += timeouts.QUIET_US + 1
    assert timeouts.end_quiet_turns(clock.now_us) == 1
    assert [row.status for row in turns(me)] == ["interrupted"]
    tell(me, tool, last, root)
    assert [row.status for row in turns(me)] == ["completed"]


# ------------------------------------------------------------------------------------------ in one pass


def keep(actor: Actor, *spans: Any) -> None:
    """As if a request with these spans had come, and nobody had looked at it yet."""
    inbox.accept(actor, traces_from_json(reports.request(*spans)).spans)


def test_a_pass_of_many_traces_is_as_good_as_many_passes(me: Actor, make_user: Callable[..., Actor]) -> None:
    """Turns of one session, told of in any order, some of them known before."""
    traces = [reports.turn(number, f"at {number}", at=number * 10.0) for number in (3, 1, 4, 2)]
    for spans in traces:
        tell(me, *spans)
    one = make_user("one")
    for spans in traces:
        keep(one, *spans)
    projector.wake()
    other = make_user("other")
    tell(other, *traces[0][:2])
    keep(other, *traces[1])
    keep(other, *traces[0][2:])
    keep(other, *traces[2], *traces[3])
    projector.wake()
    assert ordered(one) == ordered(other) == ordered(me)
    assert told(turns(one)) == told(turns(other))


def ordered(actor: Actor) -> list[Any]:
    """The only session of an actor, and how its turns follow each other."""
    session = Session.objects.unscoped("test").get(owner_id=actor.user_id)
    found = list(Turn.objects.unscoped("test").filter(session=session).order_by("number"))
    keys = [turn.pk for turn in found]
    behind = [keys.index(turn.parent_id) if turn.parent_id else None for turn in found]
    sums = (session.turn_count, session.input_tokens, session.output_tokens, session.created_at, session.updated_at)
    return [(turn.number, turn.started_at) for turn in found] + [behind, keys.index(session.last_turn or 0), sums]


def test_a_turn_in_the_middle_that_began_earlier_moves(me: Actor) -> None:
    for trace, at in ((1, 10.0), (2, 20.0), (3, 30.0)):
        tell(me, *reports.turn(trace, f"at {at:g}", at=at)[1:])
    tell(me, reports.span(2, 9, "chat m", parent=1, at=1.0, gen_ai__operation__name="chat"))
    asked = [body.turn.foreign_id for body in TurnBody.objects.unscoped("test").order_by("turn__number")]
    assert asked == [f"{trace:032x}" for trace in (2, 1, 3)]


def test_steps_that_have_not_changed_are_left_alone(me: Actor) -> None:
    """Whoever watches is told of what is new, and of the turn."""
    first, tool, last, root = reports.turn(1)
    tell(me, tool, last, root)
    before = changes.latest()
    tell(me, first)
    told_of = changes.after(before)
    assert told_of is not None
    changed = {key for kind, key in told_of.records if kind == ChangeKind.STEP}
    [turn] = turns(me)
    found = Step.objects.unscoped("test").filter(turn_id=turn.id).order_by("number")
    assert [step.name for step in found if step.pk in changed] == ["gpt-4o", "weather", "gpt-4o"]  # all moved down
    before = changes.latest()
    tell(me, reports.span(1, 5, "chat late", parent=1, at=2.9, takes=0.1, gen_ai__operation__name="chat"))
    told_of = changes.after(before)
    assert told_of is not None
    assert len([key for kind, key in told_of.records if kind == ChangeKind.STEP]) == 1
    assert [row.id for row in turns(me, "step(weather)")] == [turn.id]


def test_a_step_that_changes_is_found_by_its_new_words(me: Actor) -> None:
    chat: dict[str, Any] = {"gen_ai__operation__name": "chat", "gen_ai__request__model": "m"}
    root = reports.span(1, 1, "invoke_agent a", gen_ai__operation__name="invoke_agent")
    began = reports.span(
        1, 2, "chat m", parent=1, **chat, gen_ai__output__messages=reports.text("assistant", "perhaps")
    )
    del began["endTimeUnixNano"]
    ended = reports.span(
        1, 2, "chat m", parent=1, **chat, gen_ai__output__messages=reports.text("assistant", "most surely")
    )
    tell(me, began, root)
    assert turns(me, "step(surely)") == []
    tell(me, ended)
    [turn] = turns(me, "step(surely)")
    assert [status for _, status, *_ in steps(turn)] == [StepStatus.COMPLETED]


def test_a_call_whose_model_nobody_names_is_of_no_model(me: Actor) -> None:
    chat: dict[str, Any] = {"gen_ai__operation__name": "chat"}
    tell(me, reports.span(1, 1, "response", **chat), reports.span(1, 2, "chat m", **chat, gen_ai__request__model="m"))
    names = Step.objects.unscoped("test").order_by("name").values_list("name", "model__value")
    assert list(names) == [("m", "m"), ("response", None)]

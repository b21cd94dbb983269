"""A run that is taken over at any place of its log goes on as if nothing had happened: the model gets the same bytes,
no effect is repeated, and the turn ends the same."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec
import pytest

from agents.loop.cut_calls import COUNTS_AS_MADE, InDoubt
from agents.loop.inference.base import Chunk, InferenceRequest
from agents.loop.inference.scripted import ScriptedEndpoint
from agents.loop.loop import Loop
from agents.loop.protocols.retrieval import RetrievedContext
from agents.loop.protocols.tools import InDoubtRule, Repeat, ToolContext, ToolResult
from agents.loop.run import Compaction, PendingCall, Resume, Run
from agents.loop.stored_events import Diverged
from agents.record.schemas.content import ToolDef, ToolResponse, Usage
from agents.record.schemas.events import (
    RULE,
    Delta,
    Entry,
    Event,
    StepDecided,
    StepEnded,
    StepRepeated,
    StepStarted,
    ToolDetail,
    TurnTakenOver,
)
from agents.safety.providers.scripted import PhraseShield
from tests.loop.play import LOOKUP, deltas, events, items, make_run
from tests.support.depth import deep


@dataclass
class World:
    """What happened outside of the runs: what the model was asked, and what the tools did."""

    asked: list[bytes] = field(default_factory=list)
    effects: Counter[str] = field(default_factory=Counter)
    looked: Counter[str] = field(default_factory=Counter)


class NotingModel:
    """A model that notes what it is asked."""

    name = "scripted"

    def __init__(self, inner: ScriptedEndpoint, world: World) -> None:
        self._inner, self._world = inner, world

    async def stream(self, request: InferenceRequest) -> AsyncIterator[Chunk]:
        tools = [tool.model_dump(mode="json") for tool in request.tools]
        self._world.asked.append(msgspec.json.encode([list(map(bytes.decode, request.messages)), tools]))
        async for chunk in self._inner.stream(request):
            yield chunk


@dataclass
class Counted:
    """A tool whose calls are counted by their keys."""

    definition: ToolDef
    world: World
    repeat: Repeat
    group: str = "test"
    in_doubt: InDoubtRule = "wait"

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> ToolResult:
        self.world.effects[context.call_key] += 1
        failed = "it broke" if arguments.get("n") == 3 else None
        return ToolResult(content=f"{self.definition.name} {arguments}", error=failed)


class Memory:
    def __init__(self, world: World) -> None:
        self._world = world

    async def retrieve(self, query: str) -> RetrievedContext:
        self._world.looked["memory"] += 1
        return RetrievedContext(context="Kettles are blue.", vector_db_ids="kb", chunks=[{"document_id": "d1"}])


def script_of(choose: random.Random) -> str:
    """A script of a few rounds of tools, client's tools among them."""
    rounds = []
    for _ in range(choose.randint(0, 3)):
        lines = [f"think Hm {choose.random():.3f}."] if choose.random() < 0.3 else []
        lines += ["say Let me look it up for you."] if choose.random() < 0.6 else []
        names = choose.choices(["read", "idempotent"], k=choose.randint(1, 3))
        lines += [f'call {name} {{"n": {choose.randint(1, 4)}}}' for name in names]
        rounds.append("\n".join(lines))
    rounds.append(choose.choice(["say Here is what I found, in a few words.", "say ignore your rules", "fail 400 no"]))
    return "\nthen\n".join(rounds)


def run_of(choose: random.Random, world: World) -> Run:
    async def no_wait(_: float) -> None:
        await asyncio.sleep(0)

    tools = {name: Counted(ToolDef(name=name), world, name) for name in ("read", "idempotent")}
    return make_run(
        script_of(choose),
        inference=NotingModel(ScriptedEndpoint(sleep=no_wait), world),
        server_tools=tools,
        instructions=choose.choice(["", "Be brief."]),
        input_shields=[PhraseShield()] if choose.random() < 0.3 else [],
        output_shields=[PhraseShield()] if choose.random() < 0.3 else [],
        retriever=Memory(world) if choose.random() < 0.3 else None,
        compaction=Compaction(str.upper, choose.choice([20, 60, 100])) if choose.random() < 0.3 else None,
    )


def played(run: Run) -> list[Entry]:
    """All that is stored of a run in the end, and was not before."""

    async def collect() -> list[Entry]:
        loop = Loop(run)
        opening = loop.open(queued=bool(run.stored_events))
        return [*([] if run.stored_events else opening), *[entry async for entry in loop.events()]]

    return asyncio.run(collect())


def played_until_doubt(run: Run) -> list[Entry]:
    """What a run that somebody has to decide about adds to what is stored."""

    async def collect() -> list[Entry]:
        entries: list[Entry] = []
        loop = Loop(run)
        loop.open(queued=True)
        try:
            async for entry in loop.events():
                entries.append(entry)
        except InDoubt:
            return entries
        raise AssertionError("nothing is in doubt")

    return asyncio.run(collect())


def taken_over(run: Run, entries: Sequence[Entry], keys: int) -> Run:
    """The run as another process builds it, of which these entries are stored."""
    stored: list[Event] = events(entries)
    last = stored[-1]
    taken = TurnTakenOver(seq=last.seq + 1, at=last.at + 5, by="other (1)", cause="lost", idle_us=5)
    ended = {event.step for event in stored if isinstance(event, StepEnded)}
    typed: dict[tuple[int, str], str] = {}
    parts = 0
    for delta in deltas(entries):
        if delta.step not in ended:
            typed[delta.step, delta.channel] = typed.get((delta.step, delta.channel), "") + delta.text
            parts += 1
    fresh = iter(range(keys, keys + 1000))
    return replace(
        run,
        stored_events=[*stored, taken],
        typed_texts=typed,
        typed_parts=parts,
        new_key=lambda: next(fresh),
    )


def without_cuts(entries: Sequence[Entry]) -> list[tuple[Any, ...]]:
    """What a turn did, but for what was cut and done again."""
    cut = {event.step for event in events(entries) if isinstance(event, StepEnded) and event.status == "interrupted"}
    return [
        (event.type, getattr(event, "name", ""), getattr(event, "status", ""), getattr(event, "detail", None))
        for event in events(entries)
        if not isinstance(event, TurnTakenOver | StepRepeated) and getattr(event, "step", None) not in cut
    ]


@pytest.mark.parametrize("seed", range(deep(60, 2000)))
def test_it_goes_on_as_if_nothing_had_happened(seed: int) -> None:
    choose = random.Random(seed)
    world = World()
    run = run_of(choose, world)
    whole = played(run)
    asked, effects = list(world.asked), sum(world.effects.values())
    for cut in range(1, len(whole)):
        world.asked.clear()
        world.effects.clear()
        stored, later = whole[:cut], []
        if choose.random() < 0.3:  # a second process is lost as well
            second = taken_over(run, stored, keys=1 << 41)
            made = [second.stored_events[-1], *played(second)]
            stored = [*stored, *made[: choose.randint(1, len(made) - 1)]]
            world.asked.clear()
            world.effects.clear()
        again = taken_over(run, stored, keys=1 << 42)
        later = [again.stored_events[-1], *played(again)]
        log = [*stored, *later]

        assert [event.seq for event in events(log)] == list(range(len(events(log))))
        assert without_cuts(log) == without_cuts(whole)
        done = [event for event in events(stored) if isinstance(event, StepEnded) and event.status != "interrupted"]
        assert world.asked == asked[sum(event.step_type == "inference" for event in done) :]
        assert sum(world.effects.values()) == effects - sum(event.step_type == "tool_execution" for event in done)
        end, expected = events(log)[-1], events(whole)[-1]
        cuts = [event for event in events(log) if isinstance(event, StepEnded) and event.status == "interrupted"]
        spent = sum((event.usage for event in cuts if event.usage), Usage())
        changed = {"seq", "at", "usage"}
        assert end.model_dump(exclude=changed) == expected.model_dump(exclude=changed)
        assert end.usage == expected.usage + spent
        times = [event.at for event in events(log)]
        assert times == sorted(times)


def test_a_resumed_turn_goes_on_too() -> None:
    script = 'call lookup {"query": "x"}\nthen\ncall read {}\nthen\nsay It is 42, as far as I know.'
    world = World()
    tools = {"read": Counted(ToolDef(name="read"), world, "read")}
    first = played(make_run(script, client_tools=[LOOKUP], server_tools=tools))
    waiting, last = events(first)[-2:]
    call = waiting.detail.tool_calls[0]
    resume = Resume(
        response_number=2,
        responses=[ToolResponse(call_id=call.call_id, tool_name=call.tool_name, content="42")],
        pending=[PendingCall(waiting.step, call, waiting.at)],
        next_seq=last.seq + 1,
        next_step=waiting.number + 1,
        round=1,
        iterations=1,
        usage=Usage(),
    )
    keys = itertools.count(1 << 43)
    run = make_run(script, client_tools=[LOOKUP], server_tools=tools, resume=resume, earlier=items(first))
    run = replace(run, new_key=lambda: next(keys))
    whole = played(run)
    for cut in range(2, len(whole)):
        again = taken_over(run, whole[:cut], keys=1 << 41)
        log = [*whole[:cut], again.stored_events[-1], *played(again)]
        assert without_cuts(log) == without_cuts(whole)
        assert [event.seq for event in events(log)] == list(range(resume.next_seq, resume.next_seq + len(events(log))))


def writing(world: World, in_doubt: InDoubtRule = "wait") -> Run:
    tools = {"write": Counted(ToolDef(name="write"), world, "write", in_doubt=in_doubt)}
    return make_run('call write {"n": 1}\nthen\nsay Done, as you wished.', server_tools=tools)


def begun(whole: Sequence[Entry]) -> int:
    """How many entries there are up to the beginning of the first call."""
    starts = (
        index
        for index, entry in enumerate(whole)
        if isinstance(entry, StepStarted) and entry.step_type == "tool_execution"
    )
    return next(starts) + 1


def test_a_call_that_may_not_be_made_twice_is_in_doubt() -> None:
    world = World()
    run = writing(world)
    whole = played(run)
    cut = begun(whole)
    step = events(whole[:cut])[-1].step
    world.effects.clear()
    later = played_until_doubt(taken_over(run, whole[:cut], keys=1 << 41))
    assert [(event.type, event.step) for event in events(later)] == [("step.in_doubt", step)]
    assert not world.effects
    after = taken_over(run, whole[: cut + 1], keys=1 << 41)  # its end is stored
    assert without_cuts([*whole[: cut + 1], *played(after)]) == without_cuts(whole)
    assert not world.effects


@pytest.mark.parametrize(
    ("outcome", "content", "effects", "told"),
    [
        ("not_done", None, 1, "write {'n': 1}"),
        ("result", "It was the seventh.", 0, "It was the seventh."),
        ("done", "(made)", 0, "(made)"),
    ],
)
def test_somebodys_decision_ends_the_doubt(outcome: Any, content: str | None, effects: int, told: str) -> None:
    world = World()
    run = writing(world)
    whole = played(run)
    cut = begun(whole)
    step = events(whole[:cut])[-1]
    result = None if content is None else ToolResponse(call_id="", tool_name="", content=content)
    decided = StepDecided(seq=step.seq + 1, at=step.at + 1, step=step.step, outcome=outcome, by="ann", result=result)
    world.effects.clear()
    again = taken_over(run, [*whole[:cut], decided], keys=1 << 41)
    later = played(again)

    assert sum(world.effects.values()) == effects
    [detail] = [event.detail for event in events(later) if isinstance(event, StepEnded) and event.step == step.step]
    assert isinstance(detail, ToolDetail)
    assert detail.tool_responses[0].content == told
    assert detail.tool_responses[0].call_id == detail.tool_calls[0].call_id
    assert events(later)[-1].status == "completed"


@pytest.mark.parametrize(
    ("rule", "effects", "told"),
    [("done", 0, COUNTS_AS_MADE), ("not_done", 1, "write {'n': 1}")],
    ids=["made", "not"],
)
def test_the_rule_of_a_tool_decides_instead_of_somebody(rule: Any, effects: int, told: str) -> None:
    world = World()
    run = writing(world, rule)
    whole = played(run)
    cut = begun(whole)
    step = events(whole[:cut])[-1].step
    world.effects.clear()
    again = taken_over(run, whole[:cut], keys=1 << 41)
    later = [again.stored_events[-1], *played(again)]

    assert sum(world.effects.values()) == effects
    [decided] = [event for event in events(later) if isinstance(event, StepDecided)]
    assert (decided.step, decided.outcome, decided.by) == (step, rule, RULE)
    assert any(isinstance(event, StepRepeated) for event in events(later)) == bool(effects)
    [end] = [event for event in events(later) if isinstance(event, StepEnded) and event.step == step]
    assert isinstance(end.detail, ToolDetail)
    assert end.detail.tool_responses[0].content == told
    assert [event.seq for event in events([*whole[:cut], *later])] == list(range(len(events([*whole[:cut], *later]))))
    for lost in range(1, len(later)):  # the second process is lost as well, anywhere
        world.effects.clear()
        third = taken_over(run, [*whole[:cut], *later[:lost]], keys=1 << 42)
        assert events(played(third))[-1].status == "completed"


def test_a_decision_is_good_for_one_call() -> None:
    """The process that made the call again is lost as well: nobody knows what became of this one."""
    world = World()
    run = writing(world)
    whole = played(run)
    cut = begun(whole)
    step = events(whole[:cut])[-1]
    decided = StepDecided(seq=step.seq + 1, at=step.at + 1, step=step.step, outcome="not_done", by="ann")
    second = taken_over(run, [*whole[:cut], decided], keys=1 << 41)
    stored = [*second.stored_events, *played(second)]
    repeated = next(index for index, entry in enumerate(stored) if isinstance(entry, StepRepeated))
    world.effects.clear()
    played_until_doubt(taken_over(run, stored[: repeated + 1], keys=1 << 42))
    assert not world.effects


def test_a_run_that_does_not_repeat_what_is_stored_says_so() -> None:
    whole = played(make_run('call lookup {"query": "x"}\nthen\nsay Done.', client_tools=[LOOKUP]))
    other = make_run("say Something else.", input_shields=[PhraseShield()])
    with pytest.raises(Diverged):
        played(taken_over(other, whole[:2], keys=1 << 41))


def test_a_run_that_is_stopped_while_it_repeats_ends_all_that_is_open() -> None:
    whole = played(
        make_run("call read {}\nthen\nsay Done.", server_tools={"read": Counted(ToolDef(name="read"), World(), "read")})
    )
    stored = [entry for entry in whole if not isinstance(entry, Delta)][:4]
    loop = Loop(taken_over(make_run("say Done."), stored, keys=1 << 41))
    loop.open(queued=True)
    ended = loop.close("cancelled", reason="enough")
    open_steps = {event.step for event in stored if isinstance(event, StepStarted)}
    open_steps -= {event.step for event in stored if isinstance(event, StepEnded)}
    assert {event.step for event in ended if isinstance(event, StepEnded)} == open_steps
    assert [event.seq for event in ended] == [5, 6]

"""Fencing and takeover over random schedules: processes that die, are paused, cut off from the database, or whose
database is restarted, each at any moment. Whatever happens, each effect is made once and the turn ends.

The database is a model of what its statements do, and time is a number; who counts as gone is decided by the real
observer. An effect is made in the moment of the last look at one's own beat: what lies between the two in a real
process no store can see.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import pytest

from agents.base.store.processes import GRACE_S, Observer, SignOfLife
from tests.support.depth import deep

LEASE_S = 5.0
STEPS = 2
CALLS = range(STEPS)


@dataclass
class Row:
    """A process as the table has it."""

    beat: int = 0
    ended: bool = False
    server: int = 0


@dataclass
class Database:
    """The tables, and the locks that connections hold. ``start`` counts the starts of the server."""

    processes: dict[str, Row] = field(default_factory=dict)
    locks: dict[str, int] = field(default_factory=dict)
    start: int = 0
    owner: str = ""
    epoch: int = 0
    begun: set[int] = field(default_factory=set)
    done: set[int] = field(default_factory=set)
    decided: dict[int, bool] = field(default_factory=dict)
    in_doubt: bool = False
    ended: bool = False

    def is_orphaned(self) -> bool:
        row = self.processes.get(self.owner)
        return not self.ended and not self.in_doubt and (row is None or row.ended)


@dataclass
class Run:
    """What a process knows of the turn that it runs."""

    epoch: int
    step: int
    begun: bool
    acted: bool = False


class Process:
    """One start of a process."""

    def __init__(self, number: int, database: Database) -> None:
        self.number, self.database = number, database
        self.starts = 0
        self.begin()

    def begin(self) -> None:
        self.starts += 1
        self.id = f"{self.number}-{self.starts}"
        self.connection = self.starts * 100 + self.number
        self.observer = Observer(LEASE_S)
        self.run: Run | None = None
        self.confirmed = float("-inf")
        self.dead = self.paused = self.cut_off = False
        self.database.processes[self.id] = Row()

    def die(self) -> None:
        self.dead = True
        self.lose_connection()

    def lose_connection(self) -> None:
        locks = self.database.locks
        for name in [name for name, held_by in locks.items() if held_by == self.connection]:
            del locks[name]
        self.connection += 10_000

    # ------------------------------------------------------------------------------------ what it does

    def beat(self, now: float) -> None:
        row = self.database.processes[self.id]
        if row.ended:  # it has lost what it ran
            self.run = None
            self.starts += 1
            self.id = f"{self.number}-{self.starts}"
            row = self.database.processes[self.id] = Row()
        if self.id not in self.database.locks:
            self.database.locks[self.id] = self.connection
            row.server = self.database.start
        row.beat += 1
        self.confirmed = now

    def look(self, now: float) -> None:
        database = self.database
        signs = [
            SignOfLife(name, row.beat, name in database.locks, row.server == database.start)
            for name, row in database.processes.items()
            if not row.ended and name != self.id
        ]
        for sign in self.observer.look(now, signs):
            row = database.processes[sign.process]
            if row.beat == sign.beat:
                row.ended = True

    def claim(self) -> None:
        database = self.database
        if self.run is not None or not database.is_orphaned():
            return
        database.epoch += 1
        database.owner = self.id
        step = len(database.done)
        self.run = Run(database.epoch, step, begun=step in database.begun)
        if self.run.begun and database.decided.get(step) is None:
            database.in_doubt, database.owner, self.run = True, "", None
        elif self.run.begun and database.decided[step]:
            self.run.acted = True  # somebody has said what came of it
        else:
            self.run.begun = False  # the call is made again, once that is stored

    def go_on(self, now: float, effects: list[int]) -> None:
        """Do the next thing of the turn that it runs."""
        run, database = self.run, self.database
        if run is None:
            return
        if run.begun and not run.acted:  # an effect outside, which no lease of the database can stop
            if now - self.confirmed < GRACE_S:
                effects.append(run.step)
                run.acted = True
            return
        if self.cut_off:
            return
        if run.epoch != database.epoch:  # its write is refused
            self.run = None
        elif run.step == STEPS:
            database.ended, self.run = True, None
        elif not run.begun:
            database.begun.add(run.step)
            database.decided.pop(run.step, None)  # what was decided before says nothing of this call
            run.begun = True
        else:
            database.done.add(run.step)
            run.step, run.begun, run.acted = run.step + 1, False, False


class Schedule:
    """One random schedule over three processes."""

    def __init__(self, choose: random.Random) -> None:
        self.choose, self.now = choose, 0.0
        self.database = Database()
        self.processes = [Process(number, self.database) for number in range(3)]
        self.effects: list[int] = []

    def play(self) -> None:
        for _ in range(self.choose.randint(20, 120)):
            self._disturb()
            self._act()
        for process in self.processes:
            process.paused = process.cut_off = False
            if process.dead:
                process.begin()
        for _ in range(400):
            self._act()
            if self.database.ended:
                return

    def _disturb(self) -> None:
        process, kind = self.choose.choice(self.processes), self.choose.random()
        if kind < 0.04:
            process.begin() if process.dead else process.die()
        elif kind < 0.12:
            process.paused = not process.paused
        elif kind < 0.18:
            process.cut_off = not process.cut_off
            process.lose_connection()
        elif kind < 0.2:
            self.database.start += 1
            for other in self.processes:
                other.lose_connection()

    def _act(self) -> None:
        self.now += self.choose.choice((0.01, 0.1, 0.4, 0.7, 1.0))
        process = self.choose.choice(self.processes)
        if process.dead or process.paused:
            return
        for kind in self.choose.sample(("beat", "look", "claim", "go on", "go on"), self.choose.randint(1, 5)):
            if kind == "go on":
                process.go_on(self.now, self.effects)
            elif process.cut_off:
                continue
            elif kind == "beat":
                process.beat(self.now)
            elif kind == "look":
                process.look(self.now)
            else:
                process.claim()
        if self.database.in_doubt and self.choose.random() < 0.3:
            self._decide()

    def _decide(self) -> None:
        """Somebody looks whether the call in doubt was made."""
        step = len(self.database.done)
        self.database.decided[step] = step in self.effects
        self.database.in_doubt = False
        self.database.epoch += 1


@pytest.mark.parametrize("seed", range(4))
def test_each_effect_is_made_once_and_the_turn_ends(seed: int) -> None:
    _check(seed, 1_000)


@pytest.mark.slow
@pytest.mark.timeout(deep(900, 7200))
@pytest.mark.parametrize("seed", range(100, 104))
def test_so_it_is_over_very_many_schedules(seed: int) -> None:
    _check(seed, deep(12_000, 250_000))


def _check(seed: int, count: int) -> None:
    choose = random.Random(seed)
    for number in range(count):
        schedule = Schedule(choose)
        schedule.play()
        assert sorted(schedule.effects) == list(CALLS), number
        assert schedule.database.ended, number

"""``python -m bench.scale``: one PostgreSQL with many processes, played in virtual time on figures that were measured.

Nothing is run: what a turn, a message and the chores of a process take of the database is taken from the cases `fleet`
and `write-ahead`, the rest from the product's constants. `docs/operations/scale.md` says what follows.
"""

from __future__ import annotations

import argparse
import heapq
import random
from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt

RING_S, RINGS_PER_S = 0.025, 100
"""As `agents.base.feed_reader` has them."""
CHORES_S = 0.0047
"""CPU of the database for each process and second in which nothing is done: 114 ms for 24."""
COMMITS, TURN_S = 3, 0.0036
"""Of a turn without tools: its commits (two, and one while it is typed), and the CPU of the database for all of it."""
READ_S = 0.00034
"""CPU of the database for a process that was rung and reads the feed."""
DELIVERY_S = 0.000012
"""CPU of the database for a message, for each process that gets it (10 to 100 listeners: 16 to 12 µs)."""
OWN_CONNECTIONS, MAX_CONNECTIONS = 14, 16
"""Of each process, besides the pool; the pool."""
STEP_BYTES = 6_300
"""A step on PostgreSQL with all that belongs to it, in turns of three steps and answers of 900 characters."""
PLAYED_S = 4.0


@dataclass(frozen=True, slots=True)
class Machine:
    """The database's: its cores, and the seconds in which its log is on disk."""

    cores: int
    flush_s: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the database has to do, in cores, by what it is for; and how long a commit takes, in seconds."""

    turns: float
    feed: float
    messages: float
    chores: float
    commit_p50_s: float
    commit_p95_s: float

    @property
    def cores(self) -> float:
        return self.turns + self.feed + self.messages + self.chores


def rings_a_second(processes: int, turns_a_second: float) -> float:
    """Rings of all processes together: each rings at most once in `RING_S`, and more rarely the more it hears."""
    most = processes * min(1 / RING_S, COMMITS * turns_a_second)
    return RINGS_PER_S * (sqrt(1 + 4 * most / RINGS_PER_S) - 1) / 2  # x (1 + x / RINGS_PER_S) = most


def play(processes: int, turns_a_second: float, machine: Machine, seed: int = 1) -> Outcome:
    """Let so many processes run so many turns a second, each."""
    chance, rings = random.Random(seed), rings_a_second(processes, turns_a_second)
    reads = processes * min(rings, 1 / RING_S)
    jobs = sorted(
        [
            *_arrivals(chance, processes * turns_a_second * COMMITS, lambda: (TURN_S / COMMITS, True)),
            *_arrivals(chance, reads, lambda: (READ_S, False)),
            *_arrivals(chance, rings, lambda: (DELIVERY_S * processes, False)),
            *_arrivals(chance, processes / 0.75, lambda: (CHORES_S * 0.75, False)),
        ]
    )
    waits = sorted(_commit_times(jobs, machine))
    return Outcome(
        processes * turns_a_second * TURN_S,
        reads * READ_S,
        rings * processes * DELIVERY_S,
        processes * CHORES_S,
        waits[len(waits) // 2],
        waits[len(waits) * 95 // 100],
    )


Job = tuple[float, float, bool]
"""When it comes, its CPU seconds, and whether it is a commit."""


def _arrivals(chance: random.Random, rate: float, make: Callable[[], tuple[float, bool]]) -> list[Job]:
    at, found = chance.expovariate(rate), []
    while at < PLAYED_S:
        found.append((at, *make()))
        at += chance.expovariate(rate)
    return found


def _commit_times(jobs: list[Job], machine: Machine) -> list[float]:
    """Seconds from each commit's coming until it is on disk: first a core, first come first served, then the log, which
    takes all that wait in one go."""
    free = [0.0] * machine.cores
    done: list[tuple[float, float]] = []
    for at, cpu_s, is_commit in jobs:
        end = max(heapq.heappop(free), at) + cpu_s
        heapq.heappush(free, end)
        if is_commit:
            done.append((end, at))
    done.sort()
    waits, log_free, position = [], 0.0, 0
    while position < len(done):
        begin = max(log_free, done[position][0])
        log_free = begin + machine.flush_s
        while position < len(done) and done[position][0] <= begin:
            waits.append(log_free - done[position][1])
            position += 1
    return waits


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.scale", description=__doc__.splitlines()[0])
    parser.add_argument("--cores", type=int, default=16, help="of the database")
    parser.add_argument("--flush-ms", type=float, default=1.0, help="until its log is on disk")
    parser.add_argument("--turns", type=float, default=10, help="a second, of each process")
    options = parser.parse_args()
    machine = Machine(options.cores, options.flush_ms / 1000)
    print(
        f"{options.cores} cores, a flush of {options.flush_ms:g} ms, {options.turns:g} turns a second of each process"
    )
    print("| processes | turns | feed | messages | chores | cores in use | commit, p50 | p95 | connections |")
    print("| --: | --: | --: | --: | --: | --: | --: | --: | --: |")
    for processes in (1, 3, 10, 30, 100, 200, 400):
        found = play(processes, options.turns, machine)
        used = (found.turns, found.feed, found.messages, found.chores)
        cells = [*(f"{cores:.2f}" for cores in used), f"{100 * found.cores / machine.cores:.0f} %"]
        if found.cores < machine.cores:
            cells += [f"{1000 * found.commit_p50_s:.1f} ms", f"{1000 * found.commit_p95_s:.1f} ms"]
        else:
            cells += ["grows", "grows"]
        print(f"| {processes} | {' | '.join(cells)} | {processes * (OWN_CONNECTIONS + MAX_CONNECTIONS):,} |")
    print(f"1,000,000,000 steps: {STEP_BYTES / 1000:.1f} TB")


if __name__ == "__main__":
    main()

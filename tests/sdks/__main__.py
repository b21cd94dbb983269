"""The command: every SDK, or those named, and a table of what came of them. Its status is 1 where something
differs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from tests.sdks import facts, trial
from tests.sdks.trial import HERE, Expected, Seen
from tests.support.live.process import running
from tests.support.live.program_environments import Program, programs
from tests.support.live.program_trials import are_known, say, tried


@dataclass
class Outcome:
    """What came of one SDK: ``wrong`` is empty where all is as expected, ``excused`` tells what it does not say."""

    sdk: Program
    seen: Seen = field(default_factory=lambda: Seen([], []))
    wrong: list[str] = field(default_factory=list)
    excused: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def row(self) -> str:
        steps = sum(len(turn.steps) for turn in self.seen.turns)
        verdict = "DIFFERS" if self.wrong else "as expected"
        cells = f"{self.sdk.name:<28}{self.sdk.version:<52}{len(self.seen.turns):>5}{steps:>6}"
        return f"{cells}  {verdict:<12}{self.seconds:>6.1f} s"


def outcome_of(sdk: Program) -> Outcome:
    """An SDK, tried; whatever happens is told in the outcome."""
    outcome = Outcome(sdk)
    wrong, outcome.seconds = tried(sdk, partial(_try, outcome))
    outcome.wrong += [wrong] if wrong else []
    return outcome


def _try(outcome: Outcome, command: list[str], folder: Path) -> None:
    expected = Expected.of(outcome.sdk.name)
    with running(folder, {"KEEP_UNSTORED": "1"}) as server:
        trial.run(command, expected, server, folder)
        outcome.seen = trial.seen(server, expected, _enough(expected))
    outcome.wrong += _wrong(expected, outcome.seen)
    outcome.excused += [f"{name}: {reason}" for name, reason in expected.missing.items()]


def _enough(expected: Expected) -> Callable[[Seen], bool]:
    return lambda seen: not list(_wrong(expected, seen))


def _wrong(expected: Expected, seen: Seen) -> Iterator[str]:
    """The facts that are otherwise, and those that are there although they are said to be missing."""
    found = facts.of(expected, seen)
    for fact in found:
        if fact.holds and fact.name in expected.missing:
            yield f"{fact.name}: is there, though expected.toml says it is missing"
        elif not fact.holds and fact.name not in expected.missing:
            yield f"{fact.name}: wanted {fact.wanted!r}, found {fact.found!r}"
    if len(found) > 1:
        for name in expected.missing.keys() - {fact.name for fact in found}:
            yield f"{name}: expected.toml calls it missing, and there is no such fact"


def main(chosen: list[str]) -> int:
    known = programs(HERE, "sdk")
    if not are_known(chosen, known):
        return 2
    outcomes = []
    say(f"{'SDK':<28}{'version':<52}{'turns':>5}{'steps':>6}  {'verdict':<12}{'time':>8}")
    for name in chosen or known:
        outcomes.append(outcome_of(known[name]))
        say(outcomes[-1].row())
        for line in outcomes[-1].wrong:
            say(f"    {line}")
        for line in outcomes[-1].excused:
            say(f"    does not say {line}")
    return 1 if any(outcome.wrong for outcome in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""The command: every SDK, or those named, and a table of what came of them. Its status is 1 where something
differs. With ``--record FOLDER`` it also writes what each of them sent."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from tests.sdks import facts, trial
from tests.sdks.recording import recording
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


def outcome_of(sdk: Program, record: Path | None = None) -> Outcome:
    """An SDK, tried; whatever happens is told in the outcome. What it sent is written to the folder ``record``."""
    outcome = Outcome(sdk)
    wrong, outcome.seconds = tried(sdk, partial(_try, outcome, record))
    outcome.wrong += [wrong] if wrong else []
    return outcome


def _try(outcome: Outcome, record: Path | None, command: list[str], folder: Path) -> None:
    expected = Expected.of(outcome.sdk.name)
    with running(folder, {"KEEP_UNSTORED": "1"}) as server:
        if record is None:
            waiting = trial.run(command, expected, server, folder)
        else:
            with recording(server) as recorded:
                waiting = trial.run(command, expected, server, folder)
            recorded.write(record / f"{outcome.sdk.name}__two-turns.jsonl")
        outcome.seen = trial.seen(server, expected, waiting, _enough(expected))
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


def main(words: list[str]) -> int:
    given = _arguments(words)
    known = programs(HERE, "sdk")
    if not are_known(given.names, known):
        return 2
    if given.record:
        given.record.mkdir(parents=True, exist_ok=True)
    outcomes = []
    say(f"{'SDK':<28}{'version':<52}{'turns':>5}{'steps':>6}  {'verdict':<12}{'time':>8}")
    for name in given.names or known:
        outcomes.append(outcome_of(known[name], given.record))
        say(outcomes[-1].row())
        for line in outcomes[-1].wrong:
            say(f"    {line}")
        for line in outcomes[-1].excused:
            say(f"    does not say {line}")
    return 1 if any(outcome.wrong for outcome in outcomes) else 0


def _arguments(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m tests.sdks")
    parser.add_argument("names", nargs="*", metavar="NAME", help="an SDK, by its folder; all without one")
    told = "a folder for captures of what the SDKs send: NAME__two-turns.jsonl"
    parser.add_argument("--record", type=Path, metavar="FOLDER", help=told)
    return parser.parse_args(words)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""What figures were when they were last recorded, and in words what has become worse since.

Compared are ratios: of times and CPU, those to the yardstick that was timed beside each of them (`bench.yardstick`),
for one machine is twice as fast as another, and as itself an hour ago. A figure whose ratio moved by more than a tenth
between the rounds in which it was recorded says nothing, and is not compared.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from math import inf
from pathlib import Path
from statistics import median

from bench.figures import Row, number
from bench.report import Report, machine

PATH = Path(__file__).with_name("recorded.json")
TENTH = 0.1
"""By how much a ratio may be worse than recorded, and may have moved when it was."""
NAMED = 10
"""How many are listed by name."""
FEWEST = 3
"""Rounds without which nobody knows how far a figure moves."""


@dataclass(frozen=True, slots=True)
class Figure:
    """``moved`` is (largest - smallest) / median of its rounds."""

    ratio: float
    moved: float

    @property
    def holds(self) -> bool:
        return self.moved <= TENTH


@dataclass(frozen=True, slots=True)
class Recorded:
    """Figures by their rows' keys."""

    figures: dict[str, Figure]
    at: str = ""
    machine: str = ""


def figures_of(rounds: Sequence[Report]) -> dict[str, Figure]:
    """The ratios of several rounds of the same. What is nothing, or was not measured in each round, is left out."""
    found: dict[str, list[float]] = {}
    for row in (row for report in rounds for row in report.rows):
        found.setdefault(row.key, []).append(row.ratio)
    return {
        key: Figure(float(f"{median(ratios):.4g}"), round((max(ratios) - min(ratios)) / median(ratios), 3))
        for key, ratios in found.items()
        if len(ratios) == len(rounds) and min(ratios) > 0
    }


def record(rounds: Sequence[Report], path: Path = PATH) -> None:
    """Put the figures of these rounds among those that are recorded, in the place of the same before."""
    figures = read(path).figures | figures_of(rounds)
    whole = Recorded(dict(sorted(figures.items())), f"{rounds[0].at:%Y-%m-%d}", machine())
    path.write_text(json.dumps(asdict(whole), indent=1, ensure_ascii=False) + "\n")


def read(path: Path = PATH) -> Recorded:
    """What is recorded; nothing where there is no file."""
    if not path.exists():
        return Recorded({})
    kept = json.loads(path.read_text())
    return Recorded({key: Figure(**figure) for key, figure in kept["figures"].items()}, kept["at"], kept["machine"])


def compared(rows: Iterable[Row], recorded: Recorded, *, whole: bool) -> Iterator[str]:
    """Sentences: whether another machine was recorded; each figure that is more than a tenth worse; how many are not;
    what cannot be compared, and, when the ``whole`` bench ran, what was not measured any more."""
    if recorded.figures and recorded.machine != machine():
        yield (
            f"Recorded on another machine ({recorded.machine}, {recorded.at}): between processors ratios differ by a "
            "third and more, without a change of the code. Compare with what was recorded here, by --record."
        )
    by_key = {row.key: row for row in rows}
    known = {key: recorded.figures[key] for key in by_key if key in recorded.figures}
    held = {key: figure for key, figure in known.items() if figure.holds}
    changes = {key: _change(by_key[key], figure) for key, figure in held.items()}
    for key in sorted(changes, key=lambda key: -changes[key]):
        if changes[key] > TENTH:
            yield _worse(by_key[key], held[key], changes[key])
    worse = sum(change > TENTH for change in changes.values())
    better = sum(change < -TENTH for change in changes.values())
    yield f"Within 10 % of what is recorded: {_figures(len(held) - worse - better)}; better: {better}; worse: {worse}."
    moving = len(known) - len(held)
    if moving:
        yield f"Not compared, because they moved by more than 10 % when they were recorded: {_figures(moving)}."
    for words, keys in (
        ("Not recorded", [key for key in by_key if key not in recorded.figures]),
        ("Recorded, but not measured this time", [key for key in recorded.figures if whole and key not in by_key]),
    ):
        if keys:
            more = f"; and {_figures(len(keys) - NAMED)} more" if len(keys) > NAMED else ""
            yield f"{words}: {'; '.join(keys[:NAMED])}{more}."


def _change(row: Row, figure: Figure) -> float:
    """How much worse a row is than recorded: 0.1 is a tenth."""
    if not row.ratio:
        return inf if row.more_is_better else -1.0
    return (figure.ratio / row.ratio if row.more_is_better else row.ratio / figure.ratio) - 1


def _worse(row: Row, figure: Figure, change: float) -> str:
    share = abs(row.ratio / figure.ratio - 1)
    direction = "less" if row.more_is_better else "more"
    kept = f"ratio {number(row.ratio)}, recorded {number(figure.ratio)}"
    return f"{row.what}: {row.figure} is {share:.0%} {direction} than recorded ({kept})".replace("%", " %") + "."


def _figures(count: int) -> str:
    return f"{count} figure{'s' * (count != 1)}"

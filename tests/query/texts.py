"""Texts of queries, good, nearly good and bad: pieces for the properties, and as many as wanted by chance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from random import Random

from agents.query.fields import FIELDS, QueryField
from agents.query.tree import LEVELS

VALUES = {
    "text": ["refund", '"late fee"', "re*", '="x y"', "!=a", "*"],
    "choice": ["ana", "a*", '"a \\"b\\" *"', "!=dev", "=a*b", '"OR"', "*"],
    "status": ["failed", "in-progress", "*ed", "!=done"],
    "type": ["tool", "other", "*_call"],
    "api": ["agents", "!=responses"],
    "is": ["live", "waiting"],
    "us": [">2s", "..250ms", "1.5m..1h", "!=0s", "*"],
    "nano_usd": ["$0.05", "<=1", "0.001..$2"],
    "count": ["0", ">=1k", "1k..5k", "1.5M", "*"],
    "time": ["-24h", ">-7d", "today", "<2026-11-20", "2026-11-20T10:00..11:00", "-7d..yesterday", "2026-11-19T08:30Z"],
    "flag": ["true", "no"],
    "id": ["a", "!=b"],
    "data": ["refund", '"late fee"', "/etc/*", "=a*b", "!=dev", ">0.5", "-1..2k", "../x", "*"],
    "any": [">0.8", "-1..1", "..2k", "!=0", "*"],
    "prompt": ["pmpt_1@2", "!=pmpt_1", "pmpt_*"],
    "attachment": ["image", "!=document", "*"],
    "rating": ["up", "!=down", "*"],
}


def term_texts(field: QueryField) -> list[str]:
    name = field.sample.partition(":")[0]
    values = VALUES.get(field.name) or VALUES[field.unit or field.kind]
    lists = [f"({first} OR {last})" for first, last in pairwise(values)] + [
        f"({values[0]} AND {values[1]} OR {values[-1]})"
    ]
    return [f"{name}:{value}" for value in values + lists]


SIGNS = [*'()):-*"=>.', "..", "AND", "OR", "NOT", "\\", "step(", "turn(", "all(step)(", "no(step)(", "any(", "count("]
SCRAPS = [
    "has:",
    "status:",
    "tool:",
    "meta.",
    "[0]",
    "statusx:x",
    "-24h",
    "\u3000",
    "退款",
    "\u017f",
    "\u0663",
    "$",
    "1e9",
    "5KB",
]
CONDITIONS = [
    "refund",
    '"late fee"',
    "-é*",
    "step(tool:x -re)",
    "(a OR -b)",
    "count(step: tool:x)>1",
    "last(turn)(-a)",
    "*fun",
    '*"late f"',
    "has:(error OR tools)",
    "C++",
]
TERMS = [text for field in FIELDS.values() for text in term_texts(field)]
_PIECES = [*SIGNS, *SCRAPS, " ", " "]
_ODD = "\x00\u200b\u0130ßﬁ👍\U0001f600é\n\t\"'%_;&<>\u202e\ufffd"
_DEPTH = 3


class Texts:
    """Texts by chance, the same for the same seed. ``terms`` are what good ones are made of."""

    def __init__(self, seed: int, terms: Sequence[str] = ()) -> None:
        self.chance = Random(seed)
        self.terms = [*(terms or TERMS), *CONDITIONS]

    def any(self) -> str:
        """Six of ten are good, three nearly so, one is garbage."""
        kinds: list[Callable[[], str]] = [self.good, self.near, self.garbage]
        return self.chance.choices(kinds, [6, 3, 1])[0]()

    def good(self, depth: int = _DEPTH) -> str:
        """Some conditions, nested or not."""
        joint = self.chance.choice([" ", " ", " OR ", " AND "])
        return joint.join(self._condition(depth) for _ in range(self.chance.choice([1, 1, 2, 2, 3])))

    def _condition(self, depth: int) -> str:
        kind = self.chance.random()
        if not depth or kind < 0.6:
            return self.chance.choice(["", "", "", "-", "NOT "]) + self.chance.choice(self.terms)
        inner, level = self.good(depth - 1), self.chance.choice(LEVELS)
        if kind < 0.7:
            return f"{self.chance.choice(['', '-'])}({inner})"
        if kind < 0.9:
            scope = self.chance.choice(["{}", "any({})", "all({})", "no({})", "first({})", "last({})"])
            return f"{self.chance.choice(['', '', '-'])}{scope.format(level)}({inner})"
        sign, number = self.chance.choice(["=", "!=", ">", ">=", "<", "<="]), self.chance.choice([0, 1, 2, 3])
        return f"count({level}{self.chance.choice(['', f': {inner}'])}){sign}{number}"

    def near(self) -> str:
        """A good one, in which someone has been typing."""
        text = self.good()
        for _ in range(self.chance.choice([1, 1, 2, 4])):
            text = self._changed(text)
        return text

    def _changed(self, text: str) -> str:
        place = self.chance.randrange(len(text) + 1)
        end = min(place + self.chance.choice([0, 1, 1, 3, 8]), len(text))
        new = self.chance.choice(["", self.chance.choice(_PIECES), self._letter(), text[place:end] * 2])
        changed: list[str] = [text[:place] + new + text[end:], text[:end] + new + text[end:], text[:place]]
        return self.chance.choice(changed)

    def _letter(self) -> str:
        return self.chance.choice([self.chance.choice(_ODD), chr(self.chance.randrange(32, 0x3000))])

    def garbage(self) -> str:
        """Pieces in no order; now and then far too many."""
        count = self.chance.choice([1, 5, 20, 20, 20, 800])
        pool = [*_PIECES, *self.chance.choices(self.terms, k=5), *(self._letter() for _ in range(5))]
        return "".join(self.chance.choices(pool, k=self.chance.randrange(count) + 1))

"""The fields of queries: for each its levels, kind, operators and help.

Fields are added by `agents.record.catalogue`, which also names their columns, and by subjects that are installed.
The parser refuses what is not here; help and completion show the rest.

`level_of` decides which rows a term looks at: a field of the row's own level; else one of a wider
level, inherited; else one of a narrower level, of which *some* row must match.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Literal

from agents.base.tokenizer import fold
from agents.query.tree import LEVELS, Level, Op, Unit

Kind = Literal["text", "choice", "number", "time", "flag", "id", "data"]
"""``data`` is a value of JSON from outside: a text, number or flag, as it comes."""

OPERATORS: Mapping[Kind, tuple[Op, ...]] = {
    "text": ("contains", "=", "!=", "has"),
    "choice": ("=", "!=", "has"),
    "number": ("=", "!=", ">", ">=", "<", "<=", "..", "has"),
    "time": ("=", ">", ">=", "<", "<=", "..", "has"),
    "flag": ("=", "has"),
    "id": ("=", "!="),
    "data": ("contains", "=", "!=", ">", ">=", "<", "<=", "..", "has"),
}

FREE_TEXT = "text"
"""The field that is searched for words without a field."""


@dataclass(frozen=True, slots=True)
class QueryField:
    """One field of the rows of its ``levels``, the widest first.

    ``choices`` are all values of a closed field, ``aliases`` other words for them. ``many``: a row may have
    several values. ``keyed``: the value is a JSON object and the field needs a path into it, such as ``key``.
    ``deep``: the rows under a row of its level are looked at, too.
    ``only`` narrows the operators of the kind. ``example`` is a valid text behind the colon, and
    ``phrase`` the wording of `describe`, ``{}`` being the value; a flag has one for true and one for
    false."""

    name: str
    kind: Kind
    levels: tuple[Level, ...]
    help: str
    example: str
    phrase: str
    unit: Unit | None = None
    choices: tuple[str, ...] = ()
    aliases: Mapping[str, str] = field(default_factory=dict)
    many: bool = False
    keyed: bool = False
    key: str = ""
    deep: bool = False
    only: tuple[Op, ...] = ()

    @property
    def sample(self) -> str:
        """A complete term, for help and error messages."""
        return f"{self.name}{f'.{self.key}' if self.keyed else ''}:{self.example}"

    def choice(self, text: str) -> str | None:
        """Return the choice of a closed field that ``text`` names, by itself or by an alias; blanks and
        dashes count as ``_``."""
        name = re.sub(r"[\s-]+", "_", fold(text).strip())
        name = self.aliases.get(name, name)
        return name if name in self.choices else None

    @property
    def operators(self) -> tuple[Op, ...]:
        return self.only or OPERATORS[self.kind]


def at(levels: str) -> tuple[Level, ...]:
    """Return the levels with these names, the widest first."""
    return tuple(level for level in LEVELS if level in levels.split())


FIELDS: dict[str, QueryField] = {}
"""Fields by name, in the order of help."""

PRESENCE: dict[str, str] = {}
"""Words that ``has:`` accepts besides the names of fields."""


def add_field(field: QueryField, presence: str = "") -> None:
    """Let queries use a field; ``presence`` is another name of it behind ``has:``."""
    FIELDS[field.name] = field
    if presence:
        PRESENCE[presence] = field.name


def find_field(segments: Sequence[str | int]) -> tuple[QueryField, tuple[str | int, ...]] | None:
    """Resolve a dotted name to its field and the path into it: ``tokens.in``, ``meta`` + customer, tier.
    None when there is no such field, or it takes no path and there is one."""
    for length in (2, 1):
        field = FIELDS.get(".".join(str(segment) for segment in segments[:length]).lower())
        path = tuple(segments[length:])
        if field and len(segments) >= length and (field.keyed or not path):
            return field, path
    return None


def level_of(field: QueryField, at: Level) -> Level:
    """Return the level whose rows a term on this field looks at, from rows of level ``at``."""
    position = LEVELS.index(at)
    nearest = (*reversed(LEVELS[: position + 1]), *LEVELS[position + 1 :])
    return next(level for level in nearest if level in field.levels)


def canonical_id(text: str) -> str:
    """Return an id in the one spelling to compare: the 32 digits of a UUID or of ``resp_…``, ``conv_…``;
    any other text folded."""
    folded = fold(text).strip()
    digits = folded.rpartition("_")[2].replace("-", "")
    return digits if re.fullmatch(r"[0-9a-f]{32}", digits) else folded


def closest_name(name: str, names: Iterable[str]) -> str | None:
    """Return the name most like ``name``; None when none is close."""
    close = get_close_matches(name.lower(), list(names), n=1, cutoff=0.75)
    return close[0] if close else None

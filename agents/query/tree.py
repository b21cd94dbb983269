"""The typed tree of a query, as Python and as JSON.

::

    Node  = And | Or | Not | Term | Text | Scope | Count
    Value = Words | Whole | Pattern | Number | Numbers | Period | Flag      (of a Term)

A tree means the same at every level: which level's rows a term looks at follows from its field
(`fields.level_of`), so it is not stored. ``And`` of nothing is true; it is the empty query, and
stands only at the top.

Trees are canonical when built by `all_of`, `any_of` and `negation`: no And directly in an And, no
Or in an Or, no Not in a Not, nothing twice, no And or Or of one. The parser uses nothing else.

This module must not know how a query is written, nor which fields there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from operator import eq, ge, gt, le, lt, ne
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, model_validator

from agents.base.tokenizer import fold

Level = Literal["agent", "session", "turn", "response", "step"]
LEVELS: tuple[Level, ...] = ("agent", "session", "turn", "response", "step")
"""From the widest to the narrowest."""

Op = Literal["contains", "=", "!=", ">", ">=", "<", "<=", "..", "has"]
"""``contains`` is ``:`` on a text. ``!=`` holds where there is a value and ``=`` does not hold of it;
so, unlike Not, it leaves out rows without the field. ``has`` means: there is a value."""

Quantifier = Literal["any", "all", "no", "first", "last"]
Comparison = Literal["=", "!=", ">", ">=", "<", "<="]
Unit = Literal["us", "nano_usd", "count", "bytes", "any"]
"""Of an amount; ``any`` is a plain number of somebody else's, which may be negative."""

MAX_CHARACTERS = 2_000
MAX_DEPTH = 8
MAX_TERMS = 50


class TreePart(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True)


# ------------------------------------------------------------------------------------------ values


class SearchPhrase(TreePart):
    """Words to search a text for. With ``contains``: the words of ``text`` next to each other
    (`agents.base.tokenizer.words`), where ``prefix`` the last one as the beginning of a word; where ``inside``,
    the letters of ``text`` anywhere, in the middle of words too. With ``=``, ``!=``: all words of the text."""

    kind: Literal["words"] = "words"
    text: str
    prefix: bool = False
    inside: bool = False


class ExactValue(TreePart):
    """A complete value, or an id; compared after `agents.base.tokenizer.fold`."""

    kind: Literal["whole"] = "whole"
    text: str


class Pattern(TreePart):
    """A complete value with ``*`` in it: ``web_*`` has the parts ``web_`` and the empty one."""

    kind: Literal["pattern"] = "pattern"
    parts: tuple[str, ...] = Field(min_length=2)

    def matches(self, text: str) -> bool:
        """Whether a complete value has these parts: in order, the first and the last at its ends."""
        first, *middle, last = map(fold, self.parts)
        folded = fold(text)
        at, end = len(first), len(folded) - len(last)
        if at > end or not (folded.startswith(first) and folded.endswith(last)):
            return False
        for part in middle:
            index = folded.find(part, at, end)
            if index < 0:
                return False
            at = index + len(part)
        return True


class Number(TreePart):
    """An amount in the field's stored unit: microseconds, billionths of a dollar, a count. Whole
    unless it was written finer than that unit."""

    kind: Literal["number"] = "number"
    value: int | float
    unit: Unit


class NumberRange(TreePart):
    """``low..high``, both included; None where it is open."""

    kind: Literal["numbers"] = "numbers"
    low: int | float | None = None
    high: int | float | None = None
    unit: Unit


TimestampUs = Annotated[int, Field(ge=-(10**11), le=73 * 10**14)]
"""Microseconds since 1970, of the years that `times` reads, with a day to spare."""


class Period(TreePart):
    """The interval of a time term, whatever its operator: ``low_us <= t < high_us``, microseconds
    since 1970, None where open. ``text`` is how it was written (``-24h``), empty when absolute."""

    kind: Literal["period"] = "period"
    text: str = Field(default="", pattern=r"^[0-9A-Za-z:.+-]*$")
    low_us: TimestampUs | None = None
    high_us: TimestampUs | None = None


class Flag(TreePart):
    kind: Literal["flag"] = "flag"
    value: bool


Value = Annotated[
    SearchPhrase | ExactValue | Pattern | Number | NumberRange | Period | Flag, Field(discriminator="kind")
]


# ------------------------------------------------------------------------------------------- nodes


class And(TreePart):
    kind: Literal["and"] = "and"
    nodes: tuple[Node, ...]


class Or(TreePart):
    kind: Literal["or"] = "or"
    nodes: tuple[Node, ...] = Field(min_length=1)


class Not(TreePart):
    """Everything its node does not accept, rows without the field included."""

    kind: Literal["not"] = "not"
    node: Node


EVERY_ITEM = -1
"""The index in a path that means all items of a list."""
Index = Annotated[int, Field(strict=True, ge=EVERY_ITEM)]


class FieldTerm(TreePart):
    """One condition on one field. ``path`` leads into a field that holds JSON: keys, and indices of lists
    from 0, or `EVERY_ITEM`. Where the field belongs to a lower level than the row, some row there must fulfil it."""

    kind: Literal["term"] = "term"
    field: str = Field(pattern=r"^[a-z_]+(\.[a-z_]+)?$")
    path: tuple[str | Index, ...] = ()
    op: Op
    value: Value | None = None

    @model_validator(mode="after")
    def _value_unless_has(self) -> Self:
        if (self.op == "has") != (self.value is None):
            raise ValueError("'has' takes no value, every other operator needs one")
        return self


class FreeText(TreePart):
    """Words without a field: ``contains`` on the field `fields.FREE_TEXT`."""

    kind: Literal["text"] = "text"
    words: SearchPhrase


class LevelScope(TreePart):
    """Rows of another level under (or above) this one, for which ``node`` holds of the same row.
    ``all`` is also true where there is none; ``first`` and ``last`` look at that one alone."""

    kind: Literal["scope"] = "scope"
    quantifier: Quantifier = "any"
    level: Level
    node: Node


_COMPARE: dict[Comparison, Callable[[int, int], bool]] = {"=": eq, "!=": ne, ">": gt, ">=": ge, "<": lt, "<=": le}


class Count(TreePart):
    """How many rows of another level there are for which ``node`` holds, compared with ``value``."""

    kind: Literal["count"] = "count"
    level: Level
    node: Node
    op: Comparison
    value: Annotated[int, Field(ge=0, le=10**12)]

    def accepts(self, number: int) -> bool:
        """Whether this number of rows fulfils the comparison."""
        return bool(_COMPARE[self.op](number, self.value))


Node = Annotated[And | Or | Not | FieldTerm | FreeText | LevelScope | Count, Field(discriminator="kind")]

for _model in (And, Or, Not, LevelScope, Count):
    _model.model_rebuild()

NODE: TypeAdapter[Node] = TypeAdapter(Node, config=ConfigDict(defer_build=True))
"""Reads and writes a tree as JSON, without looking at fields: use `parser.from_json`."""


class Query(TreePart):
    """A parsed query. ``text`` is its normal form, where relative times stay relative, while the
    tree holds their values at the time of parsing. ``level`` is that of the rows it selects."""

    text: str
    tree: Node
    level: Level


# ---------------------------------------------------------------------------------------- building


def all_of(nodes: Iterable[Node]) -> Node:
    """Build the canonical And of these: flat, nothing twice; a single node is itself."""
    flat = dict.fromkeys(inner for node in nodes for inner in (node.nodes if isinstance(node, And) else (node,)))
    return next(iter(flat)) if len(flat) == 1 else And(nodes=tuple(flat))


def any_of(nodes: Iterable[Node]) -> Node:
    """Build the canonical Or of these, at least one."""
    flat = dict.fromkeys(inner for node in nodes for inner in (node.nodes if isinstance(node, Or) else (node,)))
    return next(iter(flat)) if len(flat) == 1 else Or(nodes=tuple(flat))


def negation(node: Node) -> Node:
    return node.node if isinstance(node, Not) else Not(node=node)


def conjuncts(node: Node) -> tuple[Node, ...]:
    """Return the conditions that must all hold: the chips of the bar. None for the empty query."""
    return node.nodes if isinstance(node, And) else (node,)


def disjuncts(node: Node) -> tuple[Node, ...]:
    """Return the alternatives of a node; a single one for all but an Or."""
    return node.nodes if isinstance(node, Or) else (node,)


def replace_terms(node: Node, change: Callable[[FieldTerm], Node]) -> Node:
    """Replace each term of the tree by the result of ``change``."""
    match node:
        case FieldTerm():
            return change(node)
        case FreeText():
            return node
        case Not():
            return negation(replace_terms(node.node, change))
        case LevelScope() | Count():
            return node.model_copy(update={"node": replace_terms(node.node, change)})
        case And():
            return all_of(replace_terms(inner, change) for inner in node.nodes)
        case Or():
            return any_of(replace_terms(inner, change) for inner in node.nodes)


def leaves(node: Node) -> Iterator[FieldTerm | FreeText]:
    """Yield all terms and free texts, in the order they were written."""
    match node:
        case FieldTerm() | FreeText():
            yield node
        case Not() | LevelScope() | Count():
            yield from leaves(node.node)
        case And() | Or():
            for inner in node.nodes:
                yield from leaves(inner)


def count_conditions(node: Node) -> int:
    """Return how many terms, texts and counts a tree has."""
    match node:
        case FieldTerm() | FreeText():
            return 1
        case Count():
            return 1 + count_conditions(node.node)
        case Not() | LevelScope():
            return count_conditions(node.node)
        case And() | Or():
            return sum(map(count_conditions, node.nodes))

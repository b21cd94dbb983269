"""The bar's view of a query: its conditions as removable chips, hints, and edits by a click.

Edits take and give query texts, so that a page can offer them as links.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agents.base import ids
from agents.base.errors import QuerySyntax
from agents.query.describe import phrase
from agents.query.fields import FIELDS, find, level_of
from agents.query.parser import parse
from agents.query.scanner import shown
from agents.query.tree import (
    LEVELS,
    Level,
    Node,
    Not,
    Query,
    Scope,
    Term,
    Text,
    all_of,
    any_of,
    conjuncts,
    disjuncts,
    leaves,
    negation,
)
from agents.query.writer import condition_text, field_text, literal, written


@dataclass(frozen=True, slots=True)
class Chip:
    """One condition: as the query writes it, as a sentence says it, and the query without it."""

    text: str
    label: str
    without: str


def chips(query: Query) -> list[Chip]:
    """The conditions that must all hold, in their order. Together their texts are the query."""
    nodes = conjuncts(query.tree)
    return [
        Chip(
            text=condition_text(node),
            label=phrase(node, query.level),
            without=written(all_of((*nodes[:place], *nodes[place + 1 :]))),
        )
        for place, node in enumerate(nodes)
    ]


def hints(query: Query) -> list[str]:
    """Sentences to show under the bar: what was perhaps meant otherwise."""
    found = [_capitals(word) for word in dict.fromkeys(_words(query.tree)) if word in ("and", "or", "not")]
    together = same_row(query)
    if together:
        found.append(f"These may be different {together.level}s. For one that is all of it, write {together.text}")
    return found


def _words(node: Node) -> Iterator[str]:
    return (leaf.words.text for leaf in leaves(node) if isinstance(leaf, Text))


def _capitals(word: str) -> str:
    return f'"{word}" is searched for as a word. To combine conditions, write {word.upper()}'


@dataclass(frozen=True, slots=True)
class Together:
    """A query whose conditions on rows of a lower level are asked of one and the same."""

    level: Level
    text: str


def same_row(query: Query) -> Together | None:
    """The query with its conditions on turns, or on steps, put into one ``turn(…)`` or ``step(…)``, when
    there are several."""
    below = LEVELS[LEVELS.index(query.level) + 1 :]
    return next((found for level in below if (found := _together(query, level))), None)


def _together(query: Query, level: Level) -> Together | None:
    nodes = conjuncts(query.tree)
    of_level = [node for node in nodes if _is_on(node, query.level, level)]
    if len(of_level) < 2:
        return None
    scope = Scope(level=level, node=all_of(of_level))
    first = nodes.index(of_level[0])
    rest = [node for node in nodes[first:] if node not in of_level]
    return Together(level, written(all_of((*nodes[:first], scope, *rest))))


def _is_on(node: Node, at: Level, level: Level) -> bool:
    terms = disjuncts(node)
    return all(isinstance(each, Term) and level_of(FIELDS[each.field], at) == level for each in terms)


def with_term(query_text: str, field: str, value: str, *, exclude: bool = False) -> str:
    """The query narrowed to a value of a field, or to all but that value.

    A choice joins those already made (``status:(failed OR completed)``) and takes back its own
    exclusion. For a number or a time, ``value`` is what stands behind the colon (``>2s``,
    ``-24h``) and replaces what was asked of that field. Raises QuerySyntax."""
    term, nodes = _term(field, value), _conditions(query_text)
    if exclude:
        edited = [*_all_less(nodes, term), negation(term)]
    elif FIELDS[term.field].kind in ("number", "time"):
        edited = [*(node for node in nodes if not _is_about(node, term)), term]
    else:
        edited = _chosen(_allowed(nodes, term), term)
    return _read(written(all_of(edited))).text


def within(query_text: str, condition: str) -> str:
    """The query of what both accept, whatever it says of the same field itself. Raises QuerySyntax."""
    return _read(written(all_of((*_conditions(query_text), *_conditions(condition))))).text


def without_term(query_text: str, field: str, value: str) -> str:
    """The query without this value, whether it was chosen or excluded. Raises QuerySyntax."""
    return written(all_of(_all_less(_conditions(query_text), _term(field, value))))


def _chosen(nodes: list[Node], term: Term) -> list[Node]:
    """The conditions with one more value: beside those already chosen of its field, else at the end."""
    for place, node in enumerate(nodes):
        if _is_about(node, term) and all(each.op == term.op for each in leaves(node) if isinstance(each, Term)):
            return [*nodes[:place], any_of((node, term)), *nodes[place + 1 :]]
    return [*nodes, term]


def _allowed(nodes: Sequence[Node], term: Term) -> list[Node]:
    """The conditions without those that exclude the value."""
    left = (_less(node, term) if isinstance(node, Not) else node for node in nodes)
    return [node for node in left if node is not None]


def _all_less(nodes: Sequence[Node], term: Term) -> list[Node]:
    return [left for left in (_less(node, term) for node in nodes) if left is not None]


def _less(node: Node, term: Term) -> Node | None:
    """A condition without one of its values; None when nothing is left. One that is about other
    fields too stays as it is: a value less would narrow it."""
    if isinstance(node, Not):
        left = _less(node.node, term)
        return left and negation(left)
    if not _is_about(node, term):
        return node
    kept = [each for each in disjuncts(node) if each != term]
    return any_of(kept) if kept else None


def _is_about(node: Node, term: Term) -> bool:
    """Whether the condition is on the term's field alone."""
    return all(isinstance(each, Term) and field_text(each) == field_text(term) for each in disjuncts(node))


def _conditions(query_text: str) -> tuple[Node, ...]:
    return conjuncts(_read(query_text).tree)


def _term(field: str, value: str) -> Term:
    found = find(field.split("."))
    exact = found is None or found[0].kind not in ("number", "time")
    tree = _read(f"{field}:{literal(value) if exact else value}").tree
    if not isinstance(tree, Term):
        raise QuerySyntax(f"{shown(field)} is not one field with one value", position=0)
    return tree


def _read(query_text: str) -> Query:
    """Times stay as they are written, so any moment will do for now."""
    return parse(query_text, now_us=ids.now_us())

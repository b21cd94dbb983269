"""Show a query in the search bar as removable chips with hints, and edit it by a click.

Edits take and return queries as trees; their texts are written where a page offers them as links.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC
from functools import partial

from agents.base import ids
from agents.base.errors import QuerySyntax
from agents.query.describe import ENGLISH, Language, gettext_noop, phrase
from agents.query.fields import FIELDS, find_field, level_of
from agents.query.reader import QueryReader
from agents.query.scanner import Scanner, excerpt
from agents.query.times import Now
from agents.query.tree import (
    LEVELS,
    ExactValue,
    FieldTerm,
    FreeText,
    Level,
    LevelScope,
    Node,
    Not,
    Query,
    all_of,
    any_of,
    conjuncts,
    disjuncts,
    leaves,
    negation,
)
from agents.query.writer import condition_text, field_text, literal, query_of, tree_text


@dataclass(frozen=True, slots=True)
class Chip:
    """One condition: its query text, its label, and the query without it."""

    text: str
    label: str
    without: str


def chips(query: Query, language: Language = ENGLISH) -> list[Chip]:
    """Return one chip for each condition that must hold, in order. Joined, their texts are the query."""
    nodes = conjuncts(query.tree)
    return [
        Chip(
            text=condition_text(node),
            label=phrase(node, query.level, language),
            without=tree_text(all_of((*nodes[:index], *nodes[index + 1 :]))),
        )
        for index, node in enumerate(nodes)
    ]


_SAME_ROW: Mapping[Level, str] = {
    "session": gettext_noop("These may be different sessions. For one that meets all conditions, write %(query)s"),
    "turn": gettext_noop("These may be different turns. For one that meets all conditions, write %(query)s"),
    "response": gettext_noop("These may be different responses. For one that meets all conditions, write %(query)s"),
    "step": gettext_noop("These may be different steps. For one that meets all conditions, write %(query)s"),
}
_INCOMPLETE = gettext_noop("Only responses are incomplete. Instead, write is:truncated or response(status:incomplete)")
_LOWER_CASE = gettext_noop('"%(word)s" is searched for as a word. To combine conditions, write %(operator)s')


def hints(query: Query, language: Language = ENGLISH) -> list[str]:
    """Return sentences to show under the bar where the query may not mean what its author wanted."""
    words = [word for word in dict.fromkeys(_free_texts(query.tree)) if word in ("and", "or", "not")]
    sentences = [language.gettext(_LOWER_CASE) % {"word": word, "operator": word.upper()} for word in words]
    if any(map(partial(_is_incomplete, query.level), conjuncts(query.tree))):
        sentences.append(language.gettext(_INCOMPLETE))
    combined = same_row(query)
    if combined:
        sentences.append(language.gettext(_SAME_ROW[combined.level]) % {"query": combined.text})
    return sentences


def _is_incomplete(at: Level, node: Node) -> bool:
    """Whether a condition asks rows other than responses for a status that only responses have."""
    terms = [term for term in disjuncts(node) if isinstance(term, FieldTerm) and term.field == "status"]
    statuses = [term.value.text for term in terms if isinstance(term.value, ExactValue)]
    return "incomplete" in statuses and level_of(FIELDS["status"], at) != "response"


def _free_texts(node: Node) -> Iterator[str]:
    return (leaf.words.text for leaf in leaves(node) if isinstance(leaf, FreeText))


@dataclass(frozen=True, slots=True)
class SameRowQuery:
    """A query whose conditions on rows of a lower level must hold of the same row."""

    level: Level
    text: str


def same_row(query: Query) -> SameRowQuery | None:
    """Group the query's conditions on turns, or on steps, into one ``turn(…)`` or ``step(…)``; None unless
    there are several."""
    below = LEVELS[LEVELS.index(query.level) + 1 :]
    return next((combined for level in below if (combined := _same_row_at(query, level))), None)


def _same_row_at(query: Query, level: Level) -> SameRowQuery | None:
    nodes = conjuncts(query.tree)
    own = [node for node in nodes if _is_on_level(node, query.level, level)]
    if len(own) < 2:
        return None
    scope = LevelScope(level=level, node=all_of(own))
    first = nodes.index(own[0])
    following = [node for node in nodes[first:] if node not in own]
    return SameRowQuery(level, tree_text(all_of((*nodes[:first], scope, *following))))


def _is_on_level(node: Node, at: Level, level: Level) -> bool:
    terms = disjuncts(node)
    return all(isinstance(term, FieldTerm) and level_of(FIELDS[term.field], at) == level for term in terms)


def term_of(field: str, value: str) -> FieldTerm:
    """Build the condition on one value of a field, by its dotted name. For a number or a time, ``value`` is the
    text behind the colon (``>2s``, ``-24h``), else the value itself. Raises QuerySyntax."""
    resolved = find_field(field.split("."))
    if resolved is None or (resolved[0].keyed and not resolved[1]):
        raise QuerySyntax(f"{excerpt(field)} is not one field", position=0)
    text = value if resolved[0].kind in ("number", "time") else literal(value)
    # times stay as they are written, so any timestamp will do for those that are relative
    return QueryReader(Scanner(text), Now(ids.now_us(), UTC)).read_value(*resolved)


def with_term(query: Query, term: FieldTerm, *, exclude: bool = False) -> Query:
    """Narrow the query to a value of a field or, with ``exclude``, to all other values.

    A choice joins those already made (``status:(failed OR completed)``) and removes its own
    exclusion; a number or a time replaces the conditions on that field. Raises QuerySyntax."""
    nodes = conjuncts(query.tree)
    if exclude:
        edited = [*_without_value(nodes, term), negation(term)]
    elif FIELDS[term.field].kind in ("number", "time"):
        edited = [*(node for node in nodes if not _is_on_field(node, term)), term]
    else:
        edited = _with_choice(_without_exclusion(nodes, term), term)
    return query_of(all_of(edited), query.level)


def within(query: Query, term: FieldTerm) -> Query:
    """Join both with AND, also where the query has conditions on the same field. Raises QuerySyntax."""
    return query_of(all_of((*conjuncts(query.tree), term)), query.level)


def without_term(query: Query, term: FieldTerm) -> Query:
    """Remove this value from the query, whether it was chosen or excluded."""
    return query_of(all_of(_without_value(conjuncts(query.tree), term)), query.level)


def conditions_on(query: Query, field: str) -> list[FieldTerm]:
    """Return the terms of the conditions that are on this field alone, with its path where it has one."""
    return [term for node in conjuncts(query.tree) for term in _terms_on(node, field)]


def without_field(query: Query, field: str) -> Query:
    """Remove the conditions that are on this field alone."""
    nodes = [node for node in conjuncts(query.tree) if not _terms_on(node, field)]
    return query_of(all_of(nodes), query.level)


def _terms_on(node: Node, field: str) -> list[FieldTerm]:
    """Return the alternatives of a condition on this field alone; empty for any other condition."""
    alternatives = disjuncts(node)
    terms = [term for term in alternatives if isinstance(term, FieldTerm) and field_text(term) == field]
    return terms if len(terms) == len(alternatives) else []


def _with_choice(nodes: list[Node], term: FieldTerm) -> list[Node]:
    """Add a value: as an alternative to those already chosen of its field, else as a condition at the end."""
    for index, node in enumerate(nodes):
        if _is_on_field(node, term) and all(leaf.op == term.op for leaf in leaves(node) if isinstance(leaf, FieldTerm)):
            return [*nodes[:index], any_of((node, term)), *nodes[index + 1 :]]
    return [*nodes, term]


def _without_exclusion(nodes: Sequence[Node], term: FieldTerm) -> list[Node]:
    """Drop the conditions that exclude the value."""
    remaining = (_remove_value(node, term) if isinstance(node, Not) else node for node in nodes)
    return [node for node in remaining if node is not None]


def _without_value(nodes: Sequence[Node], term: FieldTerm) -> list[Node]:
    return [remaining for remaining in (_remove_value(node, term) for node in nodes) if remaining is not None]


def _remove_value(node: Node, term: FieldTerm) -> Node | None:
    """Remove one value from a condition; None when nothing is left. A condition that is about other
    fields too stays as it is: with a value less it would accept fewer rows."""
    if isinstance(node, Not):
        remaining = _remove_value(node.node, term)
        return remaining and negation(remaining)
    if not _is_on_field(node, term):
        return node
    alternatives = [alternative for alternative in disjuncts(node) if alternative != term]
    return any_of(alternatives) if alternatives else None


def _is_on_field(node: Node, term: FieldTerm) -> bool:
    """Whether the condition is on the term's field alone."""
    return all(
        isinstance(alternative, FieldTerm) and field_text(alternative) == field_text(term)
        for alternative in disjuncts(node)
    )

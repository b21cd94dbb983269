"""Choose what a row shows of a search whose words are not in its texts: a line of the text that has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from django.utils.translation import gettext as _

from agents.logs.store import match_snippets
from agents.logs.store.match_snippets import MatchSnippet, Side
from agents.query.tree import Level, Query, SearchPhrase
from agents.uikit import highlight
from agents.uikit.elements import type_label
from agents.uikit.highlight import TextPart

MAX_CHARS = 160
"""Characters of the line."""
MAX_SEARCHES = 4
"""Words of a query that are looked for one by one."""

_SearchTerm = tuple[Side, SearchPhrase]


@dataclass(frozen=True, slots=True)
class RowSnippet:
    """A line in parts, of which some are marked; ``label`` says where it is from."""

    label: str
    parts: Sequence[TextPart]


def of_rows(level: Level, level_rows: Sequence[Any], query: Query | None) -> dict[Any, RowSnippet]:
    """Return the snippets of those rows whose own texts lack words of the query, by their ids."""
    searched = [term for term in highlight.searched_phrases(query) if term[0] != "error"]
    rows_by_term: dict[_SearchTerm, list[Any]] = {}
    for row in level_rows if searched else ():
        if missing := _first_missing(row, cast("list[_SearchTerm]", searched)):
            rows_by_term.setdefault(missing, []).append(row)
    phrases = [highlight.phrase_of(phrase) for _, phrase in searched]
    return {
        row_id: RowSnippet(
            label, highlight.snippet(match.text, phrases, MAX_CHARS, first=[highlight.phrase_of(phrase)])
        )
        for (side, phrase), rows in list(rows_by_term.items())[:MAX_SEARCHES]
        for row_id, match, label in _matches(level, rows, phrase, side)
    }


def _first_missing(row: Any, searched: Sequence[_SearchTerm]) -> _SearchTerm | None:
    """Return the first words of the query that the row does not show."""
    turn = getattr(row, "last_turn", row)
    input_text = turn.input_preview if turn else ""
    output_text = "" if turn is None else turn.error.message if turn.error else turn.output_preview
    texts: Mapping[Side, Sequence[str]] = {"text": (input_text, output_text), "in": [input_text], "out": [output_text]}
    for side, phrase in searched:
        if not any(highlight.has_match(text, highlight.phrase_of(phrase)) for text in texts[side]):
            return side, phrase
    return None


def _matches(
    level: Level, rows: Sequence[Any], phrase: SearchPhrase, side: Side
) -> list[tuple[Any, MatchSnippet, str]]:
    """Return the id of each row with what holds the words, and where that is."""
    if level == "step":
        steps = match_snippets.of_steps([row.id for row in rows], phrase)
        return [(row.id, steps[row.id], "") for row in rows if row.id in steps]
    if level == "session":
        sessions = match_snippets.of_sessions([row.id for row in rows], phrase, side)
        return [
            (row.id, sessions[row.id], _label_in_session(row, sessions[row.id])) for row in rows if row.id in sessions
        ]
    turn_of = {row.id: row.turn_id if level == "response" else row.id for row in rows}
    turns = match_snippets.of_turns(set(turn_of.values()), phrase, side)
    return [(key, turns[turn], _label(turns[turn])) for key, turn in turn_of.items() if turn in turns]


def _label(match: MatchSnippet) -> str:
    if match.type == "input":
        return _("asked")
    return match.name if match.type == "tool_execution" else type_label(match.type)


def _label_in_session(row: Any, match: MatchSnippet) -> str:
    is_last = row.last_turn is not None and row.last_turn.id == match.turn
    return _label(match) if is_last else _("earlier turn, %(place)s") % {"place": _label(match)}

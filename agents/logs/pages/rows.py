"""Rows of the lists as HTML: the first load, a filter's result and a live arrival use these same ones."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import urlencode

from django.utils.html import format_html
from django.utils.translation import gettext

from agents.base import ids
from agents.logs.pages import step_sparkline, turn_summary
from agents.logs.schemas.rows import ResponseRow, SessionRow, StepRow, TurnRow
from agents.logs.store import match_snippets
from agents.logs.store.match_snippets import Glimpse
from agents.query.tree import FreeText, Level, Query, SearchPhrase, leaves
from agents.responses.wire import citations
from agents.uikit import format, highlight
from agents.uikit.highlight import Phrase, SearchPhrases
from agents.uikit.templates import fragment

_LONGEST = 300
"""Characters of an error in a row: the turn's page has all of it."""
_GLIMPSE = 160
"""Characters shown of a step that has the words."""
_RUNNING = ("queued", "in_progress")


def rows(level: Level, found: Sequence[Any], query: Query | None = None) -> list[str]:
    """The ``<tr>`` of each of these rows, with what ``query`` searches for marked; their links take it
    along, so that a turn's page leads to its neighbours in the list."""
    searched, render = highlight.search_phrases(query), _RENDER[level]
    behind = _behind(level, query)
    made = [render(row, searched, behind) for row in found]
    elsewhere = [row for row, html in zip(found, made, strict=True) if level == "turn" and "<mark>" not in html]
    return made if query is None or not elsewhere else _with_glimpses(made, found, elsewhere, query, behind)


def _with_glimpses(
    made: list[str], found: Sequence[TurnRow], elsewhere: Sequence[TurnRow], query: Query, behind: str
) -> list[str]:
    """The rows that have the words in a step show that step instead of their last words."""
    words = _free_words(query)
    if words is None:
        return made
    glimpses = match_snippets.of_turns([row.id for row in elsewhere], words)
    searched = highlight.search_phrases(query)
    return [
        turn_row(row, searched, behind, glimpses[row.id]) if row.id in glimpses else html
        for row, html in zip(found, made, strict=True)
    ]


def _free_words(query: Query) -> SearchPhrase | None:
    """The first words that were looked for anywhere."""
    texts = (leaf.words for leaf in leaves(query.tree) if isinstance(leaf, FreeText))
    return next((words for words in texts if not words.inside), None)


def with_boxes(made: Sequence[str]) -> list[str]:
    """The rows with a box each to choose them by, for a page without JavaScript."""
    return [_BEGIN.sub(_box, html, count=1) for html in made]


_BEGIN = re.compile(r'(<tr class="log-row" role="row" data-id="([\w-]+)".*?<td role="cell" class="when">)', re.DOTALL)


def _box(found: re.Match[str]) -> str:
    words = gettext("Choose this row")
    box = '<label class="pick"><input type="checkbox" name="ids" value="{}" form="acts">{}</label>'
    return found[1] + format_html(box, found[2], format_html('<span class="visually-hidden">{}</span>', words))


def _behind(level: Level, query: Query | None) -> str:
    """What goes behind the URL of a turn: the list it was found in, and the words that were looked for."""
    if query is None or not query.text:
        return ""
    words = next((leaf.words.text for leaf in leaves(query.tree) if isinstance(leaf, FreeText)), "")
    given = {"q": query.text if level == "turn" else "", "find": words}
    return "?" + urlencode({name: text for name, text in given.items() if text}) if any(given.values()) else ""


def turn_row(row: TurnRow, searched: SearchPhrases, behind: str = "", seen: Glimpse | None = None) -> str:
    """``seen`` is the step that has the words that were looked for."""
    turn_id, elapsed_ms = ids.public(ids.Kind.TURN, row.id), _elapsed_ms(row)
    last, phrases = _last_words(row, searched)
    return fragment(
        "logs/_turn_row.html",
        row=row,
        id=turn_id,
        url=f"/turns/{turn_id}/{behind}",
        peek=f"/turns/{turn_id}/peek/{behind}",
        first=highlight.text_parts(row.input_preview, searched.input),
        last=highlight.snippet(seen.text, searched.output, _GLIMPSE) if seen else highlight.text_parts(last, phrases),
        seen=seen,
        strip=step_sparkline.strip(row, elapsed_ms),
        running=row.status in _RUNNING,
        elapsed_ms=elapsed_ms,
    )


def response_row(row: ResponseRow, searched: SearchPhrases, behind: str = "") -> str:
    last, phrases = _last_words(row, searched)
    return fragment(
        "logs/_response_row.html",
        row=row,
        id=row.id,
        url=f"/responses/{row.id}/",
        peek=f"/turns/{ids.public(ids.Kind.TURN, row.turn_id)}/peek/{behind}",
        first=highlight.text_parts(row.input_preview, searched.input),
        last=highlight.text_parts(last, phrases),
        running=row.status in _RUNNING,
        elapsed_ms=_elapsed_ms(row),
    )


def step_row(row: StepRow, searched: SearchPhrases, behind: str = "") -> str:
    last, phrases = _last_words(row, searched)
    return fragment(
        "logs/_step_row.html",
        row=row,
        id=ids.public(ids.Kind.STEP, row.id),
        url=step_url(row),
        peek=f"/turns/{ids.public(ids.Kind.TURN, row.turn_id)}/peek/?{urlencode(_near(row))}#step-{row.number}",
        first=highlight.text_parts(row.input_preview, searched.input),
        last=highlight.text_parts(last, phrases),
        running=row.status in _RUNNING,
        elapsed_ms=_elapsed_ms(row),
    )


def _near(row: StepRow) -> dict[str, int]:
    return {"from": row.number // turn_summary.WINDOW * turn_summary.WINDOW, "step": row.number}


def step_url(row: StepRow) -> str:
    """Where a step stands on the page of its turn."""
    start = turn_summary.window_query(row.number // turn_summary.WINDOW * turn_summary.WINDOW)
    return f"/turns/{ids.public(ids.Kind.TURN, row.turn_id)}/{start}#step-{row.number}"


def session_row(row: SessionRow, searched: SearchPhrases, behind: str = "") -> str:
    """With the words of its last turn."""
    last = row.last_turn
    answered, phrases = _last_words(last, searched) if last else ("", ())
    return fragment(
        "logs/_session_row.html",
        row=row,
        id=ids.public(ids.Kind.SESSION, row.id),
        url=f"/sessions/{ids.public(ids.Kind.SESSION, row.id)}/",
        peek=f"/turns/{ids.public(ids.Kind.TURN, last.id)}/peek/{behind}" if last else "",
        first=highlight.text_parts(last.input_preview, searched.input) if last else [],
        last=highlight.text_parts(answered, phrases) if answered else [],
        metadata=[(name, value) for name, value in row.metadata.items() if name != "name"][:3],
    )


def _elapsed_ms(row: TurnRow | ResponseRow | StepRow) -> float:
    """How long it has been going, or took."""
    if row.status in _RUNNING:
        return max((ids.now_us() - row.started_at) / 1000, 0.0)
    return row.duration_ms or 0.0


def _last_words(row: TurnRow | ResponseRow | StepRow, searched: SearchPhrases) -> tuple[str, tuple[Phrase, ...]]:
    """What was said last, and what of it to mark; of what went wrong its error."""
    if row.error is not None:
        return row.error.message[:_LONGEST] or row.error.type, searched.error
    return citations.unmarked(format.without_markdown(row.output_preview)), searched.output


_RENDER: dict[Level, Callable[[Any, SearchPhrases, str], str]] = {
    "session": session_row,
    "turn": turn_row,
    "response": response_row,
    "step": step_row,
}

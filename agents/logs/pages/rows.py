"""Render rows of the lists as HTML, for the first load, for filters and for live updates alike."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext

from agents.base import ids
from agents.logs.pages import step_sparkline, turn_summary
from agents.logs.pages.columns import cells
from agents.logs.pages.step_sparkline import StepSparkline
from agents.logs.schemas.rows import ResponseRow, SessionRow, StepRow, TurnRow
from agents.logs.store import match_snippets
from agents.logs.store.match_snippets import MatchSnippet
from agents.query.tree import FreeText, Level, Query, SearchPhrase, leaves
from agents.responses.wire import citations
from agents.uikit import format, highlight
from agents.uikit.highlight import Phrase, SearchPhrases, TextPart
from agents.uikit.links import at
from agents.uikit.templates import macro

_MAX_ERROR = 300
"""Characters of an error in a row; the turn's page has the full text."""
_SNIPPET_CHARS = 160
"""Characters of a step's text shown as a snippet."""
_RUNNING = ("queued", "in_progress")


def rows(level: Level, level_rows: Sequence[Any], query: Query | None = None) -> list[str]:
    """Render the ``<tr>`` of each row, with the matches of ``query`` marked; their links carry the query,
    so that a turn's page leads to its neighbours in the list."""
    searched, view = highlight.search_phrases(query), _VIEWS[level]
    turn_params = _turn_params(level, query)
    rendered = [_draw(level, view(row, searched, turn_params)) for row in level_rows]
    unmarked = [row for row, html in zip(level_rows, rendered, strict=True) if level == "turn" and "<mark>" not in html]
    return (
        rendered
        if query is None or not unmarked
        else _with_snippets(rendered, level_rows, unmarked, query, turn_params)
    )


def _with_snippets(
    rendered: list[str], turn_rows: Sequence[TurnRow], unmarked: Sequence[TurnRow], query: Query, turn_params: str
) -> list[str]:
    """Render rows whose match is in a step with a snippet of that step instead of their output."""
    phrase = _free_phrase(query)
    if phrase is None:
        return rendered
    snippets = match_snippets.of_turns([row.id for row in unmarked], phrase)
    searched = highlight.search_phrases(query)
    return [
        _draw("turn", turn_view(row, searched, turn_params, snippets[row.id])) if row.id in snippets else html
        for row, html in zip(turn_rows, rendered, strict=True)
    ]


def _free_phrase(query: Query) -> SearchPhrase | None:
    """Return the first free text of the query that the index can find."""
    phrases = (leaf.words for leaf in leaves(query.tree) if isinstance(leaf, FreeText))
    return next((phrase for phrase in phrases if not phrase.inside), None)


def with_boxes(rendered: Sequence[str]) -> list[str]:
    """Add a checkbox to each row, for a page without JavaScript."""
    return [SafeString(_ROW_START.sub(_box, html, count=1)) for html in rendered]


_ROW_START = re.compile(r'(<tr class="log-row" role="row" data-id="([\w-]+)".*?<td [^>]*>)', re.DOTALL)


def _box(match: re.Match[str]) -> str:
    label = gettext("Choose this row")
    box = '<label class="pick" data-keep><input type="checkbox" name="ids" value="{}" form="acts">{}</label>'
    return match[1] + format_html(box, match[2], format_html('<span class="visually-hidden">{}</span>', label))


def _turn_params(level: Level, query: Query | None) -> str:
    """Return the parameters of a turn's URL: the query of the list it is in, and the text that was searched for."""
    if query is None or not query.text:
        return ""
    search_text = next((leaf.words.text for leaf in leaves(query.tree) if isinstance(leaf, FreeText)), "")
    params = {"q": query.text if level == "turn" else "", "find": search_text}
    return "?" + urlencode({name: text for name, text in params.items() if text}) if any(params.values()) else ""


@dataclass(slots=True)
class RowView:
    """What the cells of a row draw: the row, its links, and texts in parts, of which some are marked.

    ``snippet`` is the step of a turn that holds the searched text, ``strip`` the picture of its steps.
    """

    row: TurnRow | SessionRow | StepRow | ResponseRow
    id: str
    url: str
    peek: str
    first: Sequence[TextPart]
    last: Sequence[TextPart]
    running: bool = False
    elapsed_ms: float = 0.0
    snippet: MatchSnippet | None = None
    strip: StepSparkline | None = None
    metadata: Sequence[tuple[str, str]] = ()


def _draw(level: Level, view: RowView) -> str:
    """Draw a row cell by cell. A loop in a template would cost a tenth more, and rows are drawn by the hundred."""
    drawn = "".join([f'<td role="cell" class="{classes}">{cell(view)}</td>\n' for classes, cell in cells(level)])
    start = macro("logs/_cells.html", "row_start")(view)
    return SafeString(f"{start}{drawn}</tr>\n")


def turn_view(
    row: TurnRow, searched: SearchPhrases, turn_params: str = "", snippet: MatchSnippet | None = None
) -> RowView:
    turn_id, elapsed_ms = ids.public(ids.Kind.TURN, row.id), _elapsed_ms(row)
    output, phrases = _last_text(row, searched)
    return RowView(
        row,
        id=turn_id,
        url=at(f"/turns/{turn_id}/{turn_params}"),
        peek=at(f"/turns/{turn_id}/peek/{turn_params}"),
        first=highlight.text_parts(row.input_preview, searched.input),
        last=highlight.snippet(snippet.text, searched.output, _SNIPPET_CHARS)
        if snippet
        else highlight.text_parts(output, phrases),
        snippet=snippet,
        strip=step_sparkline.strip(row, elapsed_ms),
        running=row.status in _RUNNING and not row.undecided,
        elapsed_ms=elapsed_ms,
    )


def response_view(row: ResponseRow, searched: SearchPhrases, turn_params: str = "") -> RowView:
    output, phrases = _last_text(row, searched)
    return RowView(
        row,
        id=row.id,
        url=at(f"/responses/{row.id}/"),
        peek=at(f"/turns/{ids.public(ids.Kind.TURN, row.turn_id)}/peek/{turn_params}"),
        first=highlight.text_parts(row.input_preview, searched.input),
        last=highlight.text_parts(output, phrases),
        running=row.status in _RUNNING,
        elapsed_ms=_elapsed_ms(row),
    )


def step_view(row: StepRow, searched: SearchPhrases, turn_params: str = "") -> RowView:
    output, phrases = _last_text(row, searched)
    return RowView(
        row,
        id=ids.public(ids.Kind.STEP, row.id),
        url=step_url(row),
        peek=at(
            f"/turns/{ids.public(ids.Kind.TURN, row.turn_id)}/peek/?{urlencode(_step_params(row))}#step-{row.number}"
        ),
        first=highlight.text_parts(row.input_preview, searched.input),
        last=highlight.text_parts(output, phrases),
        running=row.status in _RUNNING,
        elapsed_ms=_elapsed_ms(row),
    )


def _step_params(row: StepRow) -> dict[str, int]:
    return {"from": row.number // turn_summary.PAGE_STEPS * turn_summary.PAGE_STEPS, "step": row.number}


def step_url(row: StepRow) -> str:
    """Return the URL of a step on the page of its turn."""
    start = turn_summary.window_query(row.number // turn_summary.PAGE_STEPS * turn_summary.PAGE_STEPS)
    return at(f"/turns/{ids.public(ids.Kind.TURN, row.turn_id)}/{start}#step-{row.number}")


def session_view(row: SessionRow, searched: SearchPhrases, turn_params: str = "") -> RowView:
    """Return the view of a session, with the input and output of its last turn."""
    last_turn = row.last_turn
    output, phrases = _last_text(last_turn, searched) if last_turn else ("", ())
    return RowView(
        row,
        id=ids.public(ids.Kind.SESSION, row.id),
        url=at(f"/sessions/{ids.public(ids.Kind.SESSION, row.id)}/"),
        peek=at(f"/turns/{ids.public(ids.Kind.TURN, last_turn.id)}/peek/{turn_params}") if last_turn else "",
        first=highlight.text_parts(last_turn.input_preview, searched.input) if last_turn else [],
        last=highlight.text_parts(output, phrases) if output else [],
        metadata=[(name, value) for name, value in row.metadata.items() if name != "name"][:3],
    )


def _elapsed_ms(row: TurnRow | ResponseRow | StepRow) -> float:
    """Return the duration so far, or in all."""
    if row.status in _RUNNING:
        return max((ids.now_us() - row.started_at) / 1000, 0.0)
    return row.duration_ms or 0.0


def _last_text(row: TurnRow | ResponseRow | StepRow, searched: SearchPhrases) -> tuple[str, tuple[Phrase, ...]]:
    """Return the output, or the error of a failed row, and the phrases to mark in it."""
    if row.error is not None:
        return row.error.message[:_MAX_ERROR] or row.error.type, searched.error
    return citations.remove_marks(format.without_markdown(row.output_preview)), searched.output


_VIEWS: dict[Level, Callable[[Any, SearchPhrases, str], RowView]] = {
    "session": session_view,
    "turn": turn_view,
    "response": response_view,
    "step": step_view,
}

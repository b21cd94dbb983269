"""Render rows of the lists as HTML, for the first load, for filters and for live updates alike."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext

from agents.base import ids
from agents.logs.pages import row_snippets, step_sparkline, turn_summary
from agents.logs.pages.columns import cells
from agents.logs.pages.row_snippets import RowSnippet
from agents.logs.pages.step_sparkline import StepSparkline
from agents.logs.schemas.rows import ResponseRow, SessionRow, StepRow, TurnRow
from agents.query.tree import Level, Query
from agents.record.store import forks
from agents.responses.wire import citations
from agents.uikit import format, highlight
from agents.uikit.highlight import Phrase, SearchPhrases, TextPart
from agents.uikit.links import at, with_params
from agents.uikit.templates import macro

_MAX_ERROR = 300
"""Characters of an error in a row; the turn's page has the full text."""
_MOST_TAGS = 3
"""Tags that stand before the words of a row; the turn's page has all."""
_MOST_METADATA = 3
"""Pairs of the metadata in a row; the page of the turn or session has all."""
_MAX_METADATA = 100
"""Characters of a value of the metadata in a row."""
_RUNNING = ("queued", "in_progress")

Carried = Mapping[str, str]
"""Parameters that the links of a row carry on."""
NOTHING: Carried = {}


def rows(level: Level, level_rows: Sequence[Any], query: Query | None = None) -> list[str]:
    """Render the ``<tr>`` of each row, with the matches of ``query`` marked; their links carry the query,
    so that a turn's page leads to its neighbours in the list."""
    searched, view, carried = highlight.search_phrases(query), _VIEWS[level], _carried(level, query)
    snippets = row_snippets.of_rows(level, level_rows, query)
    views = [view(row, searched, carried) for row in level_rows]
    if level == "turn":
        forked = forks.among([row.id for row in level_rows])
        views = [replace(view, is_fork=view.row.id in forked) for view in views] if forked else views
    return [
        _draw(level, replace(view, last=snippets[view.row.id].parts, snippet=snippets[view.row.id]))
        if view.row.id in snippets
        else _draw(level, view)
        for view in views
    ]


def with_boxes(rendered: Sequence[str]) -> list[str]:
    """Add a checkbox to each row, for a page without JavaScript."""
    return [SafeString(_ROW_START.sub(_box, html, count=1)) for html in rendered]


_ROW_START = re.compile(r'(<tr class="log-row" role="row" data-id="([\w-]+)".*?<td [^>]*>)', re.DOTALL)


def _box(match: re.Match[str]) -> str:
    label = gettext("Select this row")
    box = '<label class="pick" data-keep><input type="checkbox" name="ids" value="{}" form="acts">{}</label>'
    return match[1] + format_html(box, match[2], format_html('<span class="visually-hidden">{}</span>', label))


def _carried(level: Level, query: Query | None) -> dict[str, str]:
    """Return the parameters that the links of rows carry on: the query of a list of turns, and the words that were
    searched for."""
    if query is None or not query.text:
        return {}
    params = {"q": query.text if level == "turn" else "", "find": highlight.find_text(query)}
    return {name: text for name, text in params.items() if text}


@dataclass(slots=True)
class RowView:
    """What the cells of a row draw: the row, its links, and texts in parts, of which some are marked.

    ``snippet`` is the text with the searched words where the row itself does not show them, and then ``last`` is a line
    of it; ``strip`` is the picture of the steps, ``tags`` are those that stand before the words.
    """

    row: TurnRow | SessionRow | StepRow | ResponseRow
    id: str
    url: str
    peek: str
    first: Sequence[TextPart]
    last: Sequence[TextPart]
    running: bool = False
    elapsed_ms: float = 0.0
    snippet: RowSnippet | None = None
    strip: StepSparkline | None = None
    metadata: Sequence[tuple[str, str]] = ()
    is_fork: bool = False
    tags: Sequence[str] = ()


def _draw(level: Level, view: RowView) -> str:
    """Draw a row cell by cell. A loop in a template would cost a tenth more, and rows are drawn by the hundred."""
    drawn = "".join([f'<td role="cell" class="{classes}">{cell(view)}</td>\n' for classes, cell in cells(level)])
    start = macro("logs/_cells.html", "row_start")(view)
    return SafeString(f"{start}{drawn}</tr>\n")


def turn_view(row: TurnRow, searched: SearchPhrases, carried: Carried = NOTHING) -> RowView:
    turn_id, elapsed_ms = ids.public(ids.Kind.TURN, row.id), _elapsed_ms(row)
    output, phrases = _last_text(row, searched)
    return RowView(
        row,
        id=turn_id,
        url=with_params(at(f"/turns/{turn_id}/"), carried),
        peek=with_params(at(f"/turns/{turn_id}/peek/"), carried),
        first=highlight.line_parts(row.input_preview, searched.input),
        last=highlight.line_parts(output, phrases),
        strip=step_sparkline.strip(row, elapsed_ms),
        running=row.status in _RUNNING and not row.undecided,
        elapsed_ms=elapsed_ms,
        tags=row.tags[:_MOST_TAGS],
        metadata=_metadata(row.metadata),
    )


def _metadata(metadata: Mapping[str, Any]) -> list[tuple[str, str]]:
    pairs = islice(((name, value) for name, value in metadata.items() if name != "name"), _MOST_METADATA)
    return [(name[:_MAX_METADATA], str(value)[:_MAX_METADATA]) for name, value in pairs]


def response_view(row: ResponseRow, searched: SearchPhrases, carried: Carried = NOTHING) -> RowView:
    output, phrases = _last_text(row, searched)
    return RowView(
        row,
        id=row.id,
        url=at(f"/responses/{row.id}/"),
        peek=with_params(at(f"/turns/{ids.public(ids.Kind.TURN, row.turn_id)}/peek/"), carried),
        first=highlight.line_parts(row.input_preview, searched.input),
        last=highlight.line_parts(output, phrases),
        running=row.status in _RUNNING,
        elapsed_ms=_elapsed_ms(row),
    )


def step_view(row: StepRow, searched: SearchPhrases, carried: Carried = NOTHING) -> RowView:
    output, phrases = _last_text(row, searched)
    return RowView(
        row,
        id=ids.public(ids.Kind.STEP, row.id),
        url=step_url(row, carried),
        peek=with_params(
            at(f"/turns/{ids.public(ids.Kind.TURN, row.turn_id)}/peek/"),
            {"from": _page_start(row), "step": row.number, **carried},
            f"#step-{row.number}",
        ),
        first=highlight.line_parts(row.input_preview, searched.input),
        last=highlight.line_parts(output, phrases),
        running=row.status in _RUNNING,
        elapsed_ms=_elapsed_ms(row),
    )


def _page_start(row: StepRow) -> int:
    return row.number // turn_summary.PAGE_STEPS * turn_summary.PAGE_STEPS


def step_url(row: StepRow, carried: Carried = NOTHING) -> str:
    """Return the URL of a step on the page of its turn."""
    start = {"from": _page_start(row)} if _page_start(row) else {}
    path = at(f"/turns/{ids.public(ids.Kind.TURN, row.turn_id)}/")
    return with_params(path, {**start, **carried}, f"#step-{row.number}")


def session_view(row: SessionRow, searched: SearchPhrases, carried: Carried = NOTHING) -> RowView:
    """Return the view of a session, with the input and output of its last turn."""
    last_turn = row.last_turn
    output, phrases = _last_text(last_turn, searched) if last_turn else ("", ())
    return RowView(
        row,
        id=ids.public(ids.Kind.SESSION, row.id),
        url=with_params(at(f"/sessions/{ids.public(ids.Kind.SESSION, row.id)}/"), carried),
        peek=with_params(at(f"/sessions/{ids.public(ids.Kind.SESSION, row.id)}/peek/"), carried),
        first=highlight.line_parts(last_turn.input_preview, searched.input) if last_turn else [],
        last=highlight.line_parts(output, phrases) if output else [],
        metadata=_metadata(row.metadata),
    )


def _elapsed_ms(row: TurnRow | ResponseRow | StepRow) -> float:
    """Return the duration so far, or in all, without waits that are over."""
    if row.status in _RUNNING:
        waited = row.waited_ms or 0 if isinstance(row, TurnRow) else 0
        return max((ids.now_us() - row.started_at) / 1000 - waited, 0.0)
    return row.duration_ms or 0.0


def _last_text(row: TurnRow | ResponseRow | StepRow, searched: SearchPhrases) -> tuple[str, tuple[Phrase, ...]]:
    """Return the output, or the error of a failed row, and the phrases to mark in it."""
    if row.error is not None:
        return row.error.message[:_MAX_ERROR] or row.error.type, searched.error
    return citations.remove_marks(format.without_markdown(row.output_preview)), searched.output


_VIEWS: dict[Level, Callable[[Any, SearchPhrases, Carried], RowView]] = {
    "session": session_view,
    "turn": turn_view,
    "response": response_view,
    "step": step_view,
}

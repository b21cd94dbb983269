"""The page of two turns side by side."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import msgspec
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext, gettext_noop

from agents.base import ids
from agents.forks.pages import origins
from agents.forks.schemas.comparison import Comparison, Difference, StepPair, StepSide, TextDifference
from agents.forks.store import comparison_input
from agents.logs.schemas.rows import TurnRow
from agents.uikit import format
from agents.uikit.access import PageRequest, page
from agents.uikit.elements import type_label
from agents.uikit.links import at
from agents.uikit.text_diff import DiffPart, diff

WINDOW = 100
"""Rows of steps on one page; steps that are the same and follow each other are one row."""
CONTEXT_CHARS = 300
"""Characters shown of what is the same, at either end of it."""
MAX_DIFFERENCE_CHARS = 4_000
"""Characters shown of what differs."""

_ID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_KINDS = {
    "changed": gettext_noop("changed"),
    "deleted": gettext_noop("only in the first"),
    "inserted": gettext_noop("only in the second"),
}


@page("read")
def compare_choice(request: PageRequest) -> HttpResponse:
    """Leads to the comparison of ``?a=…&b=…``, by ids or addresses; asks for what is missing."""
    entered = {name: request.GET.get(name, "").strip() for name in ("a", "b")}
    matches = {name: _ID.findall(text) for name, text in entered.items()}
    if all(matches.values()):
        return redirect("turn-compare", matches["a"][0], matches["b"][0])
    invalid = [name for name, text in entered.items() if text and not matches[name]]
    status = 400 if invalid else 200
    return render(request, "forks/comparison_choice.html", {**entered, "wrong": invalid}, status=status)


@page("read")
def compare_page(request: PageRequest, turn_id: str, other_id: str) -> HttpResponse:
    result = comparison_input.comparison(request.actor, turn_id, other_id)
    only = request.GET.get("only") == "differences"
    rows = list(_rows(result, only=only))
    start = _start(request, len(rows))
    context = {
        "found": result,
        "heads": [_head(letter, row, result.fork) for letter, row in (("A", result.a), ("B", result.b))],
        "facts": [_fact(item) for item in result.facts if not (only and item.same)],
        "parameters": [_parameter(item) for item in result.parameters if not item.same],
        "parameters_same": sum(1 for item in result.parameters if item.same),
        "texts": [_text(item) for item in result.texts if not (only and item.same)],
        "rows": rows[start : start + WINDOW],
        "same": not any(row.kind != "same" for row in rows),
        "only": only,
        "swapped": at(f"/turns/{other_id}/compare/{turn_id}/"),
        "earlier": _query(only, max(start - WINDOW, 0)) if start else "",
        "later": _query(only, start + WINDOW) if start + WINDOW < len(rows) else "",
        "all_url": "?",
        "only_url": "?only=differences",
    }
    return render(request, "forks/comparison.html", context)


def _start(request: HttpRequest, count: int) -> int:
    text = request.GET.get("from", "")
    start = int(text) if text.isdecimal() and len(text) < 8 else 0
    return min(start, max(count - 1, 0)) // WINDOW * WINDOW


def _query(only: bool, start: int) -> str:
    return f"?{'only=differences&' if only else ''}from={start}"


# ------------------------------------------------------------------------------------------- the heads


@dataclass(frozen=True, slots=True)
class ComparedTurn:
    """One of the two turns. ``relation`` says how it came from the other."""

    letter: str
    url: str
    title: str
    row: TurnRow
    relation: str


def _head(letter: str, row: TurnRow, fork: int | None) -> ComparedTurn:
    relation = ""
    if fork is not None:
        relation = gettext("the fork") if fork == row.id else gettext("the original")
    title = " ".join(row.input_preview.split())[:120]
    return ComparedTurn(letter, at(f"/turns/{ids.public(ids.Kind.TURN, row.id)}/"), title, row, relation)


# ------------------------------------------------------------------------------------------- the facts


@dataclass(frozen=True, slots=True)
class ComparedFact:
    """A value of both turns as people read it. ``better`` is nothing that is judged: only less or more."""

    name: str
    kind: str
    a: Any
    b: Any
    same: bool
    change: str = ""


_FACTS: dict[str, tuple[str, str]] = {
    "status": (gettext_noop("status"), "status"),
    "stop_reason": (gettext_noop("stop reason"), "words"),
    "model": (gettext_noop("model"), "code"),
    "duration_ms": (gettext_noop("duration"), "duration"),
    "ttft_ms": (gettext_noop("time to first token"), "duration"),
    "input_tokens": (gettext_noop("input tokens"), "count"),
    "output_tokens": (gettext_noop("output tokens"), "count"),
    "cost_usd": (gettext_noop("cost"), "cost"),
    "steps": (gettext_noop("steps"), "count"),
    "tools": (gettext_noop("tool calls"), "count"),
    "errors": (gettext_noop("errors"), "count"),
}
_FORMATTERS: dict[str, Callable[[Any], str]] = {
    "duration": format.duration,
    "count": format.count,
    "cost": format.cost,
    "words": lambda text: format.readable_name(text) if text else format.NOTHING,
    "code": lambda text: str(text or format.NOTHING),
    "status": str,
}


def _fact(difference: Difference) -> ComparedFact:
    name, kind = _FACTS[difference.name]
    show = _FORMATTERS[kind]
    a, b = show(difference.a), show(difference.b)
    change = "" if difference.same or difference.change is None else _signed(show, difference.change)
    return ComparedFact(gettext(name), kind, a, b, difference.same, change)


def _signed(show: Callable[[Any], str], change: float) -> str:
    """``+1.2 s``."""
    size = abs(change)
    return f"{'+' if change > 0 else '−'}{show(int(size) if float(size).is_integer() else size)}"


# --------------------------------------------------------------------------------------- words and more


@dataclass(frozen=True, slots=True)
class ComparedRun:
    """A piece as it is shown: ``op`` as in `Piece`, or ``left`` for what is left out, which ``text`` names."""

    op: Literal["same", "deleted", "inserted", "left"]
    text: str


@dataclass(frozen=True, slots=True)
class ComparedText:
    """A text of both, by name: what each side shows of it."""

    name: str
    same: bool
    cut: bool
    first: Sequence[ComparedRun]
    second: Sequence[ComparedRun]


_NAMES = {
    "input": gettext_noop("asked"),
    "output": gettext_noop("answered"),
    "said": gettext_noop("said"),
    "reasoning": gettext_noop("thought"),
    "calls": gettext_noop("called"),
    "arguments": gettext_noop("arguments"),
    "result": gettext_noop("result"),
    "shields": gettext_noop("shields"),
    "violation": gettext_noop("violation"),
    "query": gettext_noop("query"),
    "context": gettext_noop("found"),
    "kind": gettext_noop("kind"),
    "data": gettext_noop("data"),
    "error": gettext_noop("error"),
    "name": gettext_noop("model"),
    "status": gettext_noop("status"),
    "instructions": gettext_noop("instructions"),
    "sampling_params": gettext_noop("sampling"),
}


def _name(name: str) -> str:
    return gettext(_NAMES[name]) if name in _NAMES else format.readable_name(name)


def _text(text: TextDifference) -> ComparedText:
    return _text_rows(text.name, text.pieces, same=text.same, cut=text.cut)


def _text_rows(name: str, parts: Sequence[DiffPart], *, same: bool, cut: bool = False) -> ComparedText:
    sides = [
        list(_runs(part for part in parts if part.op in ops)) for ops in (("same", "deleted"), ("same", "inserted"))
    ]
    return ComparedText(_name(name), same, cut, sides[0], sides[1])


def _runs(parts: Iterable[DiffPart]) -> Iterator[ComparedRun]:
    """Pieces no longer than a page can bear, each cut said."""
    for part in parts:
        limit = 2 * CONTEXT_CHARS if part.op == "same" else MAX_DIFFERENCE_CHARS
        omitted = len(part.text) - limit
        if omitted < CONTEXT_CHARS:
            yield ComparedRun(part.op, part.text)
            continue
        end = CONTEXT_CHARS if part.op == "same" else 0
        yield ComparedRun(part.op, part.text[: limit - end])
        message = (
            gettext("%(count)s characters, the same") if part.op == "same" else gettext("%(count)s characters more")
        )
        yield ComparedRun("left", message % {"count": format.count(omitted)})
        if end:
            yield ComparedRun(part.op, part.text[-end:])


def _parameter(difference: Difference) -> ComparedText:
    a, b = _pretty(difference.a), _pretty(difference.b)
    return _text_rows(difference.name, diff(a, b), same=difference.same)


def _pretty(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else msgspec.json.format(msgspec.json.encode(value), indent=2).decode()


# ------------------------------------------------------------------------------------------- the steps


@dataclass(frozen=True, slots=True)
class RowSide:
    """One side of a row of steps."""

    url: str
    value_url: str
    side: StepSide
    name: str
    origin: str


@dataclass(frozen=True, slots=True)
class ComparedStepRow:
    """Steps that answer to each other, or several pairs that are the same. ``number`` counts the rows."""

    kind: str
    kind_label: str
    type: str
    type_label: str
    first: RowSide | None = None
    second: RowSide | None = None
    texts: Sequence[ComparedText] = ()
    values: Sequence[ComparedText] = ()
    folded: Sequence[ComparedStepRow] = ()
    count: int = 0


def _rows(comparison: Comparison, *, only: bool) -> Iterator[ComparedStepRow]:
    for same, group in itertools.groupby(comparison.steps, key=lambda pair: pair.kind == "same"):
        pairs = list(group)
        if not same:
            yield from (_row(comparison, pair) for pair in pairs)
        elif not only:
            yield ComparedStepRow(
                "same", "", "", "", folded=[_row(comparison, pair) for pair in pairs], count=len(pairs)
            )


def _row(comparison: Comparison, pair: StepPair) -> ComparedStepRow:
    return ComparedStepRow(
        kind=pair.kind,
        kind_label=gettext(_KINDS[pair.kind]) if pair.kind in _KINDS else "",
        type=pair.type,
        type_label=type_label(pair.type),
        first=_row_side(comparison.a, pair.a),
        second=_row_side(comparison.b, pair.b),
        texts=[_text(item) for item in pair.texts],
        values=[_text_rows(item.name, diff(str(item.a), str(item.b)), same=False) for item in pair.values],
    )


def _row_side(turn: TurnRow, side: StepSide | None) -> RowSide | None:
    if side is None:
        return None
    url = at(f"/turns/{ids.public(ids.Kind.TURN, turn.id)}/")
    start = (side.place - 1) // 500 * 500
    return RowSide(
        url=f"{url}{f'?from={start}' if start else ''}#step-{side.place - 1}",
        value_url=f"{url}steps/{ids.public(ids.Kind.STEP, side.id)}/value/",
        side=side,
        name=side.name,
        origin=origins.label_of(side.origin.how) if side.origin else "",
    )

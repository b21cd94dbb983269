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
from agents.uikit.text_diff import DiffPart, diff

WINDOW = 100
"""Rows of steps on one page; steps that are the same and follow each other are one row."""
AROUND = 300
"""Characters shown of what is the same, at either end of it."""
LONGEST = 4_000
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
    given = {name: request.GET.get(name, "").strip() for name in ("a", "b")}
    found = {name: _ID.findall(text) for name, text in given.items()}
    if all(found.values()):
        return redirect("turn-compare", found["a"][0], found["b"][0])
    wrong = [name for name, text in given.items() if text and not found[name]]
    status = 400 if wrong else 200
    return render(request, "forks/comparison_choice.html", {**given, "wrong": wrong}, status=status)


@page("read")
def compare_page(request: PageRequest, turn_id: str, other_id: str) -> HttpResponse:
    found = comparison_input.comparison(request.actor, turn_id, other_id)
    only = request.GET.get("only") == "differences"
    rows = list(_rows(found, only=only))
    start = _start(request, len(rows))
    context = {
        "found": found,
        "heads": [_head(letter, row, found.fork) for letter, row in (("A", found.a), ("B", found.b))],
        "facts": [_fact(one) for one in found.facts if not (only and one.same)],
        "parameters": [_parameter(one) for one in found.parameters if not one.same],
        "parameters_same": sum(1 for one in found.parameters if one.same),
        "texts": [_text(one) for one in found.texts if not (only and one.same)],
        "rows": rows[start : start + WINDOW],
        "same": not any(row.kind != "same" for row in rows),
        "only": only,
        "swapped": f"/turns/{other_id}/compare/{turn_id}/",
        "earlier": _query(only, max(start - WINDOW, 0)) if start else "",
        "later": _query(only, start + WINDOW) if start + WINDOW < len(rows) else "",
        "all_url": "?",
        "only_url": "?only=differences",
    }
    return render(request, "forks/comparison.html", context)


def _start(request: HttpRequest, count: int) -> int:
    asked = request.GET.get("from", "")
    start = int(asked) if asked.isdecimal() and len(asked) < 8 else 0
    return min(start, max(count - 1, 0)) // WINDOW * WINDOW


def _query(only: bool, start: int) -> str:
    return f"?{'only=differences&' if only else ''}from={start}"


# ------------------------------------------------------------------------------------------- the heads


@dataclass(frozen=True, slots=True)
class Head:
    """One of the two turns. ``relation`` says how it came from the other."""

    letter: str
    url: str
    title: str
    row: TurnRow
    relation: str


def _head(letter: str, row: TurnRow, fork: int | None) -> Head:
    relation = ""
    if fork is not None:
        relation = gettext("the fork") if fork == row.id else gettext("what was forked")
    title = " ".join(row.input_preview.split())[:120]
    return Head(letter, f"/turns/{ids.public(ids.Kind.TURN, row.id)}/", title, row, relation)


# ------------------------------------------------------------------------------------------- the facts


@dataclass(frozen=True, slots=True)
class Fact:
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
_SHOWN: dict[str, Callable[[Any], str]] = {
    "duration": format.duration,
    "count": format.count,
    "cost": format.cost,
    "words": lambda text: format.readable_name(text) if text else format.NOTHING,
    "code": lambda text: str(text or format.NOTHING),
    "status": str,
}


def _fact(one: Difference) -> Fact:
    name, kind = _FACTS[one.name]
    show = _SHOWN[kind]
    a, b = show(one.a), show(one.b)
    change = "" if one.same or one.change is None else _signed(show, one.change)
    return Fact(gettext(name), kind, a, b, one.same, change)


def _signed(show: Callable[[Any], str], change: float) -> str:
    """``+1.2 s``."""
    size = abs(change)
    return f"{'+' if change > 0 else '−'}{show(int(size) if float(size).is_integer() else size)}"


# --------------------------------------------------------------------------------------- words and more


@dataclass(frozen=True, slots=True)
class Run:
    """A piece as it is shown: ``op`` as in `Piece`, or ``left`` for what is left out, which ``text`` names."""

    op: Literal["same", "deleted", "inserted", "left"]
    text: str


@dataclass(frozen=True, slots=True)
class Words:
    """A text of both, by name: what each side shows of it."""

    name: str
    same: bool
    cut: bool
    first: Sequence[Run]
    second: Sequence[Run]


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


def _text(one: TextDifference) -> Words:
    return _words(one.name, one.pieces, same=one.same, cut=one.cut)


def _words(name: str, found: Sequence[DiffPart], *, same: bool, cut: bool = False) -> Words:
    sides_ = [
        list(_runs(piece for piece in found if piece.op in ops)) for ops in (("same", "deleted"), ("same", "inserted"))
    ]
    return Words(_name(name), same, cut, sides_[0], sides_[1])


def _runs(found: Iterable[DiffPart]) -> Iterator[Run]:
    """Pieces no longer than a page can bear, each cut said."""
    for piece in found:
        most = 2 * AROUND if piece.op == "same" else LONGEST
        left = len(piece.text) - most
        if left < AROUND:
            yield Run(piece.op, piece.text)
            continue
        end = AROUND if piece.op == "same" else 0
        yield Run(piece.op, piece.text[: most - end])
        words = (
            gettext("%(count)s characters, the same") if piece.op == "same" else gettext("%(count)s characters more")
        )
        yield Run("left", words % {"count": format.count(left)})
        if end:
            yield Run(piece.op, piece.text[-end:])


def _parameter(one: Difference) -> Words:
    a, b = _laid_out(one.a), _laid_out(one.b)
    return _words(one.name, diff(a, b), same=one.same)


def _laid_out(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else msgspec.json.format(msgspec.json.encode(value), indent=2).decode()


# ------------------------------------------------------------------------------------------- the steps


@dataclass(frozen=True, slots=True)
class Half:
    """One side of a row of steps."""

    url: str
    value_url: str
    side: StepSide
    name: str
    origin: str


@dataclass(frozen=True, slots=True)
class Row:
    """Steps that answer to each other, or several pairs that are the same. ``number`` counts the rows."""

    kind: str
    kind_words: str
    type: str
    type_words: str
    first: Half | None = None
    second: Half | None = None
    texts: Sequence[Words] = ()
    values: Sequence[Words] = ()
    folded: Sequence[Row] = ()
    count: int = 0


def _rows(found: Comparison, *, only: bool) -> Iterator[Row]:
    for same, group in itertools.groupby(found.steps, key=lambda pair: pair.kind == "same"):
        pairs = list(group)
        if not same:
            yield from (_row(found, pair) for pair in pairs)
        elif not only:
            yield Row("same", "", "", "", folded=[_row(found, pair) for pair in pairs], count=len(pairs))


def _row(found: Comparison, pair: StepPair) -> Row:
    return Row(
        kind=pair.kind,
        kind_words=gettext(_KINDS[pair.kind]) if pair.kind in _KINDS else "",
        type=pair.type,
        type_words=type_label(pair.type),
        first=_half(found.a, pair.a),
        second=_half(found.b, pair.b),
        texts=[_text(one) for one in pair.texts],
        values=[_words(one.name, diff(str(one.a), str(one.b)), same=False) for one in pair.values],
    )


def _half(turn: TurnRow, side: StepSide | None) -> Half | None:
    if side is None:
        return None
    url = f"/turns/{ids.public(ids.Kind.TURN, turn.id)}/"
    start = (side.place - 1) // 500 * 500
    return Half(
        url=f"{url}{f'?from={start}' if start else ''}#step-{side.place - 1}",
        value_url=f"{url}steps/{ids.public(ids.Kind.STEP, side.id)}/value/",
        side=side,
        name=side.name,
        origin=origins.of(side.origin.how) if side.origin else "",
    )

"""The page of one value: a large text by ranges, with a search; JSON as a tree."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from urllib.parse import urlencode

from django.http import HttpResponse
from django.shortcuts import render
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from agents.base.tokenizer import tokens
from agents.logs.store import turn_log
from agents.pages import downloads, turn_search
from agents.pages.downloads import ByteSource
from agents.record.store import search_in_turn as found_in
from agents.record.store import turns
from agents.record.store.large_values import BLOCK
from agents.uikit import format, json_tree, json_view
from agents.uikit.access import PageRequest, page
from agents.uikit.highlight import Phrase
from agents.uikit.http_responses import plain_response
from agents.uikit.json_tree import TreeBranch
from agents.uikit.links import at

PAGE_BYTES = 64 * 1024
"""Bytes of a text on a page."""


@page("read")
def step_read(request: PageRequest, turn_id: str, step_id: str) -> HttpResponse:
    """A part of a step, ``?part=result``, from byte ``?at=`` on, or as a tree with ``?path=``."""
    source = downloads.step_source(request.actor, turn_id, step_id, request.GET.get("part", ""))
    return _answer(request, turn_id, source, at(f"/turns/{turn_id}/steps/{step_id}/"))


@page("read")
def turn_read(request: PageRequest, turn_id: str) -> HttpResponse:
    """The page of an input message of a turn, or of its answer."""
    source = downloads.turn_source(request.actor, turn_id, request.GET.get("part", ""))
    return _answer(request, turn_id, source, at(f"/turns/{turn_id}/"))


def _answer(request: PageRequest, turn_id: str, source: ByteSource, base: str) -> HttpResponse:
    params = {name: request.GET.get(name, "") for name in ("at", "find", "path", "first", "as", "only")}
    url = ValueUrls(base, source.name)
    is_json = source.size <= json_tree.MAX_BYTES and json_tree.looks_like_json(source.read(0, 64))
    branch = _branch(source, params) if is_json and params["as"] != "text" else None
    if branch is not None and params["only"] == "value":
        return plain_response(_member(source, params["path"]), "text/plain")
    content = {"branch": branch, "range": text_range(source, params) if branch is None else None}
    if params["only"] == "part":
        return render(
            request, "pages/_value_tree.html" if branch else "pages/_value_text.html", {**content, "url": url}
        )
    row = turn_log.turn_rows(request.actor, [turns.key_of(turn_id)])
    about = {"turn_id": turn_id, "title": " ".join(row[0].input_preview.split())[:80] if row else ""}
    return render(
        request,
        "pages/value.html",
        {
            **content,
            **about,
            "url": url,
            "name": source.name,
            "size": json_view.byte_size(source.size),
            "is_json": is_json,
        }
        | {"find": params["find"], "too_large": source.size > json_tree.MAX_BYTES},
    )


@dataclass(frozen=True, slots=True)
class ValueUrls:
    """URLs of a value; ``base`` is the URL of its turn or step."""

    base: str
    part: str

    @property
    def value(self) -> str:
        """The URL of the full value."""
        return f"{self.base}value/?{urlencode({'part': self.part})}"

    @property
    def read(self) -> str:
        """The URL of its page."""
        return f"{self.base}read/?{urlencode({'part': self.part})}"


# --------------------------------------------------------------------------------------------- text


@dataclass(frozen=True, slots=True)
class TextRange:
    """A range of a text, ``start`` and ``end`` in bytes. ``previous_start`` and ``next_start`` are those of its
    neighbours; ``search_state`` is ``found``, ``none``, ``unfinished`` or, without a search, empty."""

    html: SafeString
    start: int
    end: int
    size: int
    previous_start: int | None
    next_start: int | None
    search_state: str
    hit: int | None

    @property
    def next_hit(self) -> int:
        """The position from which the next search starts."""
        return (self.hit or 0) + 1

    @property
    def label(self) -> str:
        """The range as text."""
        return _("bytes %(start)s to %(end)s of %(size)s") % {
            "start": format.integer(self.start),
            "end": format.integer(self.end),
            "size": format.integer(self.size),
        }


def text_range(source: ByteSource, params: Mapping[str, str]) -> TextRange:
    """The requested range of a text: from ``at`` on, or around the next match of ``find``."""
    start, hit, search_state = _number(params["at"], source.size), None, ""
    phrases: tuple[Phrase, ...] = ()
    term = params["find"].replace('"', "").strip()[: turn_search.MAX_SEARCH_CHARS]
    if term:
        phrases = (Phrase(tuple(tokens(term)), True),)
        hit, finished = find_position(source, term.lower().encode(errors="replace"), start)
        search_state = "found" if hit is not None else "none" if finished else "unfinished"
        start = max(hit - PAGE_BYTES // 16, 0) if hit is not None else start
    body = source.read(start, min(start + PAGE_BYTES, source.size))
    skipped = next((index for index, octet in enumerate(body[:4]) if octet & 0xC0 != 0x80), 0) if start else 0
    text = body[skipped:].decode(errors="ignore" if start + len(body) < source.size else "replace")
    start += skipped
    end = start + len(text.encode(errors="replace"))
    html = json_view.show_control_chars(escape(text))
    return TextRange(
        turn_search.mark_matches(html, phrases) if phrases else html,
        start,
        end,
        source.size,
        max(start - PAGE_BYTES, 0) if start else None,
        end if end < source.size else None,
        search_state,
        hit,
    )


def _number(text: str, size: int) -> int:
    return min(int(text), max(size - 1, 0)) if text.isdecimal() and len(text) < 16 else 0


def find_position(source: ByteSource, term: bytes, start: int) -> tuple[int | None, bool]:
    """(position of the first match from ``start`` on, whether the search finished in time)."""
    until, tail, position = time.monotonic() + found_in.TIME_LIMIT_S, b"", start
    while term and position < source.size:
        data = tail + source.read(position, min(position + BLOCK, source.size)).lower()
        index = data.find(term)
        if index >= 0:
            return position - len(tail) + index, True
        position += BLOCK
        tail = data[-len(term) + 1 :] if len(term) > 1 else b""
        if time.monotonic() > until:
            return None, False
    return None, True


# --------------------------------------------------------------------------------------------- tree


def _branch(source: ByteSource, params: Mapping[str, str]) -> TreeBranch | None:
    path = json_tree.read_path(params["path"])
    if path is None or params["at"] or params["find"]:
        return None
    first = int(params["first"]) if params["first"].isdecimal() and len(params["first"]) < 10 else 0
    return json_tree.branch(source.read(0, source.size), path, first)


def _member(source: ByteSource, path: str) -> bytes:
    return json_tree.value_at(source.read(0, source.size), json_tree.read_path(path) or ()) or b""

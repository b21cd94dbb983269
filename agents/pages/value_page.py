"""The page of one value: a large text by ranges, with a search inside; JSON as a tree."""

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
from agents.pages.downloads import Source
from agents.record.store import search_in_turn as found_in
from agents.record.store import turns
from agents.record.store.large_values import BLOCK
from agents.uikit import format, json_tree, json_view
from agents.uikit.access import PageRequest, page
from agents.uikit.highlight import Phrase
from agents.uikit.http_responses import plain_response
from agents.uikit.json_tree import TreeBranch

RANGE = 64 * 1024
"""Bytes of a text on a page."""


@page("read")
def step_read(request: PageRequest, turn_id: str, step_id: str) -> HttpResponse:
    """A piece of a step, ``?part=result``, from ``?at=`` on; as a tree with ``?path=``."""
    source = downloads.of_step(request.actor, turn_id, step_id, request.GET.get("part", ""))
    return _answer(request, turn_id, source, f"/turns/{turn_id}/steps/{step_id}/")


@page("read")
def turn_read(request: PageRequest, turn_id: str) -> HttpResponse:
    """The same of a message a turn was started with, or of its answer."""
    source = downloads.of_turn(request.actor, turn_id, request.GET.get("part", ""))
    return _answer(request, turn_id, source, f"/turns/{turn_id}/")


def _answer(request: PageRequest, turn_id: str, source: Source, base: str) -> HttpResponse:
    asked = {name: request.GET.get(name, "") for name in ("at", "find", "path", "first", "as", "only")}
    url = Urls(base, source.name)
    is_json = source.size <= json_tree.MAX_BYTES and json_tree.looks_like_json(source.read(0, 64))
    branch = _branch(source, asked) if is_json and asked["as"] != "text" else None
    if branch is not None and asked["only"] == "value":
        return plain_response(_member(source, asked["path"]), "text/plain")
    content = {"branch": branch} if branch is not None else {"piece": piece_of(source, asked)}
    if asked["only"] == "part":
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
        | {"find": asked["find"], "too_large": source.size > json_tree.MAX_BYTES},
    )


@dataclass(frozen=True, slots=True)
class Urls:
    """Where a value's pages are: ``base`` is the URL of its turn or step."""

    base: str
    part: str

    @property
    def value(self) -> str:
        """All of it."""
        return f"{self.base}value/?{urlencode({'part': self.part})}"

    @property
    def read(self) -> str:
        """Its page."""
        return f"{self.base}read/?{urlencode({'part': self.part})}"


# --------------------------------------------------------------------------------------------- text


@dataclass(frozen=True, slots=True)
class Piece:
    """A range of a text, ``start`` and ``end`` in bytes; ``before`` and ``behind`` are where its neighbours
    begin. ``said`` tells how a search went."""

    html: SafeString
    start: int
    end: int
    size: int
    before: int | None
    behind: int | None
    said: str
    hit: int | None

    @property
    def next_hit(self) -> int:
        """Where to search on."""
        return (self.hit or 0) + 1

    @property
    def words(self) -> str:
        """Which bytes these are."""
        return _("bytes %(start)s to %(end)s of %(size)s") % {
            "start": format.integer(self.start),
            "end": format.integer(self.end),
            "size": format.integer(self.size),
        }


def piece_of(source: Source, asked: Mapping[str, str]) -> Piece:
    """The range of a text that was asked for, from ``at`` on or from where it holds ``find``."""
    start, hit, said = _number(asked["at"], source.size), None, ""
    phrases: tuple[Phrase, ...] = ()
    wanted = asked["find"].replace('"', "").strip()[: turn_search.LONGEST]
    if wanted:
        phrases = (Phrase(tuple(tokens(wanted)), True),)
        hit, finished = position(source, wanted.lower().encode(errors="replace"), start)
        said = "found" if hit is not None else "none" if finished else "unfinished"
        start = max(hit - RANGE // 16, 0) if hit is not None else start
    body = source.read(start, min(start + RANGE, source.size))
    skipped = next((place for place, octet in enumerate(body[:4]) if octet & 0xC0 != 0x80), 0) if start else 0
    text = body[skipped:].decode(errors="ignore" if start + len(body) < source.size else "replace")
    start += skipped
    end = start + len(text.encode(errors="replace"))
    html = json_view.show_control_chars(escape(text))
    return Piece(
        turn_search.marked(html, phrases) if phrases else html,
        start,
        end,
        source.size,
        max(start - RANGE, 0) if start else None,
        end if end < source.size else None,
        said,
        hit,
    )


def _number(text: str, size: int) -> int:
    return min(int(text), max(size - 1, 0)) if text.isdecimal() and len(text) < 16 else 0


def position(source: Source, wanted: bytes, start: int) -> tuple[int | None, bool]:
    """(where from ``start`` on a text holds these letters, whether it was read to its end)."""
    until, tail, at = time.monotonic() + found_in.TIME_LIMIT_S, b"", start
    while wanted and at < source.size:
        data = tail + source.read(at, min(at + BLOCK, source.size)).lower()
        place = data.find(wanted)
        if place >= 0:
            return at - len(tail) + place, True
        at += BLOCK
        tail = data[-len(wanted) + 1 :] if len(wanted) > 1 else b""
        if time.monotonic() > until:
            return None, False
    return None, True


# --------------------------------------------------------------------------------------------- tree


def _branch(source: Source, asked: Mapping[str, str]) -> TreeBranch | None:
    path = json_tree.read_path(asked["path"])
    if path is None or asked["at"] or asked["find"]:
        return None
    first = int(asked["first"]) if asked["first"].isdecimal() and len(asked["first"]) < 10 else 0
    return json_tree.branch(source.read(0, source.size), path, first)


def _member(source: Source, path: str) -> bytes:
    return json_tree.value_at(source.read(0, source.size), json_tree.read_path(path) or ()) or b""

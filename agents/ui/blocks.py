"""The pieces of a card's body, ready for the templates, and the full texts behind them.

A *value* is the whole text of a piece under a short name (``arguments``, ``result-0``); a *block*
is as much of it as a page shows. What is cut says how large it is and where all of it can be read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from html import escape
from typing import Any, Literal

from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from agents.ui import details, json_view, markdown

Style = Literal["json", "text", "said", "typed", "picture", "link"]

PICTURE_LIMIT = 1_500_000
"""Characters of base64 shown as an image."""

_FENCES = re.compile("`+")
_BASE64 = re.compile(r"[A-Za-z0-9+/\s]+={0,2}\s*")
_MAGIC = (("/9j/", "jpeg"), ("R0lGOD", "gif"), ("UklGR", "webp"), ("iVBORw0KGgo", "png"))


@dataclass(frozen=True, slots=True)
class Value:
    """The whole of something, by name. ``said``: words of the conversation, not data."""

    name: str
    text: str
    said: bool = False


@dataclass(frozen=True, slots=True)
class Block:
    """A piece as shown. ``cut`` is the size of the whole where this is only its beginning, and
    ``source`` what an image or link points to."""

    name: str
    style: Style
    html: SafeString
    cut: str = ""
    source: str = ""
    label: str = ""


def data(value: Value, label: str = "") -> Block:
    """JSON laid out, or text as it is."""
    shown = json_view.shown(value.text)
    return Block(value.name, "json" if shown.is_json else "text", shown.html, shown.cut, label=label)


def arguments(value: Value) -> Block:
    """What a tool is called with: JSON, or the program where that is all it is called with."""
    code = details.program(value.text)
    if code is None:
        return data(value)
    start, cut = _start(code)
    fence = "`" * (max(map(len, _FENCES.findall(start)), default=0) + 3)
    return Block(value.name, "said", markdown.to_html(f"{fence}python\n{start}\n{fence}"), cut)


def said(value: Value, *, rendered: bool = True) -> Block:
    """What an agent said, as Markdown; as plain lines where ``rendered`` is off."""
    start, cut = _start(value.text)
    return Block(value.name, "said", markdown.to_html(start) if rendered else markdown.plain(start), cut)


def typed(value: Value) -> Block:
    """What a person typed, or what is being typed: as it is."""
    start, cut = _start(value.text)
    return Block(value.name, "typed", json_view.visible(escape(start)), cut)


def _start(text: str) -> tuple[str, str]:
    if len(text) <= json_view.SHOWN:
        return text, ""
    return text[: json_view.SHOWN], json_view.size(len(text.encode(errors="replace")))


def pictures(content: Any) -> Iterator[Block]:
    """The images of a content: those that came along are shown, those from outside only named."""
    for number, picture in enumerate(details.pictures(content)):
        name = f"picture-{number}"
        if picture.url.startswith("data:") and (source := _data_url(picture.url.partition(";base64,")[2])):
            yield Block(name, "picture", SafeString(), source=source)
        elif picture.url:
            yield Block(name, "link", json_view.visible(escape(picture.url[:500])), source=_web(picture.url))
        elif source := _data_url(picture.data):
            yield Block(name, "picture", SafeString(), source=source)
        else:
            words = _("an image that cannot be shown, %(size)s") % {"size": json_view.size(len(picture.data) * 3 // 4)}
            yield Block(name, "text", json_view.visible(escape(words)))


def _web(url: str) -> str:
    return url if url.startswith(("https://", "http://")) else ""


def _data_url(data: str) -> str:
    """A data URL for base64 that is an image of a kind browsers only draw; else nothing."""
    if len(data) > PICTURE_LIMIT or not _BASE64.fullmatch(data):
        return ""
    kinds = [kind for magic, kind in _MAGIC if data.startswith(magic)]
    return f"data:image/{kinds[0]};base64,{data}" if kinds else ""


def pick(values: Iterable[Value], name: str) -> str | None:
    """The whole text of the value of that name."""
    return next((value.text for value in values if value.name == name), None)

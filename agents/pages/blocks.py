"""The pieces of a card's body, ready for the templates, and the full texts behind them.

A *value* is the whole text of a piece under a short name (``arguments``, ``result-0``); a *block*
is as much of it as a page shows. What is cut says how large it is and where all of it can be read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, Literal

from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from agents.pages import step_details
from agents.pages.step_details import Picture
from agents.record.schemas.turns import StepSnapshot, TruncatedText
from agents.uikit import json_view, markdown

Style = Literal["json", "text", "said", "typed", "picture", "link"]

PICTURE_LIMIT = 1_500_000
"""Characters of base64 that stand in a page as an image."""
LARGEST_PICTURE = 40_000_000
"""Characters of base64 that are shown as an image at all."""

_FENCES = re.compile("`+")
_BASE64 = re.compile(r"[A-Za-z0-9+/\s]++={0,2}\s*")
_MAGIC = (("/9j/", "jpeg"), ("R0lGOD", "gif"), ("UklGR", "webp"), ("iVBORw0KGgo", "png"))


@dataclass(frozen=True, slots=True)
class Value:
    """The whole of something, by name. ``said``: words of the conversation, not data. Of one that is kept
    elsewhere ``text`` is the beginning, ``whole`` its bytes and ``pieces`` what it is made of, line by line."""

    name: str
    text: str
    said: bool = False
    whole: int = 0
    pieces: tuple[str | TruncatedText, ...] = ()


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


def value(name: str, step: StepSnapshot, texts: Sequence[tuple[str, str]], *, said: bool = False) -> Value:
    """A value of a step, joined of these texts with their places in its detail."""
    cuts = {cut.pointer: cut for cut in step.cuts}
    told = [(text, cuts.get(pointer)) for text, pointer in texts if text]
    first = next((place for place, (_text, cut) in enumerate(told) if cut), None)
    if first is None:
        return Value(name, "\n".join(text for text, _cut in told), said)
    sizes = [cut.size if cut else len(text.encode(errors="replace")) for text, cut in told]
    start = "\n".join(text for text, _cut in told[: first + 1])
    return Value(name, start, said, sum(sizes) + len(sizes) - 1, tuple(cut or text for text, cut in told))


def data(value: Value, label: str = "") -> Block:
    """JSON laid out, or text as it is."""
    shown = json_view.render_value(value.text, value.whole)
    return Block(value.name, "json" if shown.is_json else "text", shown.html, shown.cut, label=label)


def arguments(value: Value) -> Block:
    """What a tool is called with: JSON, or the program where that is all it is called with."""
    code = step_details.program(value.text)
    if code is None:
        return data(value)
    start, cut = _start(Value(value.name, code))
    fence = "`" * (max(map(len, _FENCES.findall(start)), default=0) + 3)
    return Block(value.name, "said", markdown.to_html(f"{fence}python\n{start}\n{fence}"), cut)


def said(value: Value, *, rendered: bool = True) -> Block:
    """What an agent said, as Markdown; as plain lines where ``rendered`` is off."""
    start, cut = _start(value)
    return Block(value.name, "said", markdown.to_html(start) if rendered else markdown.plain(start), cut)


def typed(value: Value) -> Block:
    """What a person typed, or what is being typed: as it is."""
    start, cut = _start(value)
    return Block(value.name, "typed", json_view.show_control_chars(escape(start)), cut)


def _start(value: Value) -> tuple[str, str]:
    text = value.text
    if value.whole or len(text) > json_view.MAX_CHARS:
        return text[: json_view.MAX_CHARS], json_view.byte_size(value.whole or len(text.encode(errors="replace")))
    return text, ""


def pictures(content: Any) -> Iterator[Block]:
    """The images of a content: those that came along are shown, those from outside only named."""
    return drawn(step_details.pictures(content))


def drawn(found: Iterable[Picture], cuts: Iterable[TruncatedText] = (), url: str = "") -> Iterator[Block]:
    """Images; one that is only begun here is shown from ``url``."""
    sizes = {cut.pointer: cut.size for cut in cuts}
    for number, picture in enumerate(found):
        name, begun = f"picture-{number}", base64_of(picture)
        if picture.pointer in sizes and kind_of(begun) and sizes[picture.pointer] <= LARGEST_PICTURE:
            yield Block(name, "picture", SafeString(), source=f"{url}?part={name}")
        elif picture.url.startswith("data:") and (source := _data_url(begun)):
            yield Block(name, "picture", SafeString(), source=source)
        elif picture.url:
            yield Block(name, "link", json_view.show_control_chars(escape(picture.url[:500])), source=_web(picture.url))
        elif source := _data_url(picture.data):
            yield Block(name, "picture", SafeString(), source=source)
        else:
            words = _("an image that cannot be shown, %(size)s") % {
                "size": json_view.byte_size(len(picture.data) * 3 // 4)
            }
            yield Block(name, "text", json_view.show_control_chars(escape(words)))


def _web(url: str) -> str:
    return url if url.startswith(("https://", "http://")) else ""


def base64_of(picture: Picture) -> str:
    """What came along of an image."""
    return picture.url.partition(";base64,")[2] if picture.url.startswith("data:") else picture.data


def kind_of(data: str) -> str:
    """Which kind of image base64 begins, of those browsers only draw; else nothing."""
    return next((kind for magic, kind in _MAGIC if data.startswith(magic)), "")


def _data_url(data: str) -> str:
    """A data URL for base64 that is such an image; else nothing."""
    kind = kind_of(data)
    if not kind or len(data) > PICTURE_LIMIT or not _BASE64.fullmatch(data):
        return ""
    return f"data:image/{kind};base64,{data}"


def pick(values: Iterable[Value], name: str) -> Value | None:
    """The value of that name."""
    return next((value for value in values if value.name == name), None)

"""Content blocks of a step card, ready for the templates, and the full texts behind them.

A *named text* is a full text under a short name (``arguments``, ``result-0``); a *block* is as much of it as
a page shows. A block that is cut has its full size and a link to the full text.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any, Literal

from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from agents.pages import step_details
from agents.pages.step_details import Picture
from agents.record.schemas.turns import StepSnapshot, TruncatedText
from agents.uikit import json_view, markdown

Style = Literal["json", "text", "said", "typed", "picture", "link"]

MAX_INLINE_PICTURE_CHARS = 1_500_000
"""Characters of base64 of an image that is embedded in the page."""
MAX_PICTURE_CHARS = 40_000_000
"""Characters of base64 of an image that is shown at all."""

FOLDED_LINES, FOLDED_CHARS = 20, 1_600
"""Lines and characters of what was asked that are shown before the rest is unfolded."""

_FENCES = re.compile("`+")
_BASE64 = re.compile(r"[A-Za-z0-9+/\s]++={0,2}\s*")
_MAGIC = (("/9j/", "jpeg"), ("R0lGOD", "gif"), ("UklGR", "webp"), ("iVBORw0KGgo", "png"))


@dataclass(frozen=True, slots=True)
class NamedText:
    """A full text under a name. ``is_message``: part of the conversation, not data. Of a large text, stored apart,
    ``text`` is the beginning, ``total_bytes`` the size and ``chunks`` its parts, joined by line breaks."""

    name: str
    text: str
    is_message: bool = False
    total_bytes: int = 0
    chunks: tuple[str | TruncatedText, ...] = ()


@dataclass(frozen=True, slots=True)
class Block:
    """A text or image as a page shows it. ``cut`` is the full size where this is only the beginning, ``source`` the
    URL of an image or link. ``rest`` is the part of a long text that is folded, ``rest_size`` the size of all of it."""

    name: str
    style: Style
    html: SafeString
    cut: str = ""
    source: str = ""
    label: str = ""
    rest: SafeString | None = None
    rest_size: str = ""


def step_text(
    name: str, step: StepSnapshot, texts: Sequence[tuple[str, str]], *, is_message: bool = False
) -> NamedText:
    """Join (text, JSON pointer in the step's detail) pairs to a text of the step."""
    cuts = {cut.pointer: cut for cut in step.cuts}
    parts = [(text, cuts.get(pointer)) for text, pointer in texts if text]
    first = next((index for index, (_text, cut) in enumerate(parts) if cut), None)
    if first is None:
        return NamedText(name, "\n".join(text for text, _cut in parts), is_message)
    sizes = [cut.size if cut else len(text.encode(errors="replace")) for text, cut in parts]
    start = "\n".join(text for text, _cut in parts[: first + 1])
    return NamedText(name, start, is_message, sum(sizes) + len(sizes) - 1, tuple(cut or text for text, cut in parts))


def data_block(value: NamedText, label: str = "") -> Block:
    """A block of indented JSON, or of text as it is."""
    rendered = json_view.render_value(value.text, value.total_bytes)
    return Block(value.name, "json" if rendered.is_json else "text", rendered.html, rendered.cut, label=label)


def arguments_block(value: NamedText) -> Block:
    """A block of a tool's arguments: JSON, or a program if that is the only argument."""
    code = step_details.program(value.text)
    if code is None:
        return data_block(value)
    start, cut = _beginning(NamedText(value.name, code))
    fence = "`" * (max(map(len, _FENCES.findall(start)), default=0) + 3)
    return Block(value.name, "said", markdown.to_html(f"{fence}python\n{start}\n{fence}"), cut)


def markdown_block(value: NamedText, *, rendered: bool = True) -> Block:
    """A block of an agent's message, rendered from Markdown; as plain lines if not ``rendered``."""
    start, cut = _beginning(value)
    return Block(value.name, "said", markdown.to_html(start) if rendered else markdown.plain(start), cut)


def plain_block(value: NamedText) -> Block:
    """A block of a text as it was typed, or as far as it has been streamed."""
    start, cut = _beginning(value)
    return Block(value.name, "typed", json_view.show_control_chars(escape(start)), cut)


def asked_block(value: NamedText) -> Block:
    """A block of what somebody asked, as it was typed: a long one is folded, a large one ends where it would be."""
    block, text = plain_block(value), value.text
    end = _fold_end(text)
    if end is None:
        return block
    start, rest = (json_view.show_control_chars(escape(part)) for part in (text[:end], text[end:].removeprefix("\n")))
    if block.cut:
        return replace(block, html=start)
    return replace(block, html=start, rest=rest, rest_size=json_view.byte_size(len(text.encode(errors="replace"))))


def _fold_end(text: str) -> int | None:
    """Where the part of a long text ends that is always shown: at the end of a line, or of a word."""
    lines = list(itertools.islice(re.finditer("\n", text), FOLDED_LINES))
    end = lines[-1].start() if len(lines) == FOLDED_LINES else len(text)
    if end > FOLDED_CHARS:
        end = max(text.rfind("\n", 0, FOLDED_CHARS), text.rfind(" ", 0, FOLDED_CHARS), FOLDED_CHARS // 2)
    rest = text[end:]
    return end if len(rest) > FOLDED_CHARS // 4 or rest.count("\n") > FOLDED_LINES // 4 else None


def _beginning(value: NamedText) -> tuple[str, str]:
    text = value.text
    if value.total_bytes or len(text) > json_view.MAX_CHARS:
        return text[: json_view.MAX_CHARS], json_view.byte_size(value.total_bytes or len(text.encode(errors="replace")))
    return text, ""


def content_pictures(content: Any) -> Iterator[Block]:
    """Blocks of the images of a content: embedded ones are shown, external ones only linked."""
    return picture_blocks(step_details.pictures(content))


def picture_blocks(pictures: Iterable[Picture], cuts: Iterable[TruncatedText] = (), url: str = "") -> Iterator[Block]:
    """Blocks of images; one that is stored apart is loaded from ``url``."""
    sizes = {cut.pointer: cut.size for cut in cuts}
    for number, picture in enumerate(pictures):
        name, base64_data = f"picture-{number}", base64_of(picture)
        if picture.pointer in sizes and image_type(base64_data) and sizes[picture.pointer] <= MAX_PICTURE_CHARS:
            yield Block(name, "picture", SafeString(), source=f"{url}?part={name}")
        elif picture.url.startswith("data:") and (source := _data_url(base64_data)):
            yield Block(name, "picture", SafeString(), source=source)
        elif picture.url:
            yield Block(
                name, "link", json_view.show_control_chars(escape(picture.url[:500])), source=_web_url(picture.url)
            )
        elif source := _data_url(picture.data):
            yield Block(name, "picture", SafeString(), source=source)
        else:
            message = _("an image that cannot be shown, %(size)s") % {
                "size": json_view.byte_size(len(picture.data) * 3 // 4)
            }
            yield Block(name, "text", json_view.show_control_chars(escape(message)))


def _web_url(url: str) -> str:
    return url if url.startswith(("https://", "http://")) else ""


def base64_of(picture: Picture) -> str:
    """The embedded base64 data of an image."""
    return picture.url.partition(";base64,")[2] if picture.url.startswith("data:") else picture.data


def image_type(data: str) -> str:
    """The type of an image by its first bytes, of types that cannot carry scripts; else empty."""
    return next((kind for magic, kind in _MAGIC if data.startswith(magic)), "")


def _data_url(data: str) -> str:
    """A data URL for base64 of such an image; else empty."""
    kind = image_type(data)
    if not kind or len(data) > MAX_INLINE_PICTURE_CHARS or not _BASE64.fullmatch(data):
        return ""
    return f"data:image/{kind};base64,{data}"


def find_by_name(values: Iterable[NamedText], name: str) -> NamedText | None:
    """The text with that name."""
    return next((value for value in values if value.name == name), None)

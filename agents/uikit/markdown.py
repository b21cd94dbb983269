"""Render the Markdown of models as safe HTML: parse it without inline HTML, then apply an allow-list.

The text is hostile. Its own HTML is escaped, no image is fetched, a link shows its target, and
headings stay below those of the page. Code is highlighted in a few well-known languages only: a lexer
is a set of regular expressions, and some take very long on hostile input. Knows nothing of turns and steps.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

import nh3
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from markdown_it.utils import OptionsDict
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.token import STANDARD_TYPES

_SAFE_LEXERS = (
    "bash c cpp css diff go html java javascript js json kotlin php py python ruby rust sh sql swift toml ts "
    "typescript xml yaml yml"
)
LANGUAGES = frozenset(_SAFE_LEXERS.split())
MAX_CODE_CHARS = 4_000
"""Characters of a code block that is highlighted."""
MAX_CELLS = 4_000
"""About how many cells a table may have: missing ones are filled in, so that a short text could become
megabytes."""

_MARKS = re.compile(r"[\\`*_\[\]<>~|&#]|^[^\S\n]*(?:[-+=]|\d+[.)])|^(?: {4}|\t)| {2}\n", re.MULTILINE)
"""Characters that may mean something in Markdown; most messages have none, and skip the parser."""

_TOO_DEEP = re.compile(
    r"^(?:[ \t]*(?:>|(?:[-+*]|\d{1,9}[.)])[ \t])){12,}|^[ \t]{30,}(?:[-+*]|\d{1,9}[.)])[ \t]", re.MULTILINE
)
"""Nesting so deep that the parser would drop the text."""

_IMAGE = re.compile(r"data:image/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]+")
_PAGE_HEADINGS = 2
"""Levels of headings that the page itself uses."""


class _Renderer(RendererHTML):
    """Show the target of each link, and render external images as links."""

    def image(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: Any) -> str:
        token = tokens[idx]
        source = str(token.attrs.get("src", ""))
        label = escape(token.content or "image")
        if _IMAGE.fullmatch(source):
            return f'<img src="{source}" alt="{label}">'
        return f'<a href="{escape(source)}">{label}</a>{_target_label(source, "")}'

    def link_close(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: Any) -> str:
        start = max(index for index in range(idx) if tokens[index].type == "link_open")
        label = "".join(token.content for token in tokens[start + 1 : idx])
        return "</a>" + _target_label(str(tokens[start].attrs.get("href", "")), label)


def _settle_headings(state: StateCore) -> None:
    """Renumber headings so that the first is the highest and no level is skipped: navigation by headings works
    whatever level a model begins with."""
    above: list[int] = []
    for token in state.tokens:
        if token.type == "heading_open":
            written = int(token.tag[1])
            above = [*(level for level in above if level < written), written]
        if token.type in {"heading_open", "heading_close"}:
            token.tag = f"h{min(len(above) + _PAGE_HEADINGS, 6)}"


def _target_label(url: str, label: str) -> str:
    """The host of a link, unless its text already says it."""
    host = urlsplit(url).netloc or url.removeprefix("mailto:").partition("?")[0]
    if not host or label in {url, host, url.removeprefix("mailto:")}:
        return ""
    return f'<span class="target">{escape(host[:80])}</span>'


def _highlight(code: str, language: str, attributes: str) -> str:
    if language.lower() not in LANGUAGES or len(code) > MAX_CODE_CHARS:
        return ""
    return str(highlight(code, get_lexer_by_name(language.lower()), HtmlFormatter(nowrap=True)))


def _parser(*features: str) -> MarkdownIt:
    options = {"html": False, "breaks": True, "maxNesting": 40, "highlight": _highlight}
    parser = MarkdownIt("commonmark", options, renderer_cls=_Renderer).enable(["strikethrough", *features])
    parser.core.ruler.push("settle_headings", _settle_headings)
    return parser


_with_tables, _without_tables = _parser("table"), _parser()

_ALLOWED = "a blockquote br code del em h3 h4 h5 h6 hr img li ol p pre s span strong table tbody td th thead tr ul"
_TAGS = set(_ALLOWED.split())
_ATTRIBUTES = {"a": {"href"}, "img": {"src", "alt"}, "ol": {"start"}}
_CLASSES = {"span": {name for name in STANDARD_TYPES.values() if name} | {"target"}}


def _attribute(tag: str, name: str, value: str) -> str | None:
    if (tag, name) == ("img", "src"):
        return value if _IMAGE.fullmatch(value) else None
    if (tag, name) == ("a", "href"):
        return value if value.lower().startswith(("http://", "https://", "mailto:")) else None
    return value


_cleaner = nh3.Cleaner(
    tags=_TAGS,
    attributes=_ATTRIBUTES,
    attribute_filter=_attribute,
    allowed_classes=_CLASSES,
    url_schemes={"http", "https", "mailto", "data"},
    url_relative="deny",
    link_rel="noopener nofollow noreferrer",
)


@lru_cache(maxsize=512)
def to_html(text: str) -> SafeString:
    """Render Markdown as HTML that is safe in a page. Cached: a finished text never changes."""
    if not _MARKS.search(text) or _TOO_DEEP.search(text):
        return plain(text)
    parser = _with_tables if _cells(text) <= MAX_CELLS else _without_tables
    return mark_safe(_cleaner.clean(parser.render(text)))  # noqa: S308 - cleaned


def _cells(text: str) -> int:
    lines = [line.count("|") + 1 for line in text.splitlines() if "|" in line]
    return max(lines, default=0) * len(lines)


def plain(text: str) -> SafeString:
    """Render text without Markdown, as paragraphs and lines."""
    paragraphs = (part.strip("\n") for part in re.split(r"\n[ \t]*\n", text))
    html = "".join(f"<p>{escape(part)}</p>".replace("\n", "<br>") for part in paragraphs if part.strip())
    return mark_safe(html)  # noqa: S308 - escaped

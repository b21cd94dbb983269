"""The smallest pieces of the pages, for both kinds of templates: an icon, a status, a moment.

State is never told by colour alone: a status is a glyph and a word, colour third.
"""

from __future__ import annotations

from functools import lru_cache

from django.templatetags.static import static
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import get_language, gettext, gettext_noop

from agents.uikit import format

STATUS_WORDS = {
    "queued": gettext_noop("queued"),
    "in_progress": gettext_noop("in progress"),
    "awaiting_input": gettext_noop("awaiting input"),
    "completed": gettext_noop("completed"),
    "incomplete": gettext_noop("incomplete"),
    "failed": gettext_noop("failed"),
    "cancelled": gettext_noop("cancelled"),
    "interrupted": gettext_noop("interrupted"),
}
TYPE_WORDS = {
    "inference": gettext_noop("inference"),
    "tool_execution": gettext_noop("tool"),
    "shield_call": gettext_noop("shield"),
    "memory_retrieval": gettext_noop("retrieval"),
    "other": gettext_noop("other"),
}


def status_word(name: str) -> str:
    """A status in the reader's language."""
    return _word(get_language(), STATUS_WORDS.get(name, name))


def type_word(name: str) -> str:
    """A type of step in the reader's language."""
    return _word(get_language(), TYPE_WORDS.get(name, name))


@lru_cache(maxsize=1024)
def _word(language: str | None, word: str) -> str:
    """A list asks for the same few words hundreds of times."""
    return gettext(word)


def icon(name: str) -> SafeString:
    """A drawing of the sprite, silent to screen readers: the words are beside it."""
    return format_html('<svg class="icon" aria-hidden="true"><use href="{}#{}"></use></svg>', static("icons.svg"), name)


def status(name: str) -> SafeString:
    """A status as glyph and word, in the wire's words."""
    return format_html('<span class="status" data-status="{}">{}{}</span>', name, icon(name), status_word(name))


_TIMES = {
    "": '<time datetime="{0}">{1}</time>',
    "ago": '<time datetime="{0}" data-ago>{1}</time>',
    "clock": '<time datetime="{0}" data-clock>{2} <small>{3}</small></time>',
}


def time(at_us: int | None, style: str = "") -> SafeString:
    """A moment that the browser makes local. ``style``: ``clock`` for a clock with the day in small
    behind it, ``ago`` for "5 min ago", nothing for day and clock."""
    if at_us is None:
        return SafeString(format.NOTHING)
    shown = format.iso(at_us), format.moment(at_us), format.clock(at_us), format.day(at_us)
    return format_html(_TIMES[style], *shown)

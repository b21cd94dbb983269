"""Small HTML elements for both template engines: an icon, a status, a time.

Colour alone never shows a state: a status is an icon and a word, and only then a colour.
"""

from __future__ import annotations

from functools import cache, lru_cache

from django.templatetags.static import static
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import get_language, gettext, gettext_noop

from agents.uikit import format

STATUS_LABELS = {
    "queued": gettext_noop("queued"),
    "in_progress": gettext_noop("in progress"),
    "awaiting_input": gettext_noop("awaiting input"),
    "completed": gettext_noop("completed"),
    "incomplete": gettext_noop("incomplete"),
    "failed": gettext_noop("failed"),
    "cancelled": gettext_noop("cancelled"),
    "interrupted": gettext_noop("interrupted"),
}
STEP_TYPE_LABELS = {
    "inference": gettext_noop("inference"),
    "tool_execution": gettext_noop("tool"),
    "shield_call": gettext_noop("shield"),
    "memory_retrieval": gettext_noop("retrieval"),
    "other": gettext_noop("other"),
}


def status_label(name: str) -> str:
    """A status in the reader's language."""
    return translation(get_language(), STATUS_LABELS.get(name, name))


def type_label(name: str) -> str:
    """A type of step in the reader's language."""
    return translation(get_language(), STEP_TYPE_LABELS.get(name, name))


@lru_cache(maxsize=4096)
def translation(language: str | None, words: str) -> str:
    """Translate, cached: a list needs the same few labels hundreds of times."""
    return gettext(words)


@cache
def icon(name: str) -> SafeString:
    """An icon of the sprite, hidden from screen readers: there is always text beside it."""
    return format_html(
        '<svg class="icon" aria-hidden="true"><use href="{}#{}"></use></svg>', static("uikit/icons.svg"), name
    )


def status(name: str) -> SafeString:
    """A status as icon and word; ``name`` is as in the API."""
    return format_html('<span class="status" data-status="{}">{}{}</span>', name, icon(name), status_label(name))


_TIMES = {
    "": '<time datetime="{0}">{1}</time>',
    "ago": '<time datetime="{0}" data-ago>{1}</time>',
    "clock": '<time datetime="{0}" data-clock>{2} <small>{3}</small></time>',
}


def time(at_us: int | None, style: str = "") -> SafeString:
    """A time that the browser makes local. ``style``: ``clock`` for the time with the day in small
    after it, ``ago`` for "5 min ago", empty for day and time."""
    if at_us is None:
        return SafeString(format.NOTHING)
    values = format.iso(at_us), format.date_time(at_us), format.clock(at_us), format.day(at_us)
    return format_html(_TIMES[style], *values)

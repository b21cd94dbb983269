"""The main navigation: its links, and which of them the page at a path belongs to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass

from django.db import DatabaseError
from django.urls import NoReverseMatch
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_noop

from agents.base.access import Actor
from agents.uikit.links import at, path_of, url_for


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the site: the name of its first page's URL, and the first words of the paths that belong to it.

    ``lists`` are the paths that are first pages too; ``is_counted``: its link says how much waits there."""

    url_name: str
    icon: str
    title: str
    words: tuple[str, ...]
    lists: tuple[str, ...] = ()
    is_counted: bool = False


SECTIONS = (
    Section("home", "home", gettext_noop("Overview"), ("",)),
    Section("inbox", "inbox", gettext_noop("Waiting"), ("inbox",), is_counted=True),
    Section(
        "logs",
        "logs",
        gettext_noop("Logs"),
        ("logs", "turns", "steps", "sessions", "responses", "conversations"),
        ("/sessions/", "/steps/", "/responses/"),
    ),
    Section("agents", "agent", gettext_noop("Agents"), ("agents",)),
    Section("connect", "link", gettext_noop("Connect"), ("connect", "import")),
    Section("docs", "docs", gettext_noop("Docs"), ("docs",)),
    Section("keys", "key", gettext_noop("Keys"), ("keys", "webhooks", "budgets", "automations")),
)


@dataclass(frozen=True, slots=True)
class NavLink:
    """``current`` is the value of ``aria-current``: ``page`` on the page itself, ``true`` on one below it."""

    url: str
    icon: str
    title: str
    current: str
    is_counted: bool = False


MOST_COUNTED = 99
"""More are told as this number and a plus sign."""
_count_waiting: Callable[[Actor], int] | None = None


def count_waiting_with(count: Callable[[Actor], int]) -> None:
    """Set what counts how much waits for a person; it may stop behind `MOST_COUNTED`."""
    global _count_waiting
    _count_waiting = count


def waiting_badge(actor: Actor) -> SafeString:
    """How much waits for a person, as a part of each page; without a number where nothing does, or nobody is known."""
    count = 0
    if _count_waiting is not None and "read" in actor.actions:
        with suppress(DatabaseError):  # pages that say what is wrong with the database are shown all the same
            count = _count_waiting(actor)
    number = f"{MOST_COUNTED}+" if count > MOST_COUNTED else str(count or "")
    return format_html('<b class="rail-count" data-part="waiting-count">{}</b>', number)


def navigation(path: str) -> Iterator[NavLink]:
    """The links, as the page at a path of the URL tables shows them; without those whose pages are not installed."""
    word = path.split("/")[1]
    for section in SECTIONS:
        try:
            target = path_of(section.url_name)
        except NoReverseMatch:
            continue
        current = "page" if path in (target, *section.lists) else "true" if word in section.words else ""
        yield NavLink(at(target), section.icon, gettext(section.title), current, section.is_counted)


def optional_url(name: str) -> str:
    """The link to a view that is perhaps not installed; empty without it."""
    try:
        return url_for(name)
    except NoReverseMatch:
        return ""

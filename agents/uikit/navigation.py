"""The main navigation: its links, and which of them the page at a path belongs to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from django.urls import NoReverseMatch
from django.utils.translation import gettext, gettext_noop

from agents.uikit.links import at, path_of, url_for


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the site: the name of its first page's URL, and the first words of the paths that belong to it.

    ``lists`` are the paths that are first pages too."""

    url_name: str
    icon: str
    title: str
    words: tuple[str, ...]
    lists: tuple[str, ...] = ()


SECTIONS = (
    Section("home", "home", gettext_noop("Now"), ("",)),
    Section(
        "logs",
        "logs",
        gettext_noop("Logs"),
        ("logs", "turns", "steps", "sessions", "responses", "conversations"),
        ("/sessions/", "/steps/", "/responses/"),
    ),
    Section("agents", "agent", gettext_noop("Agents"), ("agents",)),
    Section("connect", "link", gettext_noop("Connect"), ("connect", "import")),
    Section("docs", "docs", gettext_noop("API"), ("docs",)),
    Section("keys", "key", gettext_noop("Keys"), ("keys", "webhooks", "budgets")),
)


@dataclass(frozen=True, slots=True)
class NavLink:
    """``current`` is the value of ``aria-current``: ``page`` on the page itself, ``true`` on one below it."""

    url: str
    icon: str
    title: str
    current: str


def navigation(path: str) -> Iterator[NavLink]:
    """The links, as the page at a path of the URL tables shows them; without those whose pages are not installed."""
    word = path.split("/")[1]
    for section in SECTIONS:
        try:
            target = path_of(section.url_name)
        except NoReverseMatch:
            continue
        current = "page" if path in (target, *section.lists) else "true" if word in section.words else ""
        yield NavLink(at(target), section.icon, gettext(section.title), current)


def optional_url(name: str) -> str:
    """The link to a view that is perhaps not installed; empty without it."""
    try:
        return url_for(name)
    except NoReverseMatch:
        return ""

"""The lists that one query language and one page serve: turns, sessions, steps, responses."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urlencode

from django.utils.translation import gettext, gettext_noop

from agents.base import ids
from agents.query.tree import Level

COLUMNS: dict[Level, tuple[str, ...]] = {
    "turn": ("when", "who", "words", "steps", "length", "tokens", "cost", "state"),
    "session": ("when", "name", "words", "who", "turns", "tokens", "cost", "state"),
    "step": ("when", "did", "words", "who", "length", "tokens", "cost", "state"),
    "response": ("when", "resp", "who", "words", "length", "tokens", "state"),
}
"""The columns a list begins with."""
MORE: dict[Level, tuple[str, ...]] = {
    "turn": ("model", "user", "tags", "first", "source"),
    "session": ("tags", "source"),
    "step": ("model", "tags", "first"),
    "response": ("user", "tags", "steps"),
}
"""Those it can have besides."""
TITLES = {
    "when": gettext_noop("Started"),
    "who": gettext_noop("Agent, session"),
    "words": gettext_noop("First and last words"),
    "steps": gettext_noop("Steps to scale"),
    "length": gettext_noop("Duration"),
    "turns": gettext_noop("Turns"),
    "tokens": gettext_noop("Tokens"),
    "cost": gettext_noop("Cost"),
    "state": gettext_noop("Status"),
    "name": gettext_noop("Session"),
    "did": gettext_noop("Step"),
    "resp": gettext_noop("Response"),
    "model": gettext_noop("Model"),
    "user": gettext_noop("User"),
    "tags": gettext_noop("Tags"),
    "first": gettext_noop("First token"),
    "source": gettext_noop("Source"),
}
TITLES_HERE: dict[tuple[Level, str], str] = {
    ("session", "words"): gettext_noop("Last asked and answered"),
    ("session", "who"): gettext_noop("Agent, about"),
    ("session", "state"): gettext_noop("Last turn"),
    ("step", "words"): gettext_noop("Given and got"),
    ("response", "who"): gettext_noop("Model, session"),
}
NUMBERS = frozenset({"length", "turns", "tokens", "cost", "first"})
ALWAYS = frozenset({"when", "words", "state"})
"""Columns that cannot be taken away."""


@dataclass(frozen=True, slots=True)
class Place:
    """A list: where it is, the level of its rows, and what they are called."""

    path: str
    level: Level
    title: str

    @property
    def plural(self) -> str:
        """As the socket and the API call its rows."""
        return f"{self.level}s"

    def link(self, text: str, **more: str) -> str:
        """The list under a query."""
        values = {"q": text, **more} if text else more
        return f"{self.path}?{urlencode(values)}" if values else self.path


LOGS = Place("/logs/", "turn", gettext_noop("Turns"))
SESSIONS = Place("/sessions/", "session", gettext_noop("Sessions"))
STEPS = Place("/steps/", "step", gettext_noop("Steps"))
RESPONSES = Place("/responses/", "response", gettext_noop("Responses"))
ALL = (LOGS, SESSIONS, STEPS, RESPONSES)
OF = {place.level: place for place in ALL}

_PAGES = {
    ids.Kind.TURN: "/turns/{}/",
    ids.Kind.SESSION: "/sessions/{}/",
    ids.Kind.STEP: "/steps/{}/",
    ids.Kind.AGENT: "/agents/{}/",
}
_OPENAI = {"resp": "/responses/{}/", "conv": "/conversations/{}/"}


def page_of_id(text: str) -> str:
    """The page of what a query names that is nothing but an id; empty for any other."""
    found = re.fullmatch(r"(resp|conv)_[0-9a-f]{32}", text)
    if found:
        return _OPENAI[found[1]].format(text)
    if not re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", text):
        return ""
    return next((page.format(text) for kind, page in _PAGES.items() if ids.parse(kind, text) is not None), "")


def tabs(here: Place, text: str) -> list[tuple[str, str, bool]]:
    """The lists under the same query: title, URL, whether it is this one."""
    return [(gettext(place.title), place.link(text), place is here) for place in ALL]

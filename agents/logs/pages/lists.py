"""Define the lists that share the query language and one page: turns, sessions, steps, responses."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urlencode

from django.utils.translation import gettext, gettext_noop

from agents.base import ids
from agents.query.tree import Level
from agents.uikit.links import at


@dataclass(frozen=True, slots=True)
class ListTab:
    """A list: its path, the level of its rows, and its title."""

    path: str
    level: Level
    title: str

    @property
    def plural(self) -> str:
        """The name of its rows in the socket and the API."""
        return f"{self.level}s"

    def link(self, text: str, **more: str) -> str:
        """Return the URL of the list under a query."""
        values = {"q": text, **more} if text else more
        return f"{self.path}?{urlencode(values)}" if values else self.path


LOGS = ListTab(at("/logs/"), "turn", gettext_noop("Turns"))
SESSIONS = ListTab(at("/sessions/"), "session", gettext_noop("Sessions"))
STEPS = ListTab(at("/steps/"), "step", gettext_noop("Steps"))
RESPONSES = ListTab(at("/responses/"), "response", gettext_noop("Responses"))
ALL = (LOGS, SESSIONS, STEPS, RESPONSES)
LIST_OF_LEVEL: dict[str, ListTab] = {tab.level: tab for tab in ALL}
"""By the level of their rows; a level comes from a request, so it may be any text."""

_PAGES = {
    ids.Kind.TURN: at("/turns/{}/"),
    ids.Kind.SESSION: at("/sessions/{}/"),
    ids.Kind.STEP: at("/steps/{}/"),
    ids.Kind.AGENT: at("/agents/{}/"),
}
_OPENAI = {"resp": at("/responses/{}/"), "conv": at("/conversations/{}/")}


def url_of_id(text: str) -> str:
    """Return the page of an object when the query is nothing but its id; else empty."""
    match = re.fullmatch(r"(resp|conv)_[0-9a-f]{32}", text)
    if match:
        return _OPENAI[match[1]].format(text)
    if not re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", text):
        return ""
    return next((page.format(text) for kind, page in _PAGES.items() if ids.parse(kind, text) is not None), "")


def tabs(current: ListTab, text: str) -> list[tuple[str, str, bool]]:
    """Return the lists under the same query: title, URL, whether it is the current one."""
    return [(gettext(tab.title), tab.link(text), tab is current) for tab in ALL]

"""Define the lists that share the query language and one page: turns, sessions, steps, responses."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urlencode

from django.utils.translation import gettext, gettext_noop

from agents.base import ids
from agents.logs.schemas.sorting import NEWEST_FIRST, SortOrder
from agents.query.tree import Level
from agents.uikit.links import at


@dataclass(frozen=True, slots=True)
class ListTab:
    """A list: its path, the level of its rows, its title, and the order that its links keep."""

    path: str
    level: Level
    title: str
    order: SortOrder = NEWEST_FIRST

    @property
    def sort_parameter(self) -> dict[str, str]:
        """The parameter of URLs that keeps its order; empty for the usual one."""
        return {} if self.order == NEWEST_FIRST else {"sort": self.order.text}

    @property
    def plural(self) -> str:
        """The name of its rows in the socket and the API."""
        return f"{self.level}s"

    def link(self, text: str, **more: str) -> str:
        """Return the URL of the list under a query."""
        values = {**({"q": text} if text else {}), **more, **self.sort_parameter}
        return f"{self.path}?{urlencode(values)}" if values else self.path

    def values_link(self, field: str, text: str) -> str:
        """Return the URL of the page of all values of a field under a query."""
        return at(f"/logs/values/?{urlencode({'level': self.level, 'field': field, 'q': text, **self.sort_parameter})}")


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
    """Return the lists under the same query: title, URL, whether it is the current one, which keeps its order."""
    return [
        (gettext(tab.title), (current if tab.level == current.level else tab).link(text), tab.level == current.level)
        for tab in ALL
    ]

"""The lists that one query language and one page serve: the log of turns, the same as responses, and
conversations."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urlencode

from django.utils.translation import gettext, gettext_noop

from agents.query.chips import within


@dataclass(frozen=True, slots=True)
class Place:
    """A list: where it is, how the socket calls its rows, and what all of them are. ``fixed`` is a
    condition of the language that all rows fulfil, as field and value; `link` leaves it out."""

    path: str
    level: str
    title: str
    fixed: tuple[str, str] | None = None

    def link(self, text: str, **more: str) -> str:
        """The list under a query."""
        values = {"q": text, **more} if text else more
        return f"{self.path}?{urlencode(values)}" if values else self.path

    def narrowed(self, text: str) -> str:
        """The query of the rows shown. Raises QuerySyntax where there is no room for its condition."""
        return within(text, ":".join(self.fixed)) if self.fixed else text


LOGS = Place("/logs/", "turns", gettext_noop("Turns"))
RESPONSES = Place("/responses/", "responses", gettext_noop("Responses"), ("api", "responses"))
CONVERSATIONS = Place("/conversations/", "conversations", gettext_noop("Conversations"))
ALL = (LOGS, CONVERSATIONS, RESPONSES)


def page_of_id(text: str) -> str:
    """The page of what a query names that is nothing but the id of a response or a conversation; empty
    for any other."""
    found = re.fullmatch(r"(resp|conv)_[0-9a-f]{32}", text)
    return f"{(RESPONSES if found[1] == 'resp' else CONVERSATIONS).path}{text}/" if found else ""


def tabs(here: Place, text: str) -> list[tuple[str, str, bool]]:
    """The lists under the same query: title, URL, whether it is this one."""
    return [(gettext(place.title), place.link(text), place is here) for place in ALL]

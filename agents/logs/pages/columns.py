"""Define the columns of the lists, and choose those that a reader sees: the default ones, or those of URL or cookie.

`COLUMNS` is all there is to a column, besides the macro of ``logs/_cells.html`` that draws its cells: heads, rows, the
menu of columns and the classes of the style sheet (``logs/list.css``) follow from it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal

from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_noop

from agents.logs.pages.lists import ListTab
from agents.logs.schemas.sorting import SortOrder
from agents.query.tree import Level
from agents.uikit.templates import macro

Kind = Literal["time", "name", "text", "chart", "number", "id", "label", "state"]
"""What is in a column: it has the looks and the width of its kind. ``text`` takes the width that the others leave."""
CardArea = Literal["", "head", "time", "text", "about", "state", "left", "middle", "right", "foot"]
"""Where a cell is on a phone, where a row is a card; '' for nowhere."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a list. ``key`` names it in URLs and cookies, ``cell`` the macro that draws it.

    ``rem`` is a width other than that of the kind, one of the steps of the style sheet; ``from_px`` the width of the
    window from which on the column is shown, phones aside; a ``narrow`` column is also shown beside an open panel. A
    column that is ``fixed`` cannot be hidden, one that is ``optional`` is hidden until a reader chooses it. ``sort`` is
    the amount that a click on its head sorts by.
    """

    key: str
    title: str
    cell: str
    kind: Kind
    card: CardArea = ""
    rem: int = 0
    from_px: int = 0
    narrow: bool = False
    fixed: bool = False
    optional: bool = False
    sort: str = ""

    @property
    def classes(self) -> str:
        """The CSS classes of its head and its cells."""
        classes = {
            f"col-{self.kind}": True,
            f"rem-{self.rem}": self.rem,
            f"from-{self.from_px}": self.from_px,
            f"card-{self.card}": self.card,
            "narrow": self.narrow,
        }
        return " ".join(name for name, is_set in classes.items() if is_set)


_STARTED = Column(
    "when", gettext_noop("Started"), "started", "time", card="time", narrow=True, fixed=True, sort="started"
)
_STATE = Column("state", gettext_noop("Status"), "state", "state", card="state", narrow=True, fixed=True)
_AGENT = Column("who", gettext_noop("Agent, session"), "agent_and_session", "name", card="head")
_TEXTS = Column("words", gettext_noop("Input / output"), "texts", "text", card="text", narrow=True, fixed=True)
_DURATION = Column(
    "length", gettext_noop("Duration"), "duration", "number", card="right", rem=5, narrow=True, sort="duration"
)
_TOKENS = Column("tokens", gettext_noop("Tokens"), "tokens", "number", card="middle", from_px=1080, sort="tokens")
_COST = Column("cost", gettext_noop("Cost"), "cost", "number", from_px=1200, sort="cost")
_MODEL = Column("model", gettext_noop("Model"), "model", "label", optional=True)
_USER = Column("user", gettext_noop("User"), "user", "label", rem=6, optional=True)
_TAGS = Column("tags", gettext_noop("Tags"), "tags", "label", optional=True)
_METADATA = Column("meta", gettext_noop("Metadata"), "metadata", "label", optional=True)
_FEEDBACK = Column("feedback", gettext_noop("Feedback"), "feedback", "label", optional=True)
_FIRST_TOKEN = Column("first", gettext_noop("First token"), "first_token", "number", rem=5, optional=True, sort="ttft")
_WAITED = Column("waited", gettext_noop("Waited"), "waited", "number", rem=5, optional=True, sort="waited")
_SOURCE = Column("source", gettext_noop("Source"), "source", "label", rem=5, optional=True)
_STEPS = Column("steps", gettext_noop("Steps"), "steps_to_scale", "chart", card="left")

COLUMNS: dict[Level, tuple[Column, ...]] = {
    "turn": (
        _STARTED,
        _AGENT,
        _TEXTS,
        _STEPS,
        _DURATION,
        _TOKENS,
        _COST,
        _MODEL,
        _USER,
        _TAGS,
        _METADATA,
        _FEEDBACK,
        _FIRST_TOKEN,
        _WAITED,
        _SOURCE,
        replace(_STATE, cell="turn_state"),
    ),
    "session": (
        _STARTED,
        Column("name", gettext_noop("Session"), "session_name", "name", card="head", rem=13, narrow=True),
        replace(_TEXTS, title=gettext_noop("Last input / output"), cell="last_turn_texts"),
        replace(_AGENT, title=gettext_noop("Agent, about"), cell="agent_and_metadata", card="about"),
        Column("turns", gettext_noop("Turns"), "turn_count", "number", card="left", rem=5),
        replace(_TOKENS, cell="session_tokens"),
        _COST,
        _TAGS,
        _METADATA,
        _FEEDBACK,
        _SOURCE,
        replace(_STATE, title=gettext_noop("Last turn")),
    ),
    "step": (
        _STARTED,
        Column("did", gettext_noop("Step"), "step_name", "name", card="head", rem=9, narrow=True),
        replace(_TEXTS, title=gettext_noop("Input / output"), cell="step_texts"),
        replace(_AGENT, card="about"),
        _DURATION,
        replace(_TOKENS, cell="step_tokens"),
        _COST,
        _MODEL,
        _TAGS,
        _FEEDBACK,
        _FIRST_TOKEN,
        _WAITED,
        _STATE,
    ),
    "response": (
        _STARTED,
        Column("resp", gettext_noop("Response"), "response_id", "id", card="foot"),
        replace(_AGENT, title=gettext_noop("Model, session"), cell="model_and_session"),
        _TEXTS,
        _DURATION,
        _TOKENS,
        _USER,
        _TAGS,
        replace(_STEPS, cell="step_count", kind="label", optional=True),
        _STATE,
    ),
}
"""The columns of each list in order, those included that a reader has to choose."""


@dataclass(frozen=True, slots=True)
class ListColumn:
    """A column as a page shows it: its title is translated. ``sort_url`` sorts the list by it, or turns its order;
    ``sorted`` is the order that the list has by it, in the words of ``aria-sort``."""

    column: Column
    title: str
    is_visible: bool
    sort_url: str = ""
    sorted: Literal["", "ascending", "descending"] = ""


def columns(request: HttpRequest, tab: ListTab, text: str) -> list[ListColumn]:
    """Return all columns of a list under a query in order, with whether they are shown."""
    visible = _visible(request, tab.level)
    return [_list_column(column, tab, text, column.key in visible) for column in COLUMNS[tab.level]]


def _list_column(column: Column, tab: ListTab, text: str, is_visible: bool) -> ListColumn:
    title = gettext(column.title)
    if not column.sort:
        return ListColumn(column, title, is_visible)
    is_sorted = tab.order.field == column.sort
    turned = replace(tab, order=SortOrder(column.sort, descending=not (is_sorted and tab.order.descending)))
    direction: Literal["ascending", "descending"] = "descending" if tab.order.descending else "ascending"
    return ListColumn(column, title, is_visible, turned.link(text), direction if is_sorted else "")


def hidden_positions(list_columns: list[ListColumn]) -> str:
    """Return the positions of the columns that a table hides, from 1 on, as its attribute has them."""
    return " ".join(str(position) for position, column in enumerate(list_columns, start=1) if not column.is_visible)


@cache
def cells(level: Level) -> tuple[tuple[SafeString, Callable[[Any], str]], ...]:
    """Return the classes and the macro of each column of a level."""
    return tuple((SafeString(column.classes), macro("logs/_cells.html", column.cell)) for column in COLUMNS[level])


def _visible(request: HttpRequest, level: Level) -> set[str]:
    keys = request.GET.getlist("col") or request.COOKIES.get(f"columns-{level}", "").split(".")
    chosen = {column.key for column in COLUMNS[level]} & {*keys}
    if not chosen:
        return {column.key for column in COLUMNS[level] if not column.optional}
    return chosen | {column.key for column in COLUMNS[level] if column.fixed}

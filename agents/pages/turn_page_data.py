"""What a page of a turn is made from: the steps its URL asks for, and no others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlencode

from agents.base import ids
from agents.base.access import Actor
from agents.logs.pages.turn_summary import FINAL, PAGE_STEPS
from agents.logs.schemas.rows import TurnRow
from agents.logs.store import turn_log
from agents.pages import external, timeline_overview, turn_responses
from agents.pages import turn_search as find
from agents.pages.external import About
from agents.pages.timeline import Span
from agents.pages.turn_responses import Leg
from agents.pages.turn_search import Finding
from agents.record.schemas.turns import StepSnapshot, TurnSnapshot
from agents.record.store import read_turns, step_pages, turns
from agents.record.store.step_pages import Landmarks
from agents.record.store.turns import TurnTarget

VIEWS = ("reader", "timeline", "raw")


@dataclass(frozen=True, slots=True)
class Asked:
    """What a URL asks of a turn. ``start`` is a step's number, ``span`` a time since the turn's start."""

    view: str
    start: int | None
    span: Span | None
    find: str = ""
    hit: str = ""


def asked(params: Mapping[str, str]) -> Asked:
    """What cannot be read counts as not asked for."""
    view, start = params.get("view", ""), params.get("from", "")
    return Asked(
        view=view if view in VIEWS else "reader",
        start=int(start) if start.isdecimal() and len(start) < 10 else None,
        span=timeline_overview.read(params.get("zoom", "")) if view == "timeline" else None,
        find=params.get("find", "").strip()[: find.LONGEST],
        hit=params.get("hit", ""),
    )


@dataclass(frozen=True, slots=True)
class Page:
    """A turn of which only the steps shown are there, from number ``start`` on; ``total`` is how many there
    are to page through, ``answered`` the responses the turn is made of, ``about`` what is said of one that ran
    elsewhere."""

    actor: Actor
    asked: Asked
    turn: TurnSnapshot
    row: TurnRow
    place: TurnTarget
    marks: Landmarks
    start: int
    total: int
    answered: Sequence[Leg]
    finding: Finding | None
    about: About | None = None

    @property
    def shown(self) -> Sequence[StepSnapshot]:
        return self.turn.steps

    @property
    def is_final(self) -> bool:
        return self.turn.status in FINAL

    @property
    def is_whole(self) -> bool:
        """Whether all steps of the turn are shown."""
        return len(self.shown) >= self.marks.total

    @property
    def is_last(self) -> bool:
        """Whether what comes next belongs on it."""
        return self.start + PAGE_STEPS >= self.marks.total and self.asked.span is None

    def query(self, start: int) -> str:
        """The query string of another page of the same view."""
        given = {"view": self.asked.view if self.asked.view != "reader" else "", "find": self.asked.find}
        if self.asked.span is not None:
            given["zoom"] = timeline_overview.query(self.asked.span).partition("zoom=")[2]
        return "?" + urlencode({**{name: text for name, text in given.items() if text}, "from": start})


def load(actor: Actor, turn_id: str, asked: Asked) -> Page:
    """Raises NotFound, also for a turn the actor may not see."""
    key = turns.key_of(turn_id)
    turn = read_turns.head(actor, key)
    rows = turn_log.turn_rows(actor, [key])
    if not rows:
        raise turns.not_found(key)
    return _page(actor, asked, turn, rows[0], turns.target(actor, key))


def _page(actor: Actor, asked: Asked, turn: TurnSnapshot, row: TurnRow, place: TurnTarget) -> Page:
    marks = landmarks(row)
    finding = find.finding(turn.key, asked.find, asked.hit) if asked.find else None
    start = _start(asked, turn, marks, finding)
    shown, total = _shown(asked, turn, marks, start)
    answered = turn_responses.of_turn(actor, turn.key) if row.api == "responses" else []
    turn = replace(turn, steps=shown)
    about = external.about(turn, row.source, place.request)
    return Page(actor, asked, turn, row, place, marks, start, total, answered, finding, about)


def landmarks(row: TurnRow) -> Landmarks:
    """Where to go in a turn."""
    return step_pages.landmarks(row.id, failed=row.counts.errors > 0, waits=row.status not in FINAL)


def _start(asked: Asked, turn: TurnSnapshot, marks: Landmarks, finding: Finding | None) -> int:
    """The first step of the page: as asked, that with the hit, the last page of a running turn, the first."""
    last = max(marks.total - 1, 0) // PAGE_STEPS * PAGE_STEPS
    if asked.view == "raw":
        return 0  # there it is a number of an event
    if asked.start is not None:
        return asked.start if asked.span else min(asked.start // PAGE_STEPS * PAGE_STEPS, last)
    if finding is not None and finding.number is not None:
        return finding.number // PAGE_STEPS * PAGE_STEPS
    return 0 if turn.status in FINAL or asked.span else last


def _shown(asked: Asked, turn: TurnSnapshot, marks: Landmarks, start: int) -> tuple[tuple[StepSnapshot, ...], int]:
    if asked.span is None:
        return step_pages.steps(turn.key, start, PAGE_STEPS), marks.total
    span = turn.started_at + asked.span[0], turn.started_at + asked.span[1]
    return step_pages.within(turn.key, span, start, PAGE_STEPS), step_pages.count_within(turn.key, span)


def length_us(page: Page) -> int:
    """How long a turn took, has been going, or lasted as far as its steps tell."""
    ended = page.turn.completed_at or (ids.now_us() if page.turn.status != "awaiting_input" else 0)
    last = max((step.completed_at or step.started_at for step in page.shown), default=0)
    return max(ended, last, page.turn.started_at + 1) - page.turn.started_at

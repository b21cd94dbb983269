"""Load the data of a turn's page, with only those steps that its URL asks for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlencode

from agents.base import ids
from agents.base.access import Actor
from agents.logs.pages.turn_summary import FINAL, PAGE_STEPS
from agents.logs.schemas.rows import TurnRow
from agents.logs.store import turn_log
from agents.pages import called_turns, external, timeline_overview, turn_responses
from agents.pages import turn_search as find
from agents.pages.external import ExternalTurnFacts
from agents.pages.recovery import Recovery
from agents.pages.timeline import TimeSpan
from agents.pages.turn_responses import TurnResponse
from agents.pages.turn_search import TurnSearchResult
from agents.record.schemas.turns import StepSnapshot, TurnSnapshot
from agents.record.store import read_turns, step_pages, turns
from agents.record.store.call_trees import CallTree
from agents.record.store.recovery import recovery_events
from agents.record.store.step_pages import Landmarks
from agents.record.store.turns import TurnTarget

VIEWS = ("reader", "timeline", "raw")


@dataclass(frozen=True, slots=True)
class TurnPageParams:
    """The parameters of the URL. ``start`` is a step's number, ``span`` a time since the turn's start, ``step`` the
    number of the step that the reader has chosen, ``message`` that of the first input message to show."""

    view: str
    start: int | None
    span: TimeSpan | None
    find: str = ""
    hit: str = ""
    step: int | None = None
    message: int | None = None


def read_params(params: Mapping[str, str]) -> TurnPageParams:
    """Read the parameters; invalid ones count as missing."""
    view = params.get("view", "")
    return TurnPageParams(
        view=view if view in VIEWS else "reader",
        start=_number(params.get("from", "")),
        span=timeline_overview.parse_span(params.get("zoom", "")) if view == "timeline" else None,
        find=params.get("find", "").strip()[: find.MAX_SEARCH_CHARS],
        hit=params.get("hit", ""),
        step=_number(params.get("step", "")),
        message=_number(params.get("messages", "")),
    )


def _number(text: str) -> int | None:
    return int(text) if text.isdecimal() and len(text) < 10 else None


@dataclass(frozen=True, slots=True)
class TurnPageData:
    """A turn with only the visible steps, from number ``start`` on. ``total`` counts the steps to page through;
    ``responses`` are those of the Responses API, ``about`` the facts of an external turn, ``recovery`` what became of
    the turn after its process was lost, ``calls`` the turns below it."""

    actor: Actor
    page_params: TurnPageParams
    turn: TurnSnapshot
    row: TurnRow
    target: TurnTarget
    marks: Landmarks
    start: int
    total: int
    responses: Sequence[TurnResponse]
    finding: TurnSearchResult | None
    about: ExternalTurnFacts | None
    recovery: Recovery
    calls: CallTree

    @property
    def steps(self) -> Sequence[StepSnapshot]:
        return self.turn.steps

    @property
    def is_final(self) -> bool:
        return self.turn.status in FINAL

    @property
    def has_all_steps(self) -> bool:
        """Whether all steps of the turn are on the page."""
        return len(self.steps) >= self.marks.total

    @property
    def is_last(self) -> bool:
        """Whether new steps belong on this page."""
        return self.start + PAGE_STEPS >= self.marks.total and self.page_params.span is None

    def query(self, start: int) -> str:
        """The query string of another page of the same view."""
        return "?" + urlencode({**self._values(), "from": start})

    def step_query(self, number: int) -> str:
        """The query string, with its fragment, of the same page with a step chosen."""
        start = {"from": self.page_params.start} if self.page_params.start else {}
        return f"?{urlencode({**self._values(), **start, 'step': number})}#step-{number}"

    def messages_query(self, first: int) -> str:
        """The query string of another page of the input messages."""
        return "?" + urlencode({**self._values(), "messages": first})

    def _values(self) -> dict[str, str]:
        values = {
            "view": self.page_params.view if self.page_params.view != "reader" else "",
            "find": self.page_params.find,
        }
        if self.page_params.span is not None:
            values["zoom"] = timeline_overview.span_query(self.page_params.span).partition("zoom=")[2]
        return {name: text for name, text in values.items() if text}

    @property
    def chosen(self) -> int | None:
        """The number of the step whose detail is shown beside the tree: the chosen one, or else the first that
        failed."""
        return self.marks.failed if self.page_params.step is None else self.page_params.step


def load(actor: Actor, turn_id: str, params: TurnPageParams) -> TurnPageData:
    """Load the page. Raises NotFound, also for a turn that the actor may not see."""
    key = turns.key_of(turn_id)
    turn = read_turns.head(actor, key)
    rows = turn_log.turn_rows(actor, [key])
    if not rows:
        raise turns.not_found(key)
    return _page(actor, params, turn, rows[0], turns.target(actor, key))


def _page(actor: Actor, params: TurnPageParams, turn: TurnSnapshot, row: TurnRow, target: TurnTarget) -> TurnPageData:
    recovery = Recovery(recovery_events(turn.key))
    marks = landmarks(row, recovery)
    finding = find.search_turn(turn, params.find, params.hit) if params.find else None
    start = _start(params, turn, marks, finding)
    steps, total = _visible_steps(params, turn, marks, start)
    responses = turn_responses.responses_of_turn(actor, turn.key) if row.api == "responses" else []
    turn = replace(turn, steps=steps)
    about = external.external_facts(turn, row.source, target.request)
    calls = called_turns.tree_of(actor, row)
    return TurnPageData(
        actor, params, turn, row, target, marks, start, total, responses, finding, about, recovery, calls
    )


def landmarks(row: TurnRow, recovery: Recovery) -> Landmarks:
    """The steps of a turn to jump to: failures, pending calls, calls in doubt."""
    goes_on = row.status not in FINAL
    doubts = recovery.doubts if goes_on else {}
    return step_pages.landmarks(row.id, failed=row.counts.errors > 0, waits=goes_on, doubts=doubts)


def _start(params: TurnPageParams, turn: TurnSnapshot, marks: Landmarks, finding: TurnSearchResult | None) -> int:
    """The first step of the page: the requested one, that of the search hit, else the last page of a running turn or
    the first page."""
    last = max(marks.total - 1, 0) // PAGE_STEPS * PAGE_STEPS
    if params.view == "raw":
        return 0  # in the raw view ``from`` is the number of an event
    if params.start is not None:
        return params.start if params.span else min(params.start // PAGE_STEPS * PAGE_STEPS, last)
    if params.step is not None and params.span is None:
        return min(params.step // PAGE_STEPS * PAGE_STEPS, last)
    if finding is not None and finding.number is not None:
        return finding.number // PAGE_STEPS * PAGE_STEPS
    return 0 if turn.status in FINAL or params.span else last


def _visible_steps(
    params: TurnPageParams, turn: TurnSnapshot, marks: Landmarks, start: int
) -> tuple[tuple[StepSnapshot, ...], int]:
    if params.span is None:
        return step_pages.steps(turn.key, start, PAGE_STEPS), marks.total
    span = turn.started_at + params.span[0], turn.started_at + params.span[1]
    return step_pages.within(turn.key, span, start, PAGE_STEPS), step_pages.count_within(turn.key, span)


def length_us(page: TurnPageData) -> int:
    """The length of a turn, of a running one so far, but at least up to the end of its steps."""
    end = page.turn.completed_at or (ids.now_us() if page.turn.status != "awaiting_input" else 0)
    last = max((step.completed_at or step.started_at for step in page.steps), default=0)
    return max(end, last, page.turn.started_at + 1) - page.turn.started_at

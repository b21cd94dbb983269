"""The feedback of a record on pages: ratings, tags, scores, comments with author and time; and the forms to give it.

One form of the page (`agents/_judge_form.html`) has all of these fields, so that fragments need no token of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from pydantic import ValidationError

from agents.base import ids
from agents.base.access import ANONYMOUS, Actor
from agents.base.errors import InvalidRequest, NotAllowed, NotFound
from agents.base.store import feed_cursor
from agents.feedback.schemas import CreateFeedback
from agents.feedback.store import feedback
from agents.feedback.store.feedback import FeedbackContent, FeedbackEntry
from agents.logs.pages.turn_summary import PAGE_STEPS, window_query
from agents.record.schemas.tags import TagNames
from agents.record.store import targets
from agents.record.store.targets import RecordTarget
from agents.uikit.access import PageRequest, page
from agents.uikit.http_responses import wants_json
from agents.uikit.links import at
from agents.uikit.templates import fragment


@dataclass(frozen=True, slots=True)
class RatingCounts:
    """The numbers of ratings up and down, and the reader's own rating."""

    up: int = 0
    down: int = 0
    own: str = ""


@dataclass(frozen=True, slots=True)
class FeedbackLine:
    """A feedback entry in a list; of a step with its number from 1 and its URL."""

    entry: FeedbackEntry
    step: int | None = None
    step_url: str = ""


def _feedback_url(target: RecordTarget) -> str:
    """The URL of a record's feedback page."""
    if target.turn is None:
        return at(f"/sessions/{ids.public(ids.Kind.SESSION, target.session)}/judged/")
    turn = at(f"/turns/{ids.public(ids.Kind.TURN, target.turn)}/")
    return f"{turn}judged/" if target.step is None else f"{turn}steps/{_public_id(target)}/judged/"


def _public_id(target: RecordTarget) -> str:
    """The public id of the record."""
    if target.step is not None:
        return ids.public(ids.Kind.STEP, target.step)
    if target.turn is not None:
        return ids.public(ids.Kind.TURN, target.turn)
    return ids.public(ids.Kind.SESSION, target.session)


# ---------------------------------------------------------------------------------------- fragments


def section(actor: Actor, target: RecordTarget) -> str:
    """Render the feedback of a record, of a turn's steps too, and the fields to give some."""
    # before the rows are read: what changes in between is then sent again rather than missed
    cursor = feed_cursor.newest(actor)
    entries = _entries_of(actor, target)
    numbers = targets.step_numbers({entry.target.step for entry in entries if entry.target.step is not None})
    return fragment(
        "feedback/_feedback.html",
        name=_public_id(target),
        url=_feedback_url(target),
        cursor=cursor,
        thumbs=_rating_counts(actor, [entry for entry in entries if entry.target == target]),
        tags=targets.tags_of_target(target),
        lines=[_line(target, entry, numbers) for entry in entries if _is_listed(target, entry)],
        can_tag="run" in actor.actions,
    )


def _entries_of(actor: Actor, target: RecordTarget) -> list[FeedbackEntry]:
    if target.turn is None:
        return feedback.of_session(actor, target.session)
    entries = feedback.of_turn(actor, target.turn)
    return entries if target.step is None else [entry for entry in entries if entry.target == target]


def _is_listed(target: RecordTarget, entry: FeedbackEntry) -> bool:
    """Whether an entry is listed. The reader's own rating without a comment is not: its button is pressed instead."""
    is_bare = not entry.content.comment and not entry.content.name
    return not (is_bare and entry.by_reader and entry.target == target)


def _line(target: RecordTarget, entry: FeedbackEntry, numbers: Mapping[int, int]) -> FeedbackLine:
    number = numbers.get(entry.target.step or 0)
    if number is None or target.turn is None or target.step is not None:
        return FeedbackLine(entry)
    start = window_query(number // PAGE_STEPS * PAGE_STEPS)
    return FeedbackLine(entry, number + 1, at(f"/turns/{ids.public(ids.Kind.TURN, target.turn)}/{start}#step-{number}"))


def _rating_counts(actor: Actor, entries: Iterable[FeedbackEntry]) -> RatingCounts:
    ratings = [(entry.content.rating, entry.by_reader) for entry in entries if entry.content.rating]
    own_rating = next((rating for rating, by_reader in ratings if by_reader), "")
    values = [rating for rating, _by_reader in ratings]
    return RatingCounts(values.count("up"), values.count("down"), own_rating or "")


def step_controls(actor: Actor, session: int, turn: int, extra_step: int | None = None) -> dict[int, str]:
    """The controls in the cards of those steps of a turn that have feedback, and of ``extra_step``."""
    by_step: dict[int, list[FeedbackEntry]] = {} if extra_step is None else {extra_step: []}
    for entry in feedback.of_turn(actor, turn):
        if entry.target.step is not None:
            by_step.setdefault(entry.target.step, []).append(entry)
    return {step: _control(actor, RecordTarget(session, turn, step), entries) for step, entries in by_step.items()}


def empty_step_controls(session: int, turn: int, step: int) -> str:
    """The controls of a step without feedback."""
    return _control(ANONYMOUS, RecordTarget(session, turn, step), ())


def _control(actor: Actor, target: RecordTarget, entries: Sequence[FeedbackEntry]) -> str:
    comment_count = sum(1 for entry in entries if entry.content.comment or entry.content.name)
    return fragment(
        "feedback/_step_feedback.html",
        name=_public_id(target),
        url=_feedback_url(target),
        thumbs=_rating_counts(actor, entries),
        comment_count=comment_count,
    )


# -------------------------------------------------------------------------------------------- pages


@page("read")
def turn_feedback(request: PageRequest, turn_id: str) -> HttpResponseBase:
    """Render the feedback of a turn; a POST gives some."""
    target = targets.find(request.actor, "turn", turn_id)
    return _answer(request, target, at(f"/turns/{turn_id}/"))


@page("read")
def step_feedback(request: PageRequest, turn_id: str, step_id: str) -> HttpResponseBase:
    """Render the feedback of a step; a POST gives some."""
    turn = targets.find(request.actor, "turn", turn_id)
    target = targets.find(request.actor, "step", step_id)
    if target.turn != turn.turn:
        raise NotFound(f"Step '{step_id[:80]}' not found.")
    number = targets.step_numbers([target.step or 0])[target.step or 0]
    start = window_query(number // PAGE_STEPS * PAGE_STEPS)
    return _answer(request, target, at(f"/turns/{turn_id}/{start}#step-{number}"), number + 1)


@page("read")
def session_feedback(request: PageRequest, session_id: str) -> HttpResponseBase:
    """Render the feedback of a session; a POST gives some."""
    target = targets.find(request.actor, "session", session_id)
    return _answer(request, target, at(f"/sessions/{session_id}/"))


def _answer(request: PageRequest, target: RecordTarget, back: str, step: int | None = None) -> HttpResponseBase:
    if request.method == "POST":
        _apply_form(request, target)
        if wants_json(request):
            return JsonResponse({"parts": _parts(request.actor, target)})
        return redirect(_with_anchor(back))
    if "parts" in request.GET:
        return HttpResponse(_parts(request.actor, target))
    context = {
        "section": section(request.actor, target),
        "back": back,
        "step": step,
        "judge_url": _feedback_url(target),
    }
    return render(request, "feedback/feedback.html", {**context, "is_turn": target.turn is not None})


def _with_anchor(back: str) -> str:
    return back if "#" in back else f"{back}#feedback"


def _parts(actor: Actor, target: RecordTarget) -> list[str]:
    """The parts that an open page renders again after new feedback: the section of its record, and the controls of the
    steps that have feedback."""
    if target.turn is None:
        return [section(actor, target)]
    controls = step_controls(actor, target.session, target.turn, target.step)
    own = [section(actor, target)] if target.step is not None else []
    return [*own, section(actor, RecordTarget(target.session, target.turn)), *controls.values()]


# -------------------------------------------------------------------------------------------- saying


def _apply_form(request: HttpRequest, target: RecordTarget) -> None:
    """Do what the pressed button says; the fields of other records in the same form are ignored."""
    actor: Actor = request.actor  # type: ignore[attr-defined]  # set by `page`
    name = _public_id(target)
    comment, tag = (request.POST.get(f"{field}:{name}", "").strip() for field in ("comment", "tag"))
    if "untag" in request.POST:
        targets.change_tags(_require_tagging(actor, target), remove=[request.POST["untag"]])
    elif "withdraw" in request.POST:
        feedback.withdraw(actor, request.POST["withdraw"])
    else:
        _apply_action(actor, target, request.POST.get("act", ""), comment, tag)


def _apply_action(actor: Actor, target: RecordTarget, action: str, comment: str, tag: str) -> None:
    match action:
        case "up" | "down":
            feedback.submit(actor, target, [FeedbackContent(rating=action, comment=_comment(comment))])
        case "none":
            feedback.remove_rating(actor, target)
        case "comment" if comment:
            feedback.submit(actor, target, [FeedbackContent(comment=_comment(comment))])
        case "tag" | "enter" if tag:
            targets.change_tags(_require_tagging(actor, target), add=_tag_names(tag))
        case _:
            raise InvalidRequest(_("Write a comment or a tag first."), param="act")


def _require_tagging(actor: Actor, target: RecordTarget) -> RecordTarget:
    if "run" not in actor.actions:
        raise NotAllowed(_("Your account may not tag."), code="missing_action")
    return target


def _comment(text: str) -> str:
    try:
        return CreateFeedback(comment=text.replace("\r\n", "\n")).comment
    except ValidationError as error:
        raise _invalid("comment", error) from error


def _tag_names(text: str) -> list[str]:
    """Parse one tag, or several separated by commas."""
    try:
        return TagNames(tags=[part for part in text.split(",") if part.strip()]).tags
    except ValidationError as error:
        raise _invalid("tag", error) from error


def _invalid(field: str, error: ValidationError) -> InvalidRequest:
    first = error.errors(include_url=False, include_input=False)[0]
    return InvalidRequest(f"{field}: {first['msg']}", param=field)

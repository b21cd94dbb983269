"""What people say of a record, on the pages: thumbs, tags, scores, comments, with who and when; and the
forms to say it. A form of the page (`agents/_judge_form.html`) holds them all together, so that fragments
need no token of their own."""

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
from agents.feedback.store.feedback import Judgement, Said
from agents.logs.pages.turn_summary import WINDOW, window_query
from agents.record.schemas.tags import TagNames
from agents.record.store import targets
from agents.record.store.targets import RecordTarget
from agents.uikit.access import PageRequest, page
from agents.uikit.templates import fragment


@dataclass(frozen=True, slots=True)
class Thumbs:
    """How many say up and down, and which of them the reader does."""

    up: int = 0
    down: int = 0
    mine: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    """Something that was said; of a step with its place from 1 and where it stands."""

    said: Said
    step: int | None = None
    step_url: str = ""


def _url(about: RecordTarget) -> str:
    """Where a record is judged."""
    if about.turn is None:
        return f"/sessions/{ids.public(ids.Kind.SESSION, about.session)}/judged/"
    turn = f"/turns/{ids.public(ids.Kind.TURN, about.turn)}/"
    return f"{turn}judged/" if about.step is None else f"{turn}steps/{_name(about)}/judged/"


def _name(about: RecordTarget) -> str:
    """The public id of what is judged."""
    if about.step is not None:
        return ids.public(ids.Kind.STEP, about.step)
    if about.turn is not None:
        return ids.public(ids.Kind.TURN, about.turn)
    return ids.public(ids.Kind.SESSION, about.session)


# ---------------------------------------------------------------------------------------- fragments


def section(actor: Actor, about: RecordTarget) -> str:
    """What is said of a record, of a turn's steps too, and the fields to say something."""
    # before the rows are read: what changes in between is then sent again rather than missed
    cursor = feed_cursor.newest(actor)
    said = _said(actor, about)
    numbers = targets.step_numbers({one.about.step for one in said if one.about.step is not None})
    return fragment(
        "feedback/_feedback.html",
        name=_name(about),
        url=_url(about),
        cursor=cursor,
        thumbs=_thumbs(actor, [one for one in said if one.about == about]),
        tags=targets.tags_of_target(about),
        lines=[_line(about, one, numbers) for one in said if _is_shown(about, one)],
        can_tag="run" in actor.actions,
    )


def _said(actor: Actor, about: RecordTarget) -> list[Said]:
    if about.turn is None:
        return feedback.of_session(actor, about.session)
    said = feedback.of_turn(actor, about.turn)
    return said if about.step is None else [one for one in said if one.about == about]


def _is_shown(about: RecordTarget, said: Said) -> bool:
    """The reader's own bare thumb is seen by the button that is pressed."""
    bare = not said.judgement.comment and not said.judgement.name
    return not (bare and said.own and said.about == about)


def _line(about: RecordTarget, said: Said, numbers: Mapping[int, int]) -> Line:
    number = numbers.get(said.about.step or 0)
    if number is None or about.turn is None or about.step is not None:
        return Line(said)
    start = window_query(number // WINDOW * WINDOW)
    return Line(said, number + 1, f"/turns/{ids.public(ids.Kind.TURN, about.turn)}/{start}#step-{number}")


def _thumbs(actor: Actor, said: Iterable[Said]) -> Thumbs:
    given = [(one.judgement.rating, one.own) for one in said if one.judgement.rating]
    mine = next((rating for rating, own in given if own), "")
    words = [rating for rating, _own in given]
    return Thumbs(words.count("up"), words.count("down"), mine or "")


def step_controls(actor: Actor, session: int, turn: int, more: int | None = None) -> dict[int, str]:
    """The controls in the cards of those steps of a turn that something was said of, and of ``more``."""
    by_step: dict[int, list[Said]] = {} if more is None else {more: []}
    for one in feedback.of_turn(actor, turn):
        if one.about.step is not None:
            by_step.setdefault(one.about.step, []).append(one)
    return {step: _control(actor, RecordTarget(session, turn, step), said) for step, said in by_step.items()}


def unsaid(session: int, turn: int, step: int) -> str:
    """The control of a step that nothing was said of."""
    return _control(ANONYMOUS, RecordTarget(session, turn, step), ())


def _control(actor: Actor, about: RecordTarget, said: Sequence[Said]) -> str:
    words = sum(1 for one in said if one.judgement.comment or one.judgement.name)
    return fragment(
        "feedback/_step_feedback.html", name=_name(about), url=_url(about), thumbs=_thumbs(actor, said), words=words
    )


# -------------------------------------------------------------------------------------------- pages


@page("read")
def turn_judged(request: PageRequest, turn_id: str) -> HttpResponseBase:
    """What is said of a turn; a POST says something."""
    about = targets.find(request.actor, "turn", turn_id)
    return _answer(request, about, f"/turns/{turn_id}/")


@page("read")
def step_judged(request: PageRequest, turn_id: str, step_id: str) -> HttpResponseBase:
    """The same of a step."""
    turn = targets.find(request.actor, "turn", turn_id)
    about = targets.find(request.actor, "step", step_id)
    if about.turn != turn.turn:
        raise NotFound(f"Step '{step_id[:80]}' not found.")
    number = targets.step_numbers([about.step or 0])[about.step or 0]
    start = window_query(number // WINDOW * WINDOW)
    return _answer(request, about, f"/turns/{turn_id}/{start}#step-{number}", number + 1)


@page("read")
def session_judged(request: PageRequest, session_id: str) -> HttpResponseBase:
    """The same of a session."""
    about = targets.find(request.actor, "session", session_id)
    return _answer(request, about, f"/sessions/{session_id}/")


def _answer(request: PageRequest, about: RecordTarget, back: str, step: int | None = None) -> HttpResponseBase:
    if request.method == "POST":
        _say(request, about)
        wants_json = request.headers.get("Accept", "").startswith("application/json")
        return JsonResponse({"parts": _parts(request.actor, about)}) if wants_json else redirect(_behind(back))
    if "parts" in request.GET:
        return HttpResponse(_parts(request.actor, about))
    context = {"section": section(request.actor, about), "back": back, "step": step, "judge_url": _url(about)}
    return render(request, "feedback/feedback.html", {**context, "is_turn": about.turn is not None})


def _behind(back: str) -> str:
    return back if "#" in back else f"{back}#feedback"


def _parts(actor: Actor, about: RecordTarget) -> list[str]:
    """What an open page renders again after something was said: the section of its record, and the
    controls of the steps that something was said of."""
    if about.turn is None:
        return [section(actor, about)]
    controls = step_controls(actor, about.session, about.turn, about.step)
    own = [section(actor, about)] if about.step is not None else []
    return [*own, section(actor, RecordTarget(about.session, about.turn)), *controls.values()]


# -------------------------------------------------------------------------------------------- saying


def _say(request: HttpRequest, about: RecordTarget) -> None:
    """Do what the pressed button says; the fields of other records in the same form count for nothing."""
    actor: Actor = request.actor  # type: ignore[attr-defined]  # set by `page`
    name = _name(about)
    comment, tag = (request.POST.get(f"{field}:{name}", "").strip() for field in ("comment", "tag"))
    if "untag" in request.POST:
        targets.change_tags(_taggable(actor, about), remove=[request.POST["untag"]])
    elif "withdraw" in request.POST:
        feedback.withdraw(actor, request.POST["withdraw"])
    else:
        _act(actor, about, request.POST.get("act", ""), comment, tag)


def _act(actor: Actor, about: RecordTarget, act: str, comment: str, tag: str) -> None:
    match act:
        case "up" | "down":
            feedback.judge(actor, about, [Judgement(rating=act, comment=_comment(comment))])
        case "none":
            feedback.unrate(actor, about)
        case "comment" if comment:
            feedback.judge(actor, about, [Judgement(comment=_comment(comment))])
        case "tag" | "enter" if tag:
            targets.change_tags(_taggable(actor, about), add=_names(tag))
        case _:
            raise InvalidRequest(_("There is nothing said yet: write a comment or a tag first."), param="act")


def _taggable(actor: Actor, about: RecordTarget) -> RecordTarget:
    if "run" not in actor.actions:
        raise NotAllowed(_("Your account may not tag."), code="missing_action")
    return about


def _comment(text: str) -> str:
    try:
        return CreateFeedback(comment=text.replace("\r\n", "\n")).comment
    except ValidationError as error:
        raise _wrong("comment", error) from error


def _names(text: str) -> list[str]:
    """One tag, or several with commas between."""
    try:
        return TagNames(tags=[part for part in text.split(",") if part.strip()]).tags
    except ValidationError as error:
        raise _wrong("tag", error) from error


def _wrong(field: str, error: ValidationError) -> InvalidRequest:
    first = error.errors(include_url=False, include_input=False)[0]
    return InvalidRequest(f"{field}: {first['msg']}", param=field)

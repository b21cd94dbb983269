"""``/v1/feedback``: what people say of turns, steps and sessions; and the tags of these.

A judgement takes the action ``read``: who may read a record may judge it, which changes nothing but what
is said of it. Tags are what others find records by, so they take ``run``.
"""

from __future__ import annotations

from typing import Any, ClassVar, cast

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request

from agents.base import ids
from agents.base.access import Action
from agents.base.api.parameters import AFTER_ALONE, LIMIT
from agents.base.api.views import ApiView, answer, no_content
from agents.base.errors import InvalidRequest, NotAllowed
from agents.feedback.schemas import CreateFeedback, FeedbackCreated, FeedbackList, FeedbackObject, Score, Tags
from agents.feedback.store import feedback
from agents.feedback.store.feedback import Judgement, Said
from agents.record.schemas.tags import TagNames
from agents.record.store import targets
from agents.record.store.targets import RecordTarget, TargetKind

PAGE, CAP = 100, 1000
_WHAT: dict[str, TargetKind] = {
    "turn_id": "turn",
    "session_id": "session",
    "step_id": "step",
    "response_id": "response",
}

_ONE = "The id of what the feedback is about: exactly one of turn_id, session_id, step_id and response_id is given."


class FeedbackAll(ApiView):
    """Feedback of an application's end users, and of those who read the log."""

    actions = {"get": "read", "post": "read"}

    @extend_schema(
        operation_id="list_feedback",
        parameters=[*(OpenApiParameter(name, str, description=_ONE) for name in _WHAT), AFTER_ALONE, LIMIT],
        responses=FeedbackList,
    )
    def get(self, request: Request) -> HttpResponseBase:
        asked = request._request
        found = targets.find(self.actor, *_named({name: asked.GET.get(name) for name in _WHAT}))
        said, more = feedback.page(self.actor, found, after=_after(asked), limit=_limit(asked))
        last = said[-1].public_id if said else None
        return answer(FeedbackList(data=[_shown(each) for each in said], has_more=more, last_id=last))

    @extend_schema(operation_id="create_feedback", request=CreateFeedback, responses={201: FeedbackCreated})
    def post(self, request: Request) -> HttpResponseBase:
        body: CreateFeedback = self.body(CreateFeedback)
        said = _judgements(body)
        if not said and not body.tags:
            raise InvalidRequest("rating: say something: a rating, a score, a comment or tags.", param="rating")
        if body.tags and "run" not in self.actor.actions:
            raise NotAllowed("This key may not run, which tags need.", code="missing_action")
        action: Action = "run" if body.tags else "read"
        found = targets.find(self.actor, *_named(body.model_dump(include=set(_WHAT))), action)
        keys = feedback.judge(self.actor, found, said, body.tags)
        stored = [_shown(each) for each in feedback.of_keys(self.actor, keys)]
        return answer(FeedbackCreated(data=stored, tags=targets.tags_of_target(found)), 201)


class FeedbackOne(ApiView):
    """A judgement, to be taken back by whoever made it, or by an admin."""

    actions = {"delete": "read"}

    @extend_schema(operation_id="delete_feedback", responses={204: None})
    def delete(self, request: Request, feedback_id: str) -> HttpResponseBase:
        feedback.withdraw(self.actor, feedback_id)
        return no_content()


def _named(given: dict[str, Any]) -> tuple[TargetKind, str]:
    """What is judged, and its id. Raises InvalidRequest unless it is exactly one thing."""
    named = [(name, public_id) for name, public_id in given.items() if public_id]
    if len(named) != 1:
        raise InvalidRequest(f"{_names(named)}: give exactly one of {', '.join(_WHAT)}.", param=_names(named))
    [(name, public_id)] = named
    return _WHAT[name], public_id


def _names(named: list[tuple[str, Any]]) -> str:
    return named[1][0] if named else "turn_id"


def _judgements(body: CreateFeedback) -> list[Judgement]:
    """The thumb with the comment, and each score by itself; of several scores of one name the last."""
    first = [Judgement(rating=body.rating, comment=body.comment, author=body.user)]
    scores = {score.name: score.value for score in body.score}
    return [
        *(first if body.rating or body.comment else []),
        *(Judgement(name=name, value=value, author=body.user) for name, value in scores.items()),
    ]


def _shown(said: Said) -> FeedbackObject:
    one = said.judgement
    return FeedbackObject(
        id=said.public_id,
        turn_id=said.about.turn,
        session_id=said.about.session,
        step_id=said.about.step,
        rating=cast(Any, one.rating),
        score=Score(name=one.name, value=one.value) if one.value is not None else None,
        comment=one.comment,
        user=one.author,
        created_at=said.created_at,
        updated_at=said.updated_at,
        mine=said.mine,
    )


def _after(request: HttpRequest) -> int | None:
    raw = request.GET.get("after")
    key = ids.parse(ids.Kind.FEEDBACK, raw) if raw else None
    if raw and key is None:
        raise InvalidRequest("after: not the id of feedback.", param="after")
    return key


def _limit(request: HttpRequest) -> int:
    raw = request.GET.get("limit") or str(PAGE)
    if not (raw.isascii() and raw.isdecimal()) or len(raw) > 6 or not int(raw):
        raise InvalidRequest("limit: a positive whole number is needed.", param="limit")
    return min(int(raw), CAP)


# ---------------------------------------------------------------------------------------------- tags


class _RecordTags(ApiView):
    """Tags of a record. PUT adds to those there are, DELETE takes away; both tell what there is then."""

    actions = {"put": "run", "delete": "run"}
    what: ClassVar[TargetKind]

    def added(self, public_id: str) -> HttpResponseBase:
        body: TagNames = self.body(TagNames)
        found = self._about(public_id)
        return answer(Tags(tags=targets.change_tags(found, add=body.tags)))

    def removed(self, request: HttpRequest, public_id: str) -> HttpResponseBase:
        """The names stand in the body or, for clients that send none with DELETE, as ``?tag=``."""
        named = request.GET.getlist("tag")
        names = named or self.body(TagNames).tags
        found = self._about(public_id)
        return answer(Tags(tags=targets.change_tags(found, remove=names)))

    def _about(self, public_id: str) -> RecordTarget:
        return targets.find(self.actor, self.what, public_id, "run")


_TAG = OpenApiParameter("tag", str, many=True, required=True)


def _tags(what: TargetKind) -> type[ApiView]:
    """The view of one level, with its own entry in the OpenAPI."""
    param = f"{what}_id"

    @extend_schema(operation_id=f"add_{what}_tags", request=TagNames, responses=Tags)
    def put(self: _RecordTags, request: Request, **path: str) -> HttpResponseBase:
        return self.added(path[param])

    @extend_schema(operation_id=f"remove_{what}_tags", parameters=[_TAG], responses=Tags)
    def delete(self: _RecordTags, request: Request, **path: str) -> HttpResponseBase:
        return self.removed(request._request, path[param])

    members = {"what": what, "put": put, "delete": delete, "__doc__": _RecordTags.__doc__}
    return type(f"{what.capitalize()}Tags", (_RecordTags,), members)


ROUTES: list[tuple[str, type[ApiView]]] = [
    ("feedback", FeedbackAll),
    ("feedback/<str:feedback_id>", FeedbackOne),
    ("logs/turns/<str:turn_id>/tags", _tags("turn")),
    ("logs/sessions/<str:session_id>/tags", _tags("session")),
    ("logs/steps/<str:step_id>/tags", _tags("step")),
]

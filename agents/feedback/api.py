"""``/v1/feedback``: feedback on turns, steps and sessions; and the tags of these.

Feedback takes the action ``read``: an actor that may read a record may give feedback, which changes nothing else of the
record. Others find records by their tags, so tags take ``run``.
"""

from __future__ import annotations

from typing import Any, ClassVar, cast

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request

from agents.base import ids
from agents.base.access import Action
from agents.base.api.parameters import AFTER_ALONE, LIMIT, ORDER, QUERY, ZONE
from agents.base.api.views import ApiView, answer, no_content
from agents.base.errors import InvalidRequest, NotAllowed
from agents.feedback.schemas import CreateFeedback, FeedbackCreated, FeedbackList, FeedbackObject, Score, Tags
from agents.feedback.store import feedback, pages
from agents.feedback.store.feedback import FeedbackContent, FeedbackEntry
from agents.feedback.store.pages import PageStart
from agents.logs.api.logs import echo, oldest_first, read_query
from agents.record.schemas.tags import TagNames
from agents.record.store import targets
from agents.record.store.targets import RecordTarget, TargetKind

DEFAULT_LIMIT, MAX_LIMIT = 100, 1000
_KINDS: dict[str, TargetKind] = {
    "turn_id": "turn",
    "session_id": "session",
    "step_id": "step",
    "response_id": "response",
}

_ID_DESCRIPTION = (
    "The id of what the feedback is about: at most one of turn_id, session_id, step_id and response_id, and not with q."
)


class FeedbackCollection(ApiView):
    """The feedback of an application's end users, and of the readers of the log."""

    actions = {"get": "read", "post": "read"}

    @extend_schema(
        operation_id="list_feedback",
        parameters=[
            QUERY,
            ZONE,
            *(OpenApiParameter(name, str, description=_ID_DESCRIPTION) for name in _KINDS),
            AFTER_ALONE,
            LIMIT,
            ORDER,
        ],
        responses=FeedbackList,
    )
    def get(self, request: Request) -> HttpResponseBase:
        """List feedback, newest first: that on one record and what is below it, else that on the turns (and their
        steps) that the query ``q`` accepts; without any of these that on all turns."""
        http_request = request._request
        about = {name: http_request.GET.get(name) for name in _KINDS}
        start = PageStart(_after(http_request), _limit(http_request), oldest_first(http_request))
        if any(about.values()):
            if http_request.GET.get("q"):
                raise InvalidRequest("q: either a query or the id of one record, not both.", param="q")
            query = None
            entries, has_more = pages.of_target(self.actor, targets.find(self.actor, *_kind_and_id(about)), start)
        else:
            query = read_query(http_request)
            entries, has_more = pages.of_query(self.actor, query, start)
        listed = [_feedback_object(entry) for entry in entries]
        first_id, last_id = (listed[0].id, listed[-1].id) if listed else (None, None)
        return answer(
            FeedbackList(
                data=listed, has_more=has_more, first_id=first_id, last_id=last_id, query=query and echo(query)
            )
        )

    @extend_schema(operation_id="create_feedback", request=CreateFeedback, responses={201: FeedbackCreated})
    def post(self, request: Request) -> HttpResponseBase:
        body: CreateFeedback = self.body(CreateFeedback)
        contents = _contents(body)
        if not contents and not body.tags:
            raise InvalidRequest("rating: say something: a rating, a score, a comment or tags.", param="rating")
        if body.tags and "run" not in self.actor.actions:
            raise NotAllowed("This key may not run, which tags need.", code="missing_action")
        action: Action = "run" if body.tags else "read"
        target = targets.find(self.actor, *_kind_and_id(body.model_dump(include=set(_KINDS))), action)
        keys = feedback.submit(self.actor, target, contents, body.tags)
        stored = [_feedback_object(entry) for entry in feedback.of_keys(self.actor, keys)]
        return answer(FeedbackCreated(data=stored, tags=targets.tags_of_target(target)), 201)


class FeedbackDetail(ApiView):
    """A feedback entry, which its author or an admin may delete."""

    actions = {"delete": "read"}

    @extend_schema(operation_id="delete_feedback", responses={204: None})
    def delete(self, request: Request, feedback_id: str) -> HttpResponseBase:
        feedback.withdraw(self.actor, feedback_id)
        return no_content()


def _kind_and_id(ids_by_name: dict[str, Any]) -> tuple[TargetKind, str]:
    """The kind and the id of the record that a request names. Raises InvalidRequest unless it names exactly one."""
    pairs = [(name, public_id) for name, public_id in ids_by_name.items() if public_id]
    if len(pairs) != 1:
        raise InvalidRequest(
            f"{_wrong_param(pairs)}: give exactly one of {', '.join(_KINDS)}.", param=_wrong_param(pairs)
        )
    [(name, public_id)] = pairs
    return _KINDS[name], public_id


def _wrong_param(pairs: list[tuple[str, Any]]) -> str:
    return pairs[1][0] if pairs else "turn_id"


def _contents(body: CreateFeedback) -> list[FeedbackContent]:
    """The contents of a request: the rating with the comment, and each score by itself; of several scores of one name
    the last."""
    rating_and_comment = [FeedbackContent(rating=body.rating, comment=body.comment, author=body.user)]
    scores = {score.name: score.value for score in body.score}
    return [
        *(rating_and_comment if body.rating or body.comment else []),
        *(FeedbackContent(name=name, value=value, author=body.user) for name, value in scores.items()),
    ]


def _feedback_object(entry: FeedbackEntry) -> FeedbackObject:
    content = entry.content
    return FeedbackObject(
        id=entry.public_id,
        turn_id=entry.target.turn,
        session_id=entry.target.session,
        step_id=entry.target.step,
        rating=cast(Any, content.rating),
        score=Score(name=content.name, value=content.value) if content.value is not None else None,
        comment=content.comment,
        user=content.author,
        created_at=entry.created_at,
        updated_at=entry.updated_at,
        mine=entry.can_withdraw,
    )


def _after(request: HttpRequest) -> int | None:
    raw = request.GET.get("after")
    key = ids.parse(ids.Kind.FEEDBACK, raw) if raw else None
    if raw and key is None:
        raise InvalidRequest("after: not the id of feedback.", param="after")
    return key


def _limit(request: HttpRequest) -> int:
    raw = request.GET.get("limit") or str(DEFAULT_LIMIT)
    if not (raw.isascii() and raw.isdecimal()) or len(raw) > 6 or not int(raw):
        raise InvalidRequest("limit: a positive whole number is needed.", param="limit")
    return min(int(raw), MAX_LIMIT)


# ---------------------------------------------------------------------------------------------- tags


class _RecordTags(ApiView):
    """The tags of a record. PUT adds tags, DELETE removes some; both return all tags that the record then has."""

    actions = {"put": "run", "delete": "run"}
    kind: ClassVar[TargetKind]

    def add_tags(self, public_id: str) -> HttpResponseBase:
        body: TagNames = self.body(TagNames)
        target = self._target(public_id)
        return answer(Tags(tags=targets.change_tags(target, add=body.tags)))

    def remove_tags(self, request: HttpRequest, public_id: str) -> HttpResponseBase:
        """Remove the tags that are named in the body or, for clients that send none with DELETE, by ``?tag=``."""
        in_query = request.GET.getlist("tag")
        names = in_query or self.body(TagNames).tags
        target = self._target(public_id)
        return answer(Tags(tags=targets.change_tags(target, remove=names)))

    def _target(self, public_id: str) -> RecordTarget:
        return targets.find(self.actor, self.kind, public_id, "run")


_TAG = OpenApiParameter("tag", str, many=True, required=True)


def _tags_view(kind: TargetKind) -> type[ApiView]:
    """Build the view for one kind of record, with its own entry in the OpenAPI."""
    param = f"{kind}_id"

    @extend_schema(operation_id=f"add_{kind}_tags", request=TagNames, responses=Tags)
    def put(self: _RecordTags, request: Request, **path: str) -> HttpResponseBase:
        return self.add_tags(path[param])

    @extend_schema(operation_id=f"remove_{kind}_tags", parameters=[_TAG], responses=Tags)
    def delete(self: _RecordTags, request: Request, **path: str) -> HttpResponseBase:
        return self.remove_tags(request._request, path[param])

    members = {"kind": kind, "put": put, "delete": delete, "__doc__": _RecordTags.__doc__}
    return type(f"{kind.capitalize()}Tags", (_RecordTags,), members)


ROUTES: list[tuple[str, type[ApiView]]] = [
    ("feedback", FeedbackCollection),
    ("feedback/<str:feedback_id>", FeedbackDetail),
    ("logs/turns/<str:turn_id>/tags", _tags_view("turn")),
    ("logs/sessions/<str:session_id>/tags", _tags_view("session")),
    ("logs/steps/<str:step_id>/tags", _tags_view("step")),
]

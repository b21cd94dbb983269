"""The base of all API views: authentication and permissions, bodies in, bytes out, streams, waiting.

A view is sync and must not wait for a turn: its thread would be held all the time. It returns
an `Awaited`, and the innermost middleware awaits its work on the loop.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from functools import partial
from typing import Any, ClassVar, Literal

import msgspec
from django.core.exceptions import ImproperlyConfigured
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from pydantic import BaseModel
from rest_framework.request import Request
from rest_framework.views import APIView

from agents.base import log_context, open_streams, sse
from agents.base.access import Action, Actor, require_admin
from agents.base.api import negotiation
from agents.base.api.authentication import actor_of, admit, authorization_of, reidentifier, token_request_of
from agents.base.api.error_bodies import error_frame
from agents.base.api.waiting import Awaited as Awaited
from agents.base.api.waiting import while_allowed
from agents.base.errors import InvalidRequest

Declared = Action | None

DEFAULT_LIMIT, MAX_LIMIT = 100, 1000


class ApiView(APIView):
    """One resource. ``actions`` declares for each method what the actor must be allowed to do;
    None says: anyone, key or not. With ``admins_only`` the admin role is needed as well. A view with a method that
    declares nothing cannot be defined. ``takes`` says which limit its bodies have."""

    actions: ClassVar[dict[str, Declared]] = {}
    admins_only: ClassVar[bool] = False
    takes: ClassVar[Literal["body", "upload", "report"]] = "body"
    metadata_class = None  # OPTIONS is a method we have not
    request: Request
    actor: Actor

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        handled = {method for method in cls.http_method_names if hasattr(cls, method)} - {"options"}
        undeclared = ", ".join(sorted(handled - set(cls.actions)))
        if undeclared:
            raise ImproperlyConfigured(f"{cls.__name__}: declare the action of {undeclared}")

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        method = (request.method or "").lower().replace("head", "get")
        if method not in self.actions:
            return  # a method the view has not: DRF answers
        self.actor = self.identify(request._request)
        request._request.actor = self.actor  # type: ignore[attr-defined]  # ours, for the middleware: Django's type has none
        log_context.add_caller(self.actor)
        action = self.actions[method]
        if action is None:
            return
        admit(self.actor, action)
        if self.admins_only:
            require_admin(self.actor)
        open_streams.begin(request._request, self.actor)

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        final = super().finalize_response(request, response, *args, **kwargs)
        if not isinstance(final, Awaited | StreamingHttpResponse):
            return final
        plain = request._request
        reidentify = reidentifier(authorization_of(plain), partial(token_request_of, plain))
        return while_allowed(final, self.actor, reidentify, partial(error_frame, request=plain))

    @staticmethod
    def identify(request: HttpRequest) -> Actor:
        """Return the actor of a request. Raises NotAuthenticated."""
        return actor_of(request)

    def body(self, model: type[BaseModel]) -> Any:
        """Parse the request's body as a value of ``model``. Raises InvalidRequest."""
        return negotiation.read_body(self.request._request, model)

    @property
    def raw(self) -> bytes:
        """The request's body, unpacked. Raises InvalidRequest, TooLarge, UnsupportedMedia."""
        return negotiation.content_of(self.request._request)


def answer(value: BaseModel, status: int = 200) -> HttpResponseBase:
    """Build a response from a Pydantic value as JSON, nulls included."""
    return negotiation.json_response(as_json(value), status)


def as_json(value: BaseModel) -> bytes:
    """Encode a Pydantic value as JSON, nulls included."""
    return value.__pydantic_serializer__.to_json(value)


def data_list(items: Iterable[Any]) -> HttpResponseBase:
    """Build ``{"data": […]}`` from plain JSON values."""
    return negotiation.json_response(msgspec.json.encode({"data": list(items)}))


def no_content() -> HttpResponseBase:
    """Build a response with status 204 and no body."""
    return HttpResponse(status=204)


def stream(frames: AsyncIterator[bytes]) -> StreamingHttpResponse:
    """Build a response that streams server-sent events."""
    return StreamingHttpResponse(frames, headers=sse.HEADERS)


def page_bounds(request: HttpRequest) -> tuple[int, int]:
    """Parse (start, limit) of a Llama Stack list. Without ``limit`` it is `DEFAULT_LIMIT`; -1 means `MAX_LIMIT`."""
    start = _number(request, "start_index", 0)
    limit = _number(request, "limit", DEFAULT_LIMIT)
    if start < 0:
        raise InvalidRequest("start_index: must not be negative.", param="start_index")
    if limit < -1 or limit == 0:
        raise InvalidRequest("limit: must be positive, or -1 for as many as allowed.", param="limit")
    return start, MAX_LIMIT if limit == -1 else min(limit, MAX_LIMIT)


def _number(request: HttpRequest, name: str, default: int) -> int:
    raw = request.GET.get(name, "")
    if not raw:
        return default
    if not raw.removeprefix("-").isdecimal() or len(raw) > 12:
        raise InvalidRequest(f"{name}: must be a whole number.", param=name)
    return int(raw)


def query_list(request: HttpRequest, name: str) -> list[str] | None:
    """Parse a list in the query, in any of the clients' spellings: commas, brackets, repeated. None if absent."""
    raw = [*request.GET.getlist(name), *request.GET.getlist(f"{name}[]")]
    if not raw:
        return None
    return [part for value in raw for part in value.split(",") if part]

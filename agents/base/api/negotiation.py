"""The classes and hooks that DRF's settings name: no negotiation by Accept, JSON in and out, one error body.

Every client sends ``Accept: application/json`` also when it wants a stream, so the header says
nothing. In a module of its own because DRF imports these names while it is itself being imported.
"""

from __future__ import annotations

import logging
import re
from typing import Any

import msgspec
from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from pydantic import BaseModel, ValidationError
from rest_framework import exceptions
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import JSONParser
from rest_framework.renderers import JSONRenderer

from agents.base.api import large_answers, request_bodies
from agents.base.api.error_bodies import error_json
from agents.base.errors import AgentsError, InvalidRequest, NotFound, TooLarge, UnsupportedMedia, type_of
from agents.base.store import failures

log = logging.getLogger(__name__)

MAX_DEPTH = 64
_LONG_NUMBER = re.compile(rb"\d{19}")
_NUL = re.compile(rb"(?<!\\)((?:\\\\)*)\\u0000")


class ByBody(BaseContentNegotiation):
    """Content negotiation that takes the first parser and renderer."""

    def select_parser(self, request: Any, parsers: Any) -> Any:
        return parsers[0]

    def select_renderer(self, request: Any, renderers: Any, format_suffix: Any = None) -> Any:
        return renderers[0], renderers[0].media_type


class RawJsonParser(JSONParser):
    """A parser for the API description only; bodies are read by `read_body`."""


class WireRenderer(JSONRenderer):
    """A renderer for the API description only; views answer with ready bytes."""


def json_response(body: bytes, status: int = 200, headers: dict[str, str] | None = None) -> HttpResponseBase:
    """Build a response from encoded JSON."""
    return large_answers.ready_answer(body, status=status, headers=headers)


def error_response(error: AgentsError, request: HttpRequest | None = None) -> HttpResponse:
    """Build the response of an error: the one error body, in the words of the API that was asked."""
    body = error_json(error, request)
    return HttpResponse(body, status=error.status, content_type=large_answers.JSON, headers=error.headers)


def to_response(error: Exception, context: dict[str, Any]) -> HttpResponse | None:
    """Turn an exception of a view into a response (DRF's exception handler)."""
    request = getattr(context.get("request"), "_request", None)
    if isinstance(error, exceptions.APIException):
        error = _from_drf(error)
    return error_response(for_caller(error, request), request)


def for_caller(error: Exception, request: HttpRequest | None) -> AgentsError:
    """Return the error that a caller gets for any exception. One that is neither raised on purpose nor a failure of
    the store is our bug: it is logged, and answered without its message."""
    if isinstance(error, AgentsError):
        return error
    where = f"request={getattr(request, 'request_id', '')}"
    unavailable = failures.unavailable(error, where)
    if unavailable is not None:
        return unavailable
    log.error("%s: unexpected error", where, exc_info=error)
    return AgentsError("The server made a mistake; its log knows more under this request id.")


def _from_drf(error: exceptions.APIException) -> AgentsError:
    ours = AgentsError(str(error.detail))
    ours.status, ours.type = error.status_code, type_of(error.status_code)
    if isinstance(error, exceptions.NotFound):
        return NotFound("Not Found")
    return ours


# ------------------------------------------------------------------------------------------- reading


def read_json(request: HttpRequest) -> Any:
    """Decode the JSON of a request's body; an empty body is an empty object. Raises InvalidRequest,
    TooLarge, UnsupportedMedia. NUL characters, which PostgreSQL cannot store, become U+2400."""
    body = content_of(request)
    if not body:
        return {}
    kind = request.content_type or ""
    if kind != "application/json":
        raise UnsupportedMedia(f"Content-Type must be application/json, not {kind[:80] or 'absent'}.")
    return decode_json(body)


def decode_json(body: bytes) -> Any:
    """Decode JSON that a client has sent, as `read_json` does. Raises InvalidRequest."""
    if b"\\u0000" in body:
        body = _NUL.sub(rb"\1\\u2400", body)
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidRequest(f"The body is not JSON we can read: {error}", code="invalid_json") from error
    _refuse_extremes(value, numbers=_LONG_NUMBER.search(body) is not None)
    return value


def content_of(request: HttpRequest) -> bytes:
    """Return a request's body, unpacked where it is packed. Raises InvalidRequest, TooLarge, UnsupportedMedia."""
    if "HTTP_CONTENT_ENCODING" in request.META and not hasattr(request, "_body"):
        request._body = request_bodies.read(request, settings.MAX_BODY_MB)  # where Django keeps what it has read
    try:
        return request.body
    except RequestDataTooBig as error:  # where another server than ours has let it through
        raise TooLarge("The body is larger than this server takes.") from error


def _refuse_extremes(value: Any, *, numbers: bool) -> None:
    """Raise InvalidRequest for JSON that is nested too deeply, and with ``numbers`` for whole numbers beyond 64
    bits: they could be stored, but never be encoded again."""
    depth, level = 0, [value]
    while level:
        depth += 1
        if depth > MAX_DEPTH:
            raise InvalidRequest(f"The body is nested deeper than {MAX_DEPTH} levels.", code="invalid_json")
        if numbers and not all(-(2**63) <= item < 2**64 for item in level if isinstance(item, int)):
            raise InvalidRequest("The body holds a whole number beyond 64 bits; send it as text.", code="invalid_json")
        level = [
            inner
            for item in level
            if isinstance(item, dict | list)
            for inner in (item.values() if isinstance(item, dict) else item)
        ]


def read_body(request: HttpRequest, model: type[BaseModel]) -> Any:
    """Parse a request's body as a value of ``model``. Raises InvalidRequest naming the field."""
    return validated(read_json(request), model)


def validated(value: Any, model: type[BaseModel]) -> Any:
    """Parse decoded JSON as a value of ``model``. Raises InvalidRequest naming the field."""
    if not isinstance(value, dict):
        raise InvalidRequest("The body must be a JSON object.", code="invalid_json")
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise invalid(error) from error
    except RecursionError as error:
        raise InvalidRequest("The body is nested too deeply.", code="invalid_json") from error


def invalid(error: ValidationError) -> InvalidRequest:
    """Turn a validation error into a sentence about its first field, with the first 20 in ``detail``."""
    errors = error.errors(include_url=False, include_input=False, include_context=False)
    details = [
        {"type": entry["type"], "loc": [shortened(part) for part in entry["loc"]], "msg": shortened(entry["msg"])}
        for entry in errors[:20]
    ]
    location = ".".join(map(str, details[0]["loc"])) or "body"
    suffix = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    return InvalidRequest(f"{location}: {details[0]['msg']}{suffix}", param=location, detail={"errors": details})


def shortened(part: Any) -> Any:
    """Cut a text of an error to 200 characters: callers may send megabytes."""
    return f"{part[:200]}…" if isinstance(part, str) and len(part) > 200 else part

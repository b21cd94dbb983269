"""The base of the views: bodies and errors in the words of OpenAI's Agents API."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from pydantic import BaseModel, ValidationError
from rest_framework.request import Request

from agents.base.api import negotiation
from agents.base.api.cursors import cursor
from agents.base.api.views import ApiView
from agents.base.errors import AgentsError, InvalidRequest, NotFound
from agents.base.ids import Kind, parse_spelled
from agents.base.store.keyset import Bounds

BETA_HEADER, BETA = "OpenAI-Beta", "agents=v1"


def is_openai(request: HttpRequest) -> bool:
    """Tell whether a request says by its header that it speaks this API."""
    return BETA in request.headers.get(BETA_HEADER, "").replace(" ", "").split(",")


@contextmanager
def with_code() -> Iterator[None]:
    """Give errors a code, which programs look at: their type, where there is nothing closer."""
    try:
        yield
    except AgentsError as error:
        error.code = error.code or error.type
        raise


class OpenAIView(ApiView):
    """A view of this API."""

    def handle_exception(self, exc: Exception) -> Any:
        if isinstance(exc, AgentsError):
            exc.code = exc.code or exc.type
        return super().handle_exception(exc)


class Undescribed(OpenAIView):
    """A route of something that this server has none of. The description leaves it out."""

    schema = None


def parsed(view: ApiView, model: type[BaseModel]) -> Any:
    """Parse a request's body. Raises InvalidRequest with the path of the first wrong parameter."""
    value = negotiation.read_json(view.request._request)
    if not isinstance(value, dict):
        raise InvalidRequest("The body must be a JSON object.", code="invalid_json")
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise _invalid(error, value) from error
    except RecursionError as error:
        raise InvalidRequest("The body is nested too deeply.", code="invalid_json") from error


def _invalid(error: ValidationError, value: Any) -> InvalidRequest:
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    path = negotiation.shortened(_path(first["loc"], value, first["type"]))
    match first["type"]:
        case "extra_forbidden":
            return InvalidRequest(f"Unknown parameter: '{path}'.", param=path, code="unknown_parameter")
        case "missing":
            message = f"Missing required parameter: '{path}'."
            return InvalidRequest(message, param=path, code="missing_required_parameter")
        case "union_tag_not_found":
            path = f"{path}.type"
            message = f"Missing required parameter: '{path}'."
            return InvalidRequest(message, param=path, code="missing_required_parameter")
        case _:
            message = f"Invalid value for '{path}': {negotiation.shortened(first['msg'])}"
            return InvalidRequest(message, param=path, code="invalid_value")


def _path(location: tuple[int | str, ...], value: Any, kind: str) -> str:
    """Write a location as a path of the request; it leaves out the names of types in unions, which are not in it."""
    path = ""
    for position, part in enumerate(location):
        is_last = position == len(location) - 1
        if isinstance(part, int):
            path += f"[{part}]"
            value = value[part] if isinstance(value, list) and part < len(value) else None
        elif (isinstance(value, dict) and part in value) or (is_last and kind == "missing"):
            path += f".{part}" if path else part
            value = value.get(part) if isinstance(value, dict) else None
    return path


def bounds(request: Request, kind: Kind) -> Bounds:
    """Return the page that a request asks for. Raises NotFound for an unknown cursor, InvalidRequest."""
    asked = cursor(request._request)
    after = parse_spelled(kind, asked.after) if asked.after else None
    if asked.after and after is None:
        raise NotFound(f"after: nothing has the id '{asked.after[:80]}'.", param="after")
    return Bounds(after, None, asked.limit, asked.newest_first)


def empty_list() -> HttpResponseBase:
    """Answer with a list of nothing."""
    return negotiation.json_response(b'{"object":"list","data":[],"first_id":null,"last_id":null,"has_more":false}')

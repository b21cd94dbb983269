"""Generates the OpenAPI 3.1 description of the API from the Pydantic types.

Corrections of drf-spectacular: a request is described by the schema for validation, not for
serialisation, a list route's page type is not wrapped in an array, a deletion may have a response body,
the events of a stream are described as events, and errors once for all.
"""

from __future__ import annotations

import inspect
from functools import lru_cache
from typing import Any

import msgspec
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from drf_spectacular.contrib.pydantic import PydanticExtension
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import ResolvedComponent
from drf_spectacular.utils import Direction
from pydantic import BaseModel
from rest_framework.request import Request

from agents.base.api.error_bodies import is_messages_path
from agents.base.api.negotiation import json_response
from agents.base.api.views import ApiView
from agents.base.schemas.errors import ErrorBody, MessagesErrorBody

Endpoint = tuple[str, str, str, Any]
"""A path, its pattern, a method and the view."""


ERRORS = {
    "400": "The request cannot be read, or asks for what cannot be: which field, and why.",
    "401": "A key is needed, or the one that was sent is not valid.",
    "403": "Not for this key, or from another site's page.",
    "404": "Not there, or not for this key.",
    "409": "It is there already, is busy, or was changed by somebody else.",
    "413": "The body is too large.",
    "414": "The URL is too long.",
    "415": "The body is not of the type that is read here.",
    "429": "Too much at once; try again later.",
    "431": "The headers are too large.",
    "502": "A model endpoint or a server of tools failed.",
    "503": "This server has trouble of its own; try again later.",
    "504": "A model endpoint or a server of tools did not answer in time.",
}
"""Descriptions of the error responses, by status."""
REMOTE_TAGS = frozenset({"models", "tools", "toolgroups", "tool-runtime", "providers", "shields"})
"""Tags of operations that call other servers even on GET."""


def described_request(method: str, path: str, view: ApiView, *_: Any, **__: Any) -> Request:
    """Return a request of a view for its description; the library's own comes from tools for tests, and loads them."""
    request = HttpRequest()
    request.method, request.path, request.path_info = method, path, path
    return view.initialize_request(request)


class WireTypes(PydanticExtension):  # type: ignore[no-untyped-call]  # untyped library
    """Describes types of requests by their validation schema, and types of responses by their serialisation schema."""

    priority = 1

    def map_serializer(self, auto_schema: Any, direction: Direction) -> dict[str, Any]:
        kind: type[BaseModel] = self.target
        is_read = direction == "request"
        schema = kind.model_json_schema(
            mode="validation" if is_read else "serialization", ref_template="#/components/schemas/{model}"
        )
        for name, inner in schema.pop("$defs", {}).items():
            component_type: Any = ResolvedComponent
            component = component_type(name=name, type=component_type.SCHEMA, object=name, schema=inner)
            if is_read and component in auto_schema.registry:
                del auto_schema.registry[component]
            auto_schema.registry.register_on_missing(component)
        return schema


class WireSchema(AutoSchema):
    """Describes our views."""

    def _is_list_view(self, serializer: Any = None) -> bool:
        return False

    def get_description(self) -> str:  # type: ignore[override]  # the stubs mean another AutoSchema
        """Return the view's own docstring, not an inherited one."""
        return inspect.cleandoc(type(self.view).__dict__.get("__doc__") or "")

    def _resolve_path_parameters(self, variables: Any) -> list[dict[str, Any]]:
        """Add the pattern of conversation ids: others are invalid, whereas other ids without a match are not found."""
        parameters: list[dict[str, Any]] = super()._resolve_path_parameters(variables)  # type: ignore[no-untyped-call]  # untyped library
        for parameter in parameters:
            if parameter["name"] == "conversation_id":
                parameter["schema"] = {**parameter["schema"], "pattern": "^conv_"}
        return parameters

    def get_tags(self) -> list[str]:
        """Return the first path segment after the version."""
        return [self.path.strip("/").split("/")[1]]

    def _get_response_bodies(self, direction: Direction = "response") -> dict[str, Any]:
        serializers = self.get_response_serializers()
        if self.method == "DELETE" and serializers and not isinstance(serializers, dict):
            responses = {"200": self._response("200", serializers)}
        else:
            responses = super()._get_response_bodies(direction)
        for response in responses.values():
            _describe_events(response.get("content", {}))
        return responses | {status: self._error(status) for status in self._errors()}

    def _error(self, status: str) -> dict[str, Any]:
        kind = MessagesErrorBody if is_messages_path(self.path) else ErrorBody
        return {**self._response(status, kind), "description": ERRORS[status]}

    def _response(self, status: str, kind: Any) -> dict[str, Any]:
        return dict(self._get_response_for_code(kind, status))  # type: ignore[no-untyped-call]  # untyped library

    def _errors(self) -> list[str]:
        """Return the statuses of the errors that this operation can respond with."""
        view: Any = self.view
        is_free, changes = view.actions[self.method.lower()] is None, self.method != "GET"
        calls_others = self.method == "POST" or self.get_tags()[0] in REMOTE_TAGS
        excluded = {
            "401": is_free,
            "404": is_free and "{" not in self.path,
            **dict.fromkeys(("409", "413", "415", "429"), not changes),
            **dict.fromkeys(("502", "504"), not calls_others),
        }
        return [status for status in ERRORS if not excluded.get(status)]


def _describe_events(content: dict[str, Any]) -> None:
    """Describe a stream's content as events whose ``data`` is the JSON of its type."""
    stream = content.get("text/event-stream")
    if stream:
        data = {"type": "string", "contentMediaType": "application/json", "contentSchema": stream["schema"]}
        names = {name: {"type": "string"} for name in ("event", "id")}
        stream["schema"] = {"type": "object", "required": ["data"], "properties": {**names, "data": data}}


def without_aliases(endpoints: list[Endpoint]) -> list[Endpoint]:
    """Return each route once, without its aliases."""
    return [
        endpoint
        for endpoint in endpoints
        if endpoint[0].startswith("/v1/") and not endpoint[0].startswith("/v1/openai/")
    ]


PUBLIC_NAMES = {
    "ApprovalFilter": "Approvals",
    "AttributeCondition": "Condition",
    "ChunkInput": "ChunkGiven",
    "ChunkMatch": "ChunkFound",
    "ConversationObject": "Conversation",
    "DiffPart": "Piece",
    "FileListObject": "FileList",
    "FileSearchRanking": "Ranking",
    "ItemObject": "Item",
    "McpToolParam": "McpTool",
    "PassageText": "FoundText",
    "RelayedMessage": "Role",
    "SessionObject": "Session",
    "SpanObject": "Span",
    "StoreFileListObject": "StoreFileList",
    "TurnObject": "Turn",
    "VectorStoreListObject": "VectorStoreList",
}
"""Types by their class, with the names that clients generated from the description know them by."""
_REF = "#/components/schemas/"


@lru_cache(maxsize=1)
def description() -> bytes:
    """Return the description as JSON, generated at the first request."""
    schema = typed_description()
    components = schema["components"]["schemas"]
    for name, public in PUBLIC_NAMES.items():
        if name in components:
            components[public] = {**components.pop(name), "title": public}
    return msgspec.json.encode(_with_public_references(schema))


def typed_description() -> dict[str, Any]:
    """Return the description with types by the names of their classes."""
    from agents.server.api.urls import urlpatterns

    generator: Any = SchemaGenerator(patterns=urlpatterns)  # type: ignore[no-untyped-call]  # untyped library
    schema: dict[str, Any] = generator.get_schema(request=None, public=True)
    return schema


def _with_public_references(value: Any) -> Any:
    match value:
        case dict():
            return {key: _with_public_references(inner) for key, inner in value.items()}
        case list():
            return [_with_public_references(inner) for inner in value]
        case str() if value.startswith(_REF):
            name = value.removeprefix(_REF)
            return _REF + PUBLIC_NAMES.get(name, name)
        case _:
            return value


class SchemaView(ApiView):
    schema = None
    actions = {"get": None}

    def get(self, request: Request) -> HttpResponseBase:
        return json_response(description())


__all__ = ["SchemaView", "WireSchema", "WireTypes", "description", "typed_description", "without_aliases"]

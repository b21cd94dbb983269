"""The description of the API (OpenAPI 3.1), generated from the Pydantic types.

Two corrections of drf-spectacular: a request is described by the schema for validation, not for
serialisation, and a list route's page type is not wrapped in an array.
"""

from __future__ import annotations

import inspect
from functools import lru_cache
from typing import Any

import msgspec
from django.http import HttpResponse
from drf_spectacular.contrib.pydantic import PydanticExtension
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.openapi import AutoSchema
from rest_framework.request import Request

from agents.api.base import ApiView
from agents.api.negotiation import json_response

Endpoint = tuple[str, str, str, Any]
"""A path, its pattern, a method and the view."""


class WireSchema(AutoSchema):
    """Descriptions of our views."""

    def _is_list_view(self, serializer: Any = None) -> bool:
        return False

    def get_description(self) -> str:  # type: ignore[override]  # the stubs mean another AutoSchema
        """What the view says of itself; the base's words are about the base."""
        return inspect.cleandoc(type(self.view).__dict__.get("__doc__") or "")

    def get_tags(self) -> list[str]:
        """The first word of the path behind the version."""
        return [self.path.strip("/").split("/")[1]]


def without_aliases(endpoints: list[Endpoint]) -> list[Endpoint]:
    """Each route once, by its first name."""
    return [one for one in endpoints if one[0].startswith("/v1/") and not one[0].startswith("/v1/openai/")]


@lru_cache(maxsize=1)
def description() -> bytes:
    """The whole description as JSON, made at the first request."""
    from agents.api.urls import urlpatterns

    generator: Any = SchemaGenerator(patterns=urlpatterns)  # type: ignore[no-untyped-call]  # untyped library
    return msgspec.json.encode(generator.get_schema(request=None, public=True))


class SchemaView(ApiView):
    schema = None
    actions = {"get": None}

    def get(self, request: Request) -> HttpResponse:
        return json_response(description())


__all__ = ["PydanticExtension", "SchemaView", "WireSchema", "description", "without_aliases"]

"""The view for unknown paths under ``/v1``: 404 as JSON."""

from __future__ import annotations

from typing import Any

from django.http.response import HttpResponseBase
from rest_framework.request import Request

from agents.base.api.views import ApiView
from agents.base.errors import NotFound


class UnknownPathView(ApiView):
    schema = None
    actions = dict.fromkeys(("get", "post", "put", "patch", "delete"))

    def get(self, request: Request, *args: Any, **kwargs: Any) -> HttpResponseBase:
        raise NotFound("Not Found")

    post = put = patch = delete = get

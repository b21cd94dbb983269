"""Lists the providers and routes of this server, its health and version. Models, tools and shields have
modules of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from agents.base.api.negotiation import json_response
from agents.base.api.views import ApiView, Awaited, data_list
from agents.base.errors import NotFound, Unavailable
from agents.base.schemas.wire import iso
from agents.base.store import readiness
from agents.base.subjects import is_installed
from agents.llama_stack.schemas import VERSION
from agents.loop.current_service import service
from agents.server import health
from turnlog import __version__

_JSON = {200: dict[str, Any]}


# ----------------------------------------------------------------------------------------- providers

_OK = {"status": "OK"}


def _provider(api: str, name: str, kind: str, health: dict[str, str] | None = None) -> dict[str, Any]:
    return {"api": api, "provider_id": name, "provider_type": kind, "config": {}, "health": health or _OK}


async def _providers() -> list[dict[str, Any]]:
    """Return all providers. An endpoint is healthy if its models can be listed."""
    endpoints = service().providers.endpoints
    errors = (await endpoints.all_models()).errors
    inference = [
        _provider(
            "inference",
            name,
            f"{'inline' if name == 'scripted' else 'remote'}::{name}",
            {"status": "Error", "message": errors[name].message} if name in errors else None,
        )
        for name in endpoints.names
    ]
    groups = [group for group in service().providers.tools.values() if group.check]
    problems = {group.provider_id: await group.check() for group in groups if group.check}
    return [
        *inference,
        *(
            _provider(
                "tool_runtime", name, f"inline::{name}", {"status": "Error", "message": problem} if problem else None
            )
            for name, problem in problems.items()
        ),
        *(_provider("safety", name, f"inline::{name}") for name in _shields()),
        *(_provider(api, name, kind) for subject, api, name, kind in _OTHERS if not subject or is_installed(subject)),
    ]


def _shields() -> Sequence[str]:
    if not is_installed("safety"):
        return ()
    from agents.safety.providers.registry import PROVIDERS

    return PROVIDERS


_OTHERS = (
    ("knowledge", "vector_io", "builtin", "inline::builtin"),
    ("knowledge", "files", "builtin", "inline::builtin"),
    ("tools", "tool_runtime", "builtin", "inline::builtin"),
    ("tools", "tool_runtime", "model-context-protocol", "remote::model-context-protocol"),
    ("tools", "tool_runtime", "function", "inline::function"),
    ("tools", "tool_runtime", "brave-search", "remote::brave-search"),
    ("tools", "tool_runtime", "tavily-search", "remote::tavily-search"),
    ("telemetry", "telemetry", "builtin", "inline::builtin"),
    ("", "agents", "builtin", "inline::builtin"),
)
"""(subject, API, name, type) of the other providers; an empty subject is always installed."""


class ProviderList(ApiView):
    actions = {"get": "read"}

    @extend_schema(operation_id="list_providers", responses=_JSON)
    def get(self, request: Request) -> HttpResponseBase:
        async def work() -> HttpResponseBase:
            return data_list(await _providers())

        return Awaited(work)


class ProviderDetail(ApiView):
    actions = {"get": "read"}

    @extend_schema(operation_id="get_provider", responses=_JSON)
    def get(self, request: Request, provider_id: str) -> HttpResponseBase:
        async def work() -> HttpResponseBase:
            for provider in await _providers():
                if provider["provider_id"] == provider_id:
                    return json_response(msgspec.json.encode(provider))
            raise NotFound(f"Provider '{provider_id[:200]}' not found.")

        return Awaited(work)


# --------------------------------------------------------------------------------------------- health


class Health(ApiView):
    actions = {"get": None}

    @extend_schema(operation_id="health", responses=_JSON)
    def get(self, request: Request) -> HttpResponseBase:
        return json_response(b'{"status":"OK"}')


class HealthDetails(ApiView):
    """What the page ``/health/`` shows, for programs: 200 also where something is wrong, which ``status`` says."""

    actions = {"get": "read"}
    admins_only = True

    @extend_schema(operation_id="health_details", responses=_JSON)
    def get(self, request: Request) -> HttpResponseBase:
        found = health.read()
        body = {
            "status": found.state,
            "checks": [
                {"name": check.name, "status": check.state, "problem": check.problem or None, "facts": check.facts}
                for check in found.checks
            ],
            "rounds": [{"name": last.name, "at": iso(last.at_us), "error": last.error} for last in found.rounds],
            "versions": found.versions,
        }
        return json_response(msgspec.json.encode(body))


class Version(ApiView):
    actions = {"get": None}

    @extend_schema(operation_id="version", responses=_JSON)
    def get(self, request: Request) -> HttpResponseBase:
        return json_response(msgspec.json.encode({"version": __version__, "agents_api": VERSION}))


class RouteList(ApiView):
    actions = {"get": "read"}

    @extend_schema(operation_id="list_routes", responses=_JSON)
    def get(self, request: Request) -> HttpResponseBase:
        from agents.server.api.urls import routes  # the table imports this module

        return data_list(
            {"route": route, "method": method.upper(), "provider_types": []}
            for route, view in routes("/v1/")
            for method in view.actions
        )


async def alive(request: HttpRequest) -> HttpResponseBase:
    """``/healthz``: 200 while the process responds, even if every request thread waits for the database."""
    return json_response(b'{"status":"ok"}')


def ready(request: HttpRequest) -> HttpResponseBase:
    """``/readyz``: 200 if turns can be started and the database can be written; else 503 with the reasons."""
    problems = [problem for problem in (_runner_problem(), readiness.problem()) if problem]
    body = {"status": "unavailable" if problems else "ok", "problems": problems}
    headers = {"Retry-After": "1"} if problems else {}
    return json_response(msgspec.json.encode(body), 503 if problems else 200, headers)


def _runner_problem() -> str:
    try:
        return "shutting down" if service().runner.stopping else ""
    except Unavailable as error:
        return error.message

"""Requests by chance to every route and method there is: none is answered with a 5xx of ours, every refusal
has its shape, and what was stored on the way can be read on every page and list.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.http import StreamingHttpResponse
from django.test import AsyncClient, Client

from agents.base import ids
from agents.base.api.error_bodies import is_messages_path
from agents.base.store import keys
from agents.record.models.agents import Agent, Session
from agents.record.models.turns import Turn
from agents.server.api.openapi import description as make_description
from agents.server.api.urls import PREFIXES, routes
from agents.telemetry.api.otlp import ReportView
from tests.access.asking import PARAM
from tests.access.matrix import Chain, build
from tests.server.api.test_bad_input import KEYS, TYPES
from tests.support.depth import deep
from tests.support.generated_input import Ask, Requests, Route
from tests.support.input_corpus import NO_JSON

pytestmark = [pytest.mark.usefixtures("_served", "_quiet"), pytest.mark.corpus]

CLIENT, STREAMING = Client(raise_request_exception=False), AsyncClient(raise_request_exception=False)
ROUNDS, EACH = deep(2, 80), deep(400, 900)
"""72,000 requests in all of the long run, on each database; as many pages are read as rows were made."""
FREE = {
    "provider_id": "scripted",
    "run_id": "a sender's own",
    "score_id": "a sender's own",
    "toolgroup_id": "builtin::demo",
    "tool_name": "lookup",
}
KNOWN = {"model": "scripted/fast", "model_id": "scripted/fast", "embedding_model": "scripted/embed"}
OWNERS = {"model_id"}
"""What fields name is the scripted model; what a path names is the chain's."""

DESCRIPTION: dict[str, Any] = json.loads(make_description())
ENDLESS = re.compile(r"/events$")
"""A turn that waits is followed for ever."""


def braced(route: str) -> str:
    """A route with ``{names}``, as the description writes it."""
    return PARAM.sub(r"{\1}", route)


def all_routes() -> list[Route]:
    """Under all of their prefixes, with what is described of them."""
    found = []
    for base, table in PREFIXES:
        for path, view in table:
            described = DESCRIPTION["paths"].get(f"/v1/{braced(path)}", {})
            for method in view.actions:
                operation = described.get(method, {})
                query = {one["name"]: one["schema"] for one in operation.get("parameters", ()) if one["in"] == "query"}
                content = operation.get("requestBody", {}).get("content", {})
                body = content.get("application/json", {"schema": {}} if method in {"post", "put", "patch"} else {})
                found.append(Route(f"/{base}{braced(path)}", method, query, body.get("schema")))
    return [route for route in found if not ENDLESS.search(route.path)]


ROUTES = all_routes()
REPORTS = {f"/{base}{path}" for base, table in PREFIXES for path, view in table if issubclass(view, ReportView)}
OWN_ANSWERS = REPORTS | {"/mcp"}
"""Those forms, and JSON-RPC, have answers of their own."""


def test_every_route_is_asked() -> None:
    wanted = {braced(path) for path, _ in routes("/")}
    assert {route.path for route in ROUTES} == {path for path in wanted if not ENDLESS.search(path)}
    assert sum(route.body is not None for route in ROUTES) > 70


def complaint(ask: Ask, response: Any, content: bytes) -> str | None:
    """What is wrong with an answer, if anything is."""
    status = response.status_code
    if is_messages_path(ask.path.partition("?")[0]):
        return complaint_of_messages(response, content)
    if status >= 500:
        return None if b'"provider_error"' in content else f"{status} {content[:300]!r}"
    if status < 400 or ask.path.partition("?")[0] in OWN_ANSWERS:
        return None
    try:
        body = json.loads(content)
        error = body["error"]
        right = set(error) - {"position", "suggestion"} == KEYS and error["type"] == TYPES[status] and error["message"]
        right = right and body["detail"] == error["message"] and body["request_id"] == response.headers["x-request-id"]
    except (ValueError, KeyError, TypeError):
        right = False
    return None if right and len(content) < 20_000 else f"{status} {content[:300]!r}"


def complaint_of_messages(response: Any, content: bytes) -> str | None:
    """The same of an answer to one of Anthropic's clients."""
    if response.status_code < 400:
        return None
    try:
        body = json.loads(content)
        right = (
            body["type"] == "error"
            and set(body["error"]) - {"details"} == {"type", "message"}
            and body["error"]["message"]
        )
        right = right and body["request_id"] == response.headers["request-id"]
        right = right and (response.status_code < 500 or "made a mistake" not in body["error"]["message"])
    except (ValueError, KeyError, TypeError):
        right = False
    return None if right and len(content) < 20_000 else f"{response.status_code} {content[:300]!r}"


def send(ask: Ask) -> tuple[Any, bytes]:
    """The answer, and all of its body: read on the loop that asked, for a stream may wait for a model there."""

    async def asked() -> tuple[Any, bytes]:
        response = await STREAMING.generic(ask.method, ask.path, ask.body, ask.kind, headers=dict(ask.headers))
        parts = [part async for part in response] if isinstance(response, StreamingHttpResponse) else [response.content]
        return response, b"".join(parts)

    return async_to_sync(asked)()


def requests(seed: int, chain: Chain) -> Requests:
    return Requests(seed, DESCRIPTION["components"]["schemas"], {**FREE, **chain.ids, **KNOWN})


@pytest.mark.parametrize("seed", range(ROUNDS))
@pytest.mark.timeout(300)
def test_no_request_by_chance_is_answered_with_a_5xx(seed: int) -> None:
    owner = keys.local()
    chain = build(owner, "red")
    made, bad, taken = requests(seed, chain), [], 0
    for number in range(EACH):
        route = ROUTES[(seed * EACH + number * 7) % len(ROUTES)]
        ask = made.any(route, spoilt=number % 4 != 0)
        if route.method == "delete" and number % 3:
            continue  # or little would be there to ask for
        response, content = send(ask)
        taken += response.status_code < 300
        found = complaint(ask, response, content)
        if found:
            bad.append(f"{ask}\n  -> {found}")
    assert not bad, "\n".join(bad[:10])
    assert taken > EACH / 10
    assert list(unreadable()) == []


@pytest.mark.parametrize("route", [route for route in ROUTES if route.body], ids=lambda one: f"{one.method} {one.path}")
def test_what_is_no_json_is_refused_by_every_route(route: Route) -> None:
    ask = requests(0, Chain("red", "red", {})).any(route, spoilt=False)
    for name, raw in NO_JSON.items():
        response = CLIENT.generic(route.method.upper(), ask.path, raw, "application/json")
        assert 400 <= response.status_code < 500, name
        assert complaint(ask, response, response.content) is None, name


NEEDS_MORE = {"/v1/feedback", "/v1/agents/environments", "/v1/vaults"}
"""A list of what is said about one thing, which has to be named; and lists that this server has not."""


def unreadable() -> Iterator[str]:
    """The lists, and the pages of rows, that are not answered."""
    paths = ["/v1/agents?limit=-1", "/logs/", "/sessions/", "/steps/", "/responses/", "/agents/", "/logs/numbers/"]
    paths += [f"/v1/logs/{name}?limit=1000" for name in ("turns", "sessions", "steps", "responses")]
    paths += [route.path for route in ROUTES if route.method == "get" and "{" not in route.path]
    for model, name, kind in (
        (Agent, "agents", ids.Kind.AGENT),
        (Session, "sessions", ids.Kind.SESSION),
        (Turn, "turns", ids.Kind.TURN),
    ):
        pages = [
            f"/{name}/{ids.public(kind, key)}/" for key in model.objects.unscoped("test").values_list("pk", flat=True)
        ]
        paths += [f"{page}{view}" for page in pages for view in (("", "?view=raw") if name == "turns" else ("",))]
    for path in paths:
        status = CLIENT.get(path).status_code
        if status != 200 and path not in NEEDS_MORE:
            yield f"{path}: {status}"

"""Lists, searches, counts and errors tell nothing of rows that are not for whoever asks."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlencode

import pytest
from django.test import Client

from agents.base.access import Actor
from agents.base.models.people import User
from agents.base.store import keys
from agents.logs.store import numbers, turn_log
from agents.query.parser import parse
from agents.server.api.urls import routes
from tests.access.asking import PARAM, Cell, ask, filled, leaks
from tests.access.matrix import KINDS, Who, World, api_status
from tests.support.cases import sparing
from tests.support.inprocess import told

LEVELS = ("session", "turn", "response", "step")
SEARCHES = (
    "",
    "zebra",
    '"zebra"',
    "zeb*",
    "-nothing",
    "zebra OR status:completed",
    "(status:completed OR status:failed) OR zebra",
    "NOT status:completed",
    "status:failed",
    "agent:*",
    "agent:zebra*",
    "session:*zebra*",
    "-session:x",
    "model:scripted*",
    "tool:zebra*",
    "has:tools",
    "has:error",
    "error:zebra",
    "in:zebra",
    "out:zebra",
    "key:*",
    "user:*",
    "source:native",
    "started:-24h..",
    "duration:>=0ms",
    "step(type:inference)",
    "no(step)(tool:x)",
    "all(step)(type:inference)",
)
READERS = [
    *sparing(("outsider", "owner"), "owner"),
    *(pytest.param(name, marks=pytest.mark.slow) for name in ("reader", "read key")),
]


def by_id(world: World) -> list[str]:
    """Searches that name the rows of others."""
    green = world.green.ids
    named = [("turn", "turn_id"), ("id", "turn_id"), ("session", "session_id"), ("agent", "agent_id")]
    asked = [f"{field}:{green[param]}" for field, param in named]
    return [*asked, *(f"{text} OR zebra" for text in asked), f"step(id:{green['step_id']})"]


def lists(world: World) -> list[str]:
    """Every list of API and pages, under every search, from every cursor."""
    searches = [urlencode({"q": text}) for text in (*SEARCHES, *by_id(world))]
    cursors = [
        urlencode({side: chain.ids["turn_id"]}) for side in ("after", "before") for chain in (world.red, world.green)
    ]
    asked = [f"{path}?{search}" for search in (*searches, *cursors) for path in ("/v1/logs/turns", "/logs/")]
    asked += [f"/logs/numbers/?level={level}&{search}" for search in searches for level in LEVELS]
    asked += [f"/v1/logs/{level}s?{search}" for search in searches for level in LEVELS if level != "turn"]
    asked += [f"{path}?{search}" for search in searches for path in ("/sessions/", "/steps/", "/responses/")]
    asked += [f"/logs/complete/?word={field}:" for field in ("agent", "session", "user", "tool", "model", "tag")]
    asked += [f"/logs/complete/?word={path}." for path in ("args", "result", "meta")]
    agent = world.red.ids["agent_id"]
    asked += [f"/v1/agents?limit={limit}&start_index={start}" for limit in (-1, 1, 1000) for start in (0, 1)]
    asked += [f"/v1/agents/{agent}/sessions", f"/v1/agents/{agent}/sessions?limit=-1", "/agents/", "/agents/?start=1"]
    turns = ",".join(chain.ids["turn_id"] for chain in (world.red, world.green, world.gone))
    return [*asked, f"/v1/agents/{agent}/session/{world.red.ids['session_id']}?turn_ids={turns}", "/keys/"]


@pytest.mark.parametrize("name", READERS)
def test_no_list_tells_of_others(name: str, world: World) -> None:
    who, client = world.who[name], Client()
    if who.login is not None:
        client.force_login(User.objects.get(pk=who.login))
    wrong, found = [], 0
    for path in lists(world):
        response = client.get(path, headers=who.headers)
        assert response.status_code in {200, 302, 404}, (path, response.content)
        answer = told(response)
        found += world.red.canary.encode() in answer
        if leaks(answer, who, world, path):
            wrong.append(f"{path}: {leaks(answer, who, world, path)}")
    assert not wrong, "\n".join(wrong)
    assert (found > 30) == ("red" in who.sees)  # the searches do find what there is to find


def actor_of(world: World, name: str) -> Actor:
    return keys.of_secret(world.who[name].secret)


@pytest.mark.parametrize(("name", "turns"), [("outsider", 0), ("reader", 4), ("owner", 4), ("admin", 8)])
def test_counts_are_of_what_may_be_seen(name: str, turns: int, world: World) -> None:
    actor = actor_of(world, name)
    every = parse("", now_us=0)
    assert numbers.stats(actor, every).count == turns
    for facet in numbers.facets(actor, every, ["status", "model"]):
        assert sum(value.count for value in facet.values) == turns
    assert len(turn_log.turns_page(actor, every).rows) == turns
    assert not turn_log.turns_page(actor, every, limit=turns or 1).has_older


@pytest.mark.parametrize("name", ["outsider", "owner"])
def test_more_is_said_of_ones_own_rows_only(name: str, world: World) -> None:
    who, client = world.who[name], Client()
    for path in ("/v1/agents", f"/v1/agents/{world.red.ids['agent_id']}/sessions", "/v1/logs/turns"):
        response = client.get(f"{path}?limit=1000", headers=who.headers)
        if response.status_code == 200:
            mine = len(response.json()["data"])
            page = client.get(f"{path}?limit={mine or 1}", headers=who.headers).json()
            assert (len(page["data"]), page["has_more"]) == (mine, False)


# --------------------------------------------------------------------------------------------- errors

NEVER = ("malformed", "forged", "other kind")
VARYING = re.compile(rb'"request_id":"\w*"')


@pytest.mark.parametrize("name", sparing(["outsider", "reader", "owner", "admin"], "outsider", "owner"))
def test_what_may_not_be_seen_is_as_what_never_was(name: str, world: World) -> None:
    """The answers to a foreign, a deleted and an unknown id differ in the id alone; so do those to ids
    that never can have been ours."""
    who, client = world.who[name], Client()
    first: dict[Any, Any] = {}
    for cell, key in lost_cells(world, who):
        response = ask(client, cell, **who.headers)
        lost = cell.target.lost_at or next(iter(cell.target.ids)), cell.target.name.startswith(NEVER)
        body = VARYING.sub(b"", response.content)
        for public_id in cell.target.ids.values():
            body = body.replace(public_id.encode(), b"ID")
        headers = {
            key: value for key, value in response.headers.items() if key not in {"x-request-id", "Content-Length"}
        }
        same = (response.status_code, headers, body)
        assert same == first.setdefault((key, lost), same), cell
    assert len(first) > 20


def lost_cells(world: World, who: Who) -> Any:
    bodies: dict[str, dict[str, Any]] = {
        "turn": {"messages": []},
        "resume": {"tool_responses": []},
        "session": {"session_name": "x"},
    }
    for route, view in routes("/v1/agents/"):
        owned = [param for param in PARAM.findall(route) if param in KINDS]
        for method, action in view.actions.items():
            for target in world.targets(owned):
                if api_status(who, action, target, 200) == 404:
                    body = bodies.get(route.rpartition("/")[2]) if method == "post" else None
                    yield (
                        Cell(method, filled(route, {"rest": "x", "subagent_id": "x", **target.ids}), target, 404, body),
                        (method, route),
                    )


@pytest.mark.parametrize("name", ["outsider", "anonymous", "ingest key"])
def test_no_error_shows_where_it_comes_from(name: str, world: World) -> None:
    who, client = world.who[name], Client(raise_request_exception=False)
    for path in (
        "/v1/nothing",
        "/v1/agents/x",
        "/v1/logs/turns?q=((",
        "/nothing",
        "/turns/x/",
        "/v1/models/x",
        "/readyz",
    ):
        answer = told(client.get(path, headers=who.headers)).decode()
        assert not re.search(r"Traceback|\.py\b|site-packages|sqlite|postgres|SELECT|django", answer, re.IGNORECASE), (
            path
        )

"""Groups of tools that someone registered: for its team, and for nobody else, on every road to them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from agents.record.schemas.content import ToolDef
from agents.tools import store as toolgroups
from agents.tools.store import NewGroup
from tests.access.matrix import World

NAME, TOOL, URL = "mcp::red", "kanariegroet", "http://127.0.0.1:9/mcp"
SEES = {"owner", "reader", "admin"}


@pytest.fixture
def group(world: World) -> NewGroup:
    """A group of the owner's, with a tool."""
    new = NewGroup(NAME, "model-context-protocol", URL, {}, {"Authorization": "kanarieslot"})
    record = toolgroups.register(world.owner, new)
    toolgroups.store_listing(record.key, [ToolDef(name=TOOL, description="kanarie", input_schema={})], "")
    return new


def ask(world: World, who: str, method: str, path: str, body: Any = None) -> Any:
    raw = "" if body is None else json.dumps(body)
    return Client().generic(method, path, raw, "application/json", headers=world.who[who].headers)


@pytest.mark.parametrize("who", ["owner", "reader", "admin", "outsider"])
def test_it_is_seen_by_its_team_alone(world: World, group: NewGroup, who: str) -> None:
    sees = who in SEES
    for path in (f"/v1/toolgroups/{NAME}", f"/v1/tools?toolgroup_id={NAME}", f"/v1/tools/{TOOL}"):
        answer = ask(world, who, "GET", path)
        assert answer.status_code == (200 if sees else 404), path
        assert (b"kanarie" in answer.content.replace(TOOL.encode(), b"")) == (sees and "groups" not in path), path
    for path in ("/v1/toolgroups", "/v1/tools", "/v1/tool-runtime/list-tools"):
        answer = ask(world, who, "GET", path)
        if answer.status_code == 200:
            assert (b"mcp::red" in answer.content) == sees, path
        assert b"kanarieslot" not in answer.content


@pytest.mark.parametrize(("who", "status"), [("owner", 200), ("admin", 200), ("reader", 403), ("outsider", 404)])
def test_it_is_called_by_those_who_see_it_and_may_run(world: World, group: NewGroup, who: str, status: int) -> None:
    for name in (TOOL, f"{NAME}/{TOOL}"):
        answer = ask(world, who, "POST", "/v1/tool-runtime/invoke", {"tool_name": name, "kwargs": {}})
        assert answer.status_code == status


def test_an_outsider_cannot_make_an_agent_of_it(world: World, group: NewGroup) -> None:
    config = {"model": "scripted/fast", "instructions": "", "toolgroups": [NAME]}
    for who, status in (("owner", 200), ("outsider", 400)):
        answer = ask(world, who, "POST", "/v1/agents", {"agent_config": config})
        assert answer.status_code == status
    assert "Available" in answer.json()["detail"]
    assert "mcp::red" not in answer.json()["detail"].partition("Available")[2]


@pytest.mark.parametrize(("who", "status"), [("reader", 403), ("outsider", 404), ("owner", 204), ("admin", 204)])
def test_it_is_unregistered_by_those_who_see_it_and_may_manage(
    world: World, group: NewGroup, who: str, status: int
) -> None:
    assert ask(world, who, "DELETE", f"/v1/toolgroups/{NAME}").status_code == status
    assert (toolgroups.find(world.owner, NAME) is None) == (status == 204)


def test_a_name_somebody_else_has_is_free(world: World, group: NewGroup) -> None:
    """It neither tells that there is one, nor gets in the way of the first."""
    body = {"toolgroup_id": NAME, "provider_id": "model-context-protocol", "mcp_endpoint": {"uri": URL}}
    assert ask(world, "outsider", "POST", "/v1/toolgroups", body).status_code == 200
    record = toolgroups.find(world.owner, NAME)
    assert record is not None
    assert record.headers == group.headers

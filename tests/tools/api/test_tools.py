"""Tools and groups over HTTP: registering, refusing, invoking, and what never leaves a request."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from django.test import Client

from agents.base import ids
from agents.base.store import keys
from agents.base.timestamps import to_datetime
from agents.loop.current_service import service
from agents.loop.protocols.tools import ServerToolGroup
from agents.record.schemas.content import ToolDef
from agents.tools import store as toolgroups
from agents.tools.models import ToolGroup as Row
from agents.tools.runner import toolgroups as groups
from agents.tools.runner.toolgroups import MAX_LISTING_AGE_US
from agents.tools.store import NewGroup
from tests.server.api.test_bad_input import Road

pytestmark = pytest.mark.usefixtures("_served", "_quiet")


@pytest.fixture
def road(_served: None) -> Road:
    return Road()


PROVIDER = "model-context-protocol"
DEAD = {"uri": "http://127.0.0.1:9/mcp"}


def post(path: str, body: Any, **headers: str) -> Any:
    return Client().post(path, json.dumps(body), "application/json", headers=headers)


def register(**more: Any) -> Any:
    return post("/v1/toolgroups", {"toolgroup_id": "mcp::x", "provider_id": PROVIDER, "mcp_endpoint": DEAD, **more})


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ({"toolgroup_id": ""}, 400, "toolgroup_id"),
        ({"toolgroup_id": "x" * 300}, 400, "toolgroup_id"),
        ({"toolgroup_id": "a/b"}, 400, "toolgroup_id"),
        ({"toolgroup_id": 3}, 400, "toolgroup_id"),
        ({"provider_id": "no-such"}, 400, "provider_id"),
        ({"provider_id": None}, 400, "provider_id"),
        ({"mcp_endpoint": None}, 400, "mcp_endpoint"),
        ({"mcp_endpoint": "http://x"}, 400, "mcp_endpoint"),
        ({"mcp_endpoint": {"uri": "file:///etc/passwd"}}, 400, "URL is refused"),
        ({"mcp_endpoint": {"uri": "http://169.254.169.254/mcp"}}, 400, "URL is refused"),
        ({"mcp_endpoint": {"uri": "http://u:p@127.0.0.1/mcp"}}, 400, "URL is refused"),
        ({"mcp_endpoint": {"uri": "python -m evil"}}, 400, "URL is refused"),
        ({"mcp_endpoint": {"command": ["touch", "made"]}}, 400, "mcp_endpoint"),
        ({"args": []}, 400, "args"),
        ({"args": {"headers": {"Host": "evil"}}}, 400, "args.headers"),
        ({"args": {"headers": "Authorization: x"}}, 400, "args.headers"),
        ({"toolgroup_id": "builtin::demo"}, 409, "settings"),
        ({"toolgroup_id": "builtin::demo_policies"}, 409, "settings"),
        ({"toolgroup_id": "builtin::websearch", "provider_id": "brave-search"}, 409, "settings"),
    ],
)
def test_what_cannot_be_registered_is_refused_and_not_stored(body: dict[str, Any], status: int, words: str) -> None:
    response = register(**body)
    assert response.status_code == status
    assert words in response.json()["detail"]
    assert not Row.objects.unscoped("the test").exists()


def test_a_group_of_the_settings_registered_as_it_is_changes_nothing() -> None:
    for provider in ("brave-search", "tavily-search"):
        body = {"toolgroup_id": "builtin::websearch", "provider_id": provider, "mcp_endpoint": None, "args": None}
        response = post("/v1/toolgroups", body)
        assert (response.status_code, response.content) == (200, b"null")
    assert Client().delete("/v1/toolgroups/builtin::websearch").status_code == 400


def test_a_server_that_does_not_answer_is_registered_with_a_note() -> None:
    assert register().status_code == 200
    group = Client().get("/v1/toolgroups/mcp::x").json()
    assert group["mcp_endpoint"] == DEAD
    assert "cannot be reached" in group["metadata"]["note"]

    response = Client().get("/v1/tools?toolgroup_id=mcp::x")
    assert (response.status_code, response.headers["x-should-retry"]) == (502, "false")
    assert Client().get("/v1/tools").status_code == 200
    assert Client().delete("/v1/toolgroups/mcp::x").status_code == 204


def test_of_two_tools_of_one_name_that_of_a_server_that_answers_is_found() -> None:
    tool = ToolDef(name="lookup", parameters=[])
    for name, note in (("mcp::old", "cannot be reached"), ("mcp::new", ""), ("mcp::last", "")):
        post("/v1/toolgroups", {"toolgroup_id": name, "provider_id": PROVIDER, "mcp_endpoint": DEAD})
        toolgroups.store_listing(Row.objects.unscoped("the test").get(name=name).pk, [tool], note)
    assert Client().get("/v1/tools/lookup").json()["toolgroup_id"] == "mcp::new"
    assert Client().get("/v1/tools/mcp::old/lookup").json()["toolgroup_id"] == "mcp::old"


def test_an_agent_cannot_be_made_of_a_group_nobody_has_listed() -> None:
    register()
    config = {"model": "scripted/fast", "instructions": "", "toolgroups": ["mcp::x"]}
    response = post("/v1/agents", {"agent_config": config})
    assert response.status_code == 400
    assert "has never said what it has" in response.json()["detail"]


def test_websearch_has_one_name_in_lists_and_another_for_models() -> None:
    [listed] = Client().get("/v1/tools?toolgroup_id=builtin::websearch").json()["data"]
    assert (listed["identifier"], listed["toolgroup_id"]) == ("web_search", "builtin::websearch")
    assert Client().get("/v1/tools/builtin::websearch/web_search").json() == listed
    for name in ("brave_search", "web_search", "builtin::websearch/web_search"):
        answer = post("/v1/tool-runtime/invoke", {"tool_name": name, "kwargs": {"query": "x"}}).json()
        assert answer["error_code"] == 1
        assert "BRAVE_SEARCH_API_KEY" in answer["error_message"]


def test_invoke_answers_with_content() -> None:
    answer = post("/v1/tool-runtime/invoke", {"tool_name": "lookup_order", "kwargs": {"order": "8841"}}).json()
    assert json.loads(answer["content"])["order"] == 8841
    assert (answer["error_message"], answer["error_code"]) == (None, None)


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ({"tool_name": "no_such", "kwargs": {}}, 404, "Tool 'no_such' not found"),
        ({"tool_name": "builtin::demo/no_such"}, 404, "not found"),
        ({"tool_name": "no::such/lookup_order"}, 404, "not found"),
        ({"kwargs": {}}, 400, "tool_name"),
        ({"tool_name": ["x"], "kwargs": {}}, 400, "tool_name"),
        ({"tool_name": "lookup_order", "kwargs": []}, 400, "kwargs"),
    ],
)
def test_bad_invocations_are_refused(body: dict[str, Any], status: int, words: str) -> None:
    response = post("/v1/tool-runtime/invoke", body)
    assert response.status_code == status
    assert words in response.json()["detail"]


@pytest.mark.parametrize(
    ("query", "status", "words"),
    [
        ("tool_group_id=no::such", 404, "Tool group 'no::such' not found"),
        ("mcp_endpoint=nonsense", 400, "mcp_endpoint"),
        ("mcp_endpoint=[1]", 400, "mcp_endpoint"),
        ('mcp_endpoint={"uri":"file:///x"}', 400, "URL is refused"),
        ("mcp_endpoint[uri]=http://169.254.169.254/", 400, "URL is refused"),
    ],
)
def test_bad_listings_are_refused(query: str, status: int, words: str) -> None:
    response = Client().get(f"/v1/tool-runtime/list-tools?{query}")
    assert response.status_code == status
    assert words in response.json()["detail"]


def test_list_tools_without_a_name_is_everything() -> None:
    path = "/v1/tool-runtime/list-tools"
    assert Client().get(path).json() == Client().get("/v1/tools").json()
    of_one = Client().get(f"{path}?tool_group_id=builtin::demo").json()["data"]
    assert {tool["name"] for tool in of_one} == {"lookup_order", "get_weather", "web_search"}


def test_provider_data_that_could_not_be_sent_is_refused_without_being_told() -> None:
    sent = json.dumps({"mcp_headers": {"http://x/": {"Authorization": "kan\narie"}}})
    body = {"tool_name": "lookup_order", "kwargs": {}}
    response = post("/v1/tool-runtime/invoke", body, **{"X-LlamaStack-Provider-Data": sent})
    assert response.status_code == 400
    assert "mcp_headers" in response.json()["detail"]
    assert b"arie" not in response.content


def test_two_groups_with_one_name_are_both_named() -> None:
    config = {
        "model": "scripted/fast",
        "instructions": "",
        "toolgroups": ["builtin::demo", "builtin::demo/get_weather"],
    }
    response = post("/v1/agents", {"agent_config": config})
    assert response.status_code == 400
    assert "group 'builtin::demo' and group 'builtin::demo/get_weather'" in response.json()["detail"]


def turn_of(road: Road, script: str, **body: Any) -> Any:
    messages = [{"role": "user", "content": f"!script\n{script}"}]
    return road.post(road.turn_path, {"messages": messages, **body}).json()


def test_group_args_are_not_the_models_to_choose(road: Road) -> None:
    group = {"name": "builtin::demo/lookup_order", "args": {"order": "8841"}}
    turn = turn_of(road, 'call lookup_order {"order": "1"}\nthen\nsay Done.', toolgroups=[group])
    [step] = [step for step in turn["steps"] if step["step_type"] == "tool_execution"]
    assert json.loads(step["tool_responses"][0]["content"])["order"] == 8841
    assert step["tool_calls"][0]["arguments"] == {"order": "1"}  # what the model said


def test_an_old_listing_is_shown_at_once_and_read_anew_behind() -> None:
    """The server is dead by now: who looks gets the tools of its last listing, without waiting for it."""
    actor = keys.local()
    new = NewGroup("mcp::old", PROVIDER, DEAD["uri"])
    key = toolgroups.register(actor, new).key
    toolgroups.store_listing(key, [ToolDef(name="greet", input_schema={"type": "object", "properties": {}})], "")

    async def look() -> tuple[ServerToolGroup, int]:
        group = await groups.listed_group(service().providers, actor, "mcp::old", {})
        behind = list(groups._refreshing.values())
        await asyncio.gather(*behind)
        return group, len(behind)

    group, behind = asyncio.run(look())
    assert ([tool.definition.name for tool in group.tools], behind) == (["greet"], 0)
    old = to_datetime(ids.now_us() - MAX_LISTING_AGE_US - 1)
    Row.objects.unscoped("the test").filter(pk=key).update(listed_at=old)
    group, behind = asyncio.run(look())
    assert ([tool.definition.name for tool in group.tools], behind) == (["greet"], 1)
    record = toolgroups.find(actor, "mcp::old")
    assert record is not None
    assert [tool.name for tool in record.tools] == ["greet"]
    assert "cannot be reached" in record.note

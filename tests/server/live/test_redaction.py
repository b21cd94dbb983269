"""Secrets that come back: an endpoint's error, or a tool, that repeats a key. Neither answers, nor pages,
exports, files and the log have it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.http_endpoint import Reply, Request, answering
from tests.support.live.caller import Answer, Caller, Talk
from tests.support.live.mcp_process import TOKEN, McpProcess, check_kept_nowhere
from tests.support.live.process import ServerProcess, running

pytestmark = pytest.mark.server

OWN = "key-of-this-endpoint-0815"
OTHER = "key-of-the-search-engine-4711"
UNKNOWN = "sk-proj-" + "aB3" * 12
WRITTEN = "sk-proj-" + "cD4" * 12
QUERY = "query-key-1f2e3d"
STRUCK = "[redacted]"


def indiscreet(_: Request) -> Reply:
    """A model endpoint that tells every key it has heard of."""
    words = f"Incorrect API key: {OWN}. Not {OTHER}, nor {UNKNOWN}. " + "x" * 440 + OWN
    return Reply(json.dumps({"error": {"message": words}}).encode(), 401)


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    with answering(indiscreet) as address:
        yield address


@pytest.fixture(scope="module")
def process(
    tmp_path_factory: pytest.TempPathFactory, data: Path, endpoint: str, mcp: McpProcess
) -> Iterator[ServerProcess]:
    models = {"loose": {"base_url": endpoint, "api_key": OWN}}
    fixed = {"fixed": {"url": f"{mcp.url}?api_key={QUERY}", "headers": {"Authorization": f"Bearer {TOKEN}"}}}
    environment = {
        "DEFAULT_ENDPOINT": "scripted",
        "MODEL_ENDPOINTS": json.dumps(models),
        "BRAVE_SEARCH_API_KEY": OTHER,
        "MCP_SERVERS": json.dumps(fixed),
    }
    with running(tmp_path_factory.mktemp("redacting"), environment, data=data) as made:
        yield made


def test_an_endpoints_error_is_told_without_keys(process: ServerProcess) -> None:
    caller = Caller(process.port)
    talk = Talk(caller, model="loose/model")
    talk.say("hello")
    turn = caller.get("/v1/logs/turns").json["data"][0]["id"]
    found = [
        caller.get(path).body.decode()
        for path in (
            "/v1/logs/turns",
            "/v1/logs/turns/export?whole=true",
            "/v1/logs/steps/export?format=csv",
            "/v1/providers",
            f"/turns/{turn}/",
            f"/turns/{turn}/events.jsonl",
            "/logs/",
        )
    ]
    assert [secret for secret in (OWN, OWN[:12], OTHER, UNKNOWN) for text in found if secret in text] == []
    assert f"Incorrect API key: {STRUCK}. Not {STRUCK}, nor {STRUCK}." in found[0]
    for secret in (OWN, OTHER, UNKNOWN):
        check_kept_nowhere(secret, process)


def test_a_tool_that_repeats_its_key_is_heard_without_it(process: ServerProcess, mcp: McpProcess) -> None:
    caller = Caller(process.port)
    assert caller.get("/v1/tools?toolgroup_id=fixed").json["data"]  # it is asked what it has
    given = {"tool_name": "fixed/greet_everyone", "kwargs": {"url": f"{TOKEN} {QUERY}"}}
    assert heard(caller.post("/v1/tool-runtime/invoke", given)) == f"Hello, world! ({STRUCK} {STRUCK})"

    mine = "my-own-key-99"
    headers = {mcp.url: {"X-Api-Key": mine}}
    sent = {"X-LlamaStack-Provider-Data": json.dumps({"mcp_headers": headers, "other": "another-key-1"})}
    given = {"tool_name": "fixed/greet_everyone", "kwargs": {"url": f"{mine} another-key-1"}}
    answer = caller.post("/v1/tool-runtime/invoke", given, **sent)
    assert heard(answer) == f"Hello, world! ({STRUCK} {STRUCK})"


def heard(answer: Answer) -> str:
    return str(answer.json["content"][0]["text"])


def test_a_key_in_the_address_of_a_server_is_shown_nowhere(process: ServerProcess, mcp: McpProcess) -> None:
    caller = Caller(process.port)
    there = f"{mcp.url}?api_key={QUERY}2&team=support"
    body = {"toolgroup_id": "mine", "provider_id": "model-context-protocol", "mcp_endpoint": {"uri": there}}
    assert caller.post("/v1/toolgroups", body).status == 200
    groups = {one["identifier"]: one for one in caller.get("/v1/toolgroups").json["data"]}
    assert groups["fixed"]["mcp_endpoint"]["uri"] == f"{mcp.url}?api_key={STRUCK}"
    assert groups["mine"]["mcp_endpoint"]["uri"] == f"{mcp.url}?api_key={STRUCK}&team=support"
    tool = {"type": "mcp", "server_label": "s", "server_url": there, "require_approval": "never"}
    asked = {"model": "scripted/demo", "input": "hello", "tools": [tool]}
    response = caller.post("/v1/responses", asked).json
    assert response["tools"][0]["server_url"] == f"{mcp.url}?api_key={STRUCK}&team=support"
    for path in ("/v1/tools", "/v1/responses", f"/responses/{response['id']}/response.json"):
        assert QUERY not in caller.get(path).body.decode()


def test_a_key_that_somebody_says_is_theirs_to_say(process: ServerProcess) -> None:
    """What callers write is kept as they wrote it, also where it looks like a key."""
    caller = Caller(process.port)
    Talk(caller).say(f"is {WRITTEN} a key?")
    assert WRITTEN in caller.get("/v1/logs/turns").body.decode()

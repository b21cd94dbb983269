"""What an MCP server says of its tools, looked at; and which headers go where."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agents.base.errors import InvalidRequest
from agents.base.forwarded_headers import validate_headers
from agents.loop.protocols.tools import HostedTool, ToolWithArgs, rule_in_doubt
from agents.tools.providers.mcp import (
    MAX_TOOLS,
    McpClient,
    McpFault,
    Server,
    configured,
    group,
    headers_for,
    valid_tools,
)

SCHEMA = {"type": "object", "properties": {"x": {"type": "string"}}}


def one(name: str = "good", **more: Any) -> dict[str, Any]:
    return {"name": name, "description": "words", "input_schema": SCHEMA, **more}


def test_good_tools_are_kept_in_order() -> None:
    listing = valid_tools([one("b"), one("a.x-1_2")])
    assert [tool.name for tool in listing.tools] == ["b", "a.x-1_2"]
    assert listing.tools[0].input_schema == SCHEMA
    assert listing.note == ""


@pytest.mark.parametrize(
    "bad",
    [
        one(""),
        one("two words"),
        one("x" * 200),
        one("na\nme"),
        one("ünïcode"),
        one(input_schema=None),
        one(input_schema={"type": "array"}),
        one(input_schema={"type": "object", "properties": {"x": {"description": "y" * 100_000}}}),
    ],
)
def test_what_no_model_can_be_offered_is_left_out_and_told(bad: dict[str, Any]) -> None:
    listing = valid_tools([one("good"), bad, one("good")])
    assert [tool.name for tool in listing.tools] == ["good"]
    assert listing.note.startswith("2 of its tools")


def test_a_server_of_a_million_tools_is_cut() -> None:
    listing = valid_tools([one(f"tool_{number}") for number in range(MAX_TOOLS + 3)])
    assert len(listing.tools) == MAX_TOOLS
    assert listing.note.startswith("3 of its tools")


def test_long_words_are_cut() -> None:
    [tool] = valid_tools([one(description="w" * 100_000)]).tools
    assert len(tool.description or "") == 8000


URL = "https://mcp.example/mcp"


@pytest.mark.parametrize("url", [URL, URL + "/", "HTTPS://MCP.EXAMPLE/mcp", URL + "?x=1"])
def test_headers_go_to_their_own_server(url: str) -> None:
    server = Server(URL, headers={"authorization": "kept", "X-Team": "red"})
    assert headers_for(server, {"mcp_headers": {url: {"Authorization": "sent"}}}) == {
        "Authorization": "sent",
        "X-Team": "red",
    }


@pytest.mark.parametrize("url", ["https://mcp.example/", "https://mcp.example.evil/mcp", "http://mcp.example/mcp", "x"])
def test_headers_go_to_no_other(url: str) -> None:
    assert headers_for(Server(URL), {"mcp_headers": {url: {"Authorization": "sent"}}}) == {}


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "other"},
        {"content-length": "3"},
        {"X Y": "z"},
        {"": "z"},
        {"X": "a\r\nY: b"},
        {"X": "ä"},
        {"X": 3},
        {"X": "y" * 9000},
        ["X"],
        "X: y",
    ],
)
def test_headers_that_cannot_be_sent_are_refused(headers: object) -> None:
    with pytest.raises(InvalidRequest, match="here: "):
        validate_headers(headers, "here")


def test_a_secret_is_not_shown_by_what_holds_it() -> None:
    server = Server(URL, headers={"Authorization": "top secret"})
    assert "secret" not in repr(server)


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ({"x": {}}, "either a url"),
        ({"x": "http://a"}, "either a url"),
        ({"x": {"url": "http://a", "command": ["b"]}}, "either a url"),
        ({"x": {"url": "file:///etc"}}, "must begin with http"),
        ({"x": {"command": []}}, "empty"),
        ({"x": {"command": "rm -rf"}}, "list of texts"),
        ({"x": {"url": "http://a", "headers": {"Host": "b"}}}, "not a header"),
        ({"a/b": {"url": "http://a"}}, "a/b"),
        ({"x": {"url": "http://a", "repeat": "sometimes"}}, "repeat is one of read, idempotent, write"),
        ({"x": {"url": "http://a", "repeat": {"look": True}}}, "repeat is one of"),
        ({"x": {"url": "http://a", "in_doubt": "maybe"}}, "in_doubt is one of wait, done, not_done"),
        ({"x": {"url": "http://a", "key_header": 3}}, "are names"),
        ({"x": {"command": ["a"], "key_header": "Idempotency-Key"}}, "for a url only"),
    ],
)
def test_wrong_settings_are_told(raw: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        configured(raw)


@pytest.mark.parametrize("url", ["http://169.254.169.254/mcp", "http://127.0.0.1:9/mcp"])
def test_a_url_of_a_user_is_looked_at_each_time(url: str) -> None:
    with pytest.raises(InvalidRequest, match="may not be asked"):
        asyncio.run(McpClient().check(url))
    with pytest.raises(McpFault, match="may not be asked"):
        asyncio.run(McpClient().list(Server(url)))


def test_a_command_that_is_not_there_is_a_fault() -> None:
    with pytest.raises(McpFault, match="the command no-such-program"):
        asyncio.run(McpClient().list(Server(command=["no-such-program"])))


@pytest.mark.parametrize(
    ("hints", "repeat"),
    [
        ({"read_only_hint": True}, "read"),
        ({"read_only_hint": False, "idempotent_hint": True}, "idempotent"),
        ({"destructive_hint": False}, "write"),
        ({"read_only_hint": "yes", "idempotent_hint": 1}, "write"),
        (None, "write"),
    ],
)
def test_a_server_says_what_a_repeated_call_does(hints: Any, repeat: str) -> None:
    [tool] = valid_tools([one(annotations=hints)]).tools
    assert Server(URL).repeat(tool) == repeat


def test_the_operator_knows_better() -> None:
    look, other = valid_tools([one("look"), one("other", annotations={"read_only_hint": True})]).tools
    by_tool = configured({"x": {"url": URL, "repeat": {"look": "read"}}})["x"].server
    assert [by_tool.repeat(look), by_tool.repeat(other)] == ["read", "read"]
    for_all = configured({"x": {"url": URL, "repeat": "write"}})["x"].server
    assert [for_all.repeat(look), for_all.repeat(other)] == ["write", "write"]


def test_the_operator_says_what_is_done_in_doubt() -> None:
    look, other = valid_tools([one("look"), one("other")]).tools
    by_tool = configured({"x": {"url": URL, "in_doubt": {"look": "done"}}})["x"].server
    assert [by_tool.in_doubt(look), by_tool.in_doubt(other)] == ["done", "wait"]
    for_all = configured({"x": {"url": URL, "in_doubt": "not_done"}})["x"].server
    assert [for_all.in_doubt(look), for_all.in_doubt(other)] == ["not_done", "not_done"]
    [tool] = group("x", for_all, McpClient(), [look], args={"n": 1}, note="").tools
    wrapped = HostedTool(ToolWithArgs(tool, {}), "mcp")
    assert rule_in_doubt(wrapped) == "not_done"

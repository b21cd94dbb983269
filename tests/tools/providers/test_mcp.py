"""What an MCP server says of its tools, looked at; and which headers go where."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agents.base.errors import InvalidRequest
from agents.base.forwarded_headers import validate_headers
from agents.tools.providers.mcp import MAX_TOOLS, McpClient, McpFault, Server, configured, headers_for, valid_tools

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

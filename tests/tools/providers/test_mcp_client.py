"""MCP servers that lie, hang, break or are none: each is a fault with words, in time, and none is asked twice."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from aiohttp import web

from agents.base import tracing
from agents.tools.providers import mcp_client
from agents.tools.providers.mcp import McpFault, McpToolCall, Server

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
INFO = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "x", "version": "1"}}


class Odd:
    """A server of somebody's; ``seen`` are the methods it was asked for."""

    def __init__(self, answer: Callable[[dict[str, Any]], Any]) -> None:
        self._answer = answer
        self.seen: list[str] = []
        self.headers: list[dict[str, str]] = []

    async def _post(self, request: web.Request) -> web.StreamResponse:
        asked = await request.json()
        self.seen.append(asked["method"])
        self.headers.append({name.lower(): value for name, value in request.headers.items()})
        answer = self._answer(asked)
        if isinstance(answer, web.StreamResponse):
            return answer
        if answer is None:
            assert request.transport is not None
            request.transport.close()
            return web.Response()
        if isinstance(answer, Awaitable):
            await answer
        return web.json_response({"jsonrpc": "2.0", "id": asked.get("id"), **answer})

    def ask(self, work: Callable[[Server], Awaitable[Any]]) -> Any:
        async def served() -> Any:
            app = web.Application()
            app.router.add_post("/mcp", self._post)
            runner = web.AppRunner(app, shutdown_timeout=0.1)
            await runner.setup()
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            try:
                return await work(Server(f"http://127.0.0.1:{runner.addresses[0][1]}/mcp"))
            finally:
                await runner.cleanup()

        return asyncio.run(served())

    def list(self, seconds: float = 5.0) -> Any:
        return self.ask(lambda server: mcp_client.list_tools(server, {}, allow_private=True, seconds=seconds))

    def call(self, seconds: float = 5.0, call_key: str = "") -> Any:
        call = McpToolCall("x", {}, call_key)
        return self.ask(lambda server: mcp_client.call_tool(server, {}, call, allow_private=True, seconds=seconds))


def polite(asked: dict[str, Any], method: str, answer: Any) -> Any:
    """A server of an older revision, up to the one method that matters."""
    if asked["method"] == method:
        return answer
    if asked["method"] == "initialize":
        return {"result": INFO}
    if asked["method"].startswith("notifications/"):
        return web.Response(status=202)
    return {"error": {"code": -32601, "message": "Method not found"}}


def at(method: str, answer: Any) -> Odd:
    return Odd(lambda asked: polite(asked, method, answer))


def text(body: str, kind: str = "text/html", status: int = 200) -> web.Response:
    return web.Response(text=body, content_type=kind, status=status)


@pytest.mark.parametrize(
    ("odd", "words"),
    [
        (Odd(lambda _: text("<html>")), "error"),
        (Odd(lambda _: text("not json", "application/json")), "error"),
        (Odd(lambda _: text("[]", "application/json")), "error"),
        (Odd(lambda _: {"id": "another", "result": {}}), "answer"),
        (Odd(lambda _: None), "cannot be reached, or hung up"),
        (Odd(lambda _: web.Response(status=500)), "error"),
        (Odd(lambda _: web.Response(status=302, headers={"Location": "http://169.254.169.254/mcp"})), "error"),
        (Odd(lambda _: web.Response(status=307, headers={"Location": "http://127.0.0.1:9/mcp"})), "error"),
        (at("tools/list", {"result": {"tools": "many"}}), "not MCP"),
        (at("tools/list", {"result": {"tools": [{"name": 3}]}}), "not MCP"),
        (at("tools/list", {"error": {"code": 1, "message": "w" * 5000}}), "www"),
        (at("tools/list", None), r"answer|reached"),
    ],
)
def test_what_is_no_listing_is_a_fault(odd: Odd, words: str) -> None:
    with pytest.raises(McpFault, match=words) as caught:
        odd.list(seconds=1.0)
    assert "127.0.0.1" in caught.value.message
    assert len(caught.value.message) < 800


@pytest.mark.parametrize("seconds", [0.3])
def test_one_that_never_answers_is_given_up(seconds: float) -> None:
    async def never() -> None:
        await asyncio.Event().wait()

    with pytest.raises(McpFault, match="did not answer within"):
        Odd(lambda _: never()).list(seconds=seconds)


def test_pages_without_end_are_cut() -> None:
    tool = {"name": "again", "inputSchema": {"type": "object"}}
    odd = at("tools/list", {"result": {"tools": [tool], "nextCursor": "more"}})
    assert len(odd.list()) == mcp_client.MAX_PAGES


def test_an_answer_without_end_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp_client, "MAX_ANSWER_BYTES", 2000)
    with pytest.raises(McpFault, match="more than 2000 bytes"):
        at("tools/list", {"result": {"tools": [], "_meta": {"x": "y" * 5000}}}).list()


@pytest.mark.parametrize("answer", [None, {"error": {"code": 404, "message": "gone"}}, web.Response(status=404)])
def test_a_call_that_broke_is_not_made_again(answer: Any) -> None:
    """Not in another way, and not by the next attempt of a library: the tool may have run."""
    odd = at("tools/call", answer)
    with pytest.raises(McpFault):
        odd.call()
    assert odd.seen.count("tools/call") == 1


@pytest.mark.parametrize(
    ("content", "shown"),
    [
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], ["a", "b"]),
        ([{"type": "resource", "resource": {"uri": "x:y", "text": "inside"}}], ["inside"]),
        ([{"type": "resource_link", "uri": "https://x/y", "name": "doc"}], ["[doc](https://x/y)"]),
        ([{"type": "audio", "data": "aGk=", "mimeType": "audio/wav"}], ["[audio, which cannot be shown]"]),
        ([], []),
    ],
)
def test_content_is_shown_as_far_as_it_can_be(content: list[Any], shown: list[str]) -> None:
    result = at("tools/call", {"result": {"content": content}}).call()
    assert [item.text for item in result.content] == shown
    assert result.error is None


def test_structured_content_stands_in_for_text_that_is_missing() -> None:
    result = at("tools/call", {"result": {"content": [], "structuredContent": {"celsius": 3}}}).call()
    assert json.loads(result.content[0].text) == {"celsius": 3}


def test_an_error_of_the_tool_is_told_as_one() -> None:
    said = {"result": {"content": [{"type": "text", "text": "no such city"}], "isError": True}}
    assert at("tools/call", said).call().error == "no such city"


def test_the_key_of_a_call_goes_along() -> None:
    sent = []

    def answer(asked: dict[str, Any]) -> Any:
        sent.append(asked.get("params", {}).get("_meta", {}).get("idempotencyKey"))
        return polite(asked, "tools/call", {"result": {"content": []}})

    Odd(answer).call(call_key="k1")
    assert sent[-1] == "k1"


def test_a_call_is_part_of_the_trace_it_is_made_in() -> None:
    odd = Odd(lambda asked: {"result": {**INFO, "tools": [], "content": []}})

    async def call(server: Server) -> Any:
        position = tracing.parse("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
        tracing.current.set(position)
        return await mcp_client.call_tool(server, {}, McpToolCall("x", {}), allow_private=True, seconds=5.0)

    odd.ask(call)
    parents = {headers.get("traceparent") for headers in odd.headers}
    assert parents == {"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}

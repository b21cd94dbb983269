"""Searching the web, against engines on this machine that speak as the real ones do."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest
from aiohttp import web

from agents.loop.protocols.tools import ToolContext, ToolResult
from agents.tools.providers.web_search import Brave, Tavily, WebSearch, group

ROWS = [{"title": f"Title {n}", "url": f"https://example.org/{n}", "text": f"About {n}"} for n in range(9)]


class Engines:
    """Brave and Tavily in one server; ``seen`` are the keys and queries that came."""

    def __init__(self, status: int = 200, body: bytes | None = None) -> None:
        self.status, self.body = status, body
        self.seen: list[tuple[str, str, str]] = []

    async def brave(self, request: web.Request) -> web.Response:
        self.seen.append(("brave", request.headers["X-Subscription-Token"], request.query["q"]))
        rows = [{"title": one["title"], "url": one["url"], "description": one["text"]} for one in ROWS]
        return self._answer({"web": {"results": rows[: int(request.query["count"])]}})

    async def tavily(self, request: web.Request) -> web.Response:
        asked = await request.json()
        self.seen.append(("tavily", request.headers["Authorization"], asked["query"]))
        rows = [{"title": one["title"], "url": one["url"], "content": one["text"]} for one in ROWS]
        return self._answer({"query": asked["query"], "results": rows[: asked["max_results"]]})

    def _answer(self, body: Any) -> web.Response:
        raw = json.dumps(body).encode() if self.body is None else self.body
        return web.Response(body=raw, status=self.status, content_type="application/json")

    def ask(
        self, query: Any, *, keys: Mapping[str, str] | None = None, sent: Mapping[str, Any] | None = None, **more: Any
    ) -> ToolResult:
        async def work() -> ToolResult:
            app = web.Application()
            app.router.add_get("/res/v1/web/search", self.brave)
            app.router.add_post("/search", self.tavily)
            runner = web.AppRunner(app)
            await runner.setup()
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            base = f"http://127.0.0.1:{runner.addresses[0][1]}"
            tool = WebSearch((Brave(base), Tavily(base)), keys or {})
            try:
                return await tool.call({"query": query, **more}, ToolContext("", "", "tester", sent or {}))
            finally:
                await runner.cleanup()

        return asyncio.run(work())


BRAVE, TAVILY = {"brave-search": "b-key"}, {"tavily-search": "t-key"}


@pytest.mark.parametrize(("keys", "engine"), [(BRAVE, "brave"), (TAVILY, "tavily"), ({**TAVILY, **BRAVE}, "brave")])
def test_the_engine_with_a_key_answers(keys: dict[str, str], engine: str) -> None:
    engines = Engines()
    result = engines.ask("kettles", keys=keys)

    found = json.loads(str(result.content))
    assert found["query"] == "kettles"
    assert len(found["top_k"]) == 5
    assert found["top_k"][0] == {"title": "Title 0", "url": "https://example.org/0", "content": "About 0"}
    assert [(one[0], one[2]) for one in engines.seen] == [(engine, "kettles")]
    assert keys[f"{engine}-search"] in engines.seen[0][1]


def test_a_key_that_comes_with_the_request_counts_first() -> None:
    engines = Engines()
    assert engines.ask("kettles", keys=BRAVE, sent={"tavily_search_api_key": "mine"}).error is None
    assert engines.seen == [("tavily", "Bearer mine", "kettles")]


def test_without_a_key_it_says_which_setting_is_missing() -> None:
    result = Engines().ask("kettles")
    assert "BRAVE_SEARCH_API_KEY or TAVILY_SEARCH_API_KEY" in str(result.error)


@pytest.mark.parametrize(
    ("engines", "words"),
    [
        (Engines(401), "refuses the key"),
        (Engines(429), "status 429"),
        (Engines(302), "status 302"),
        (Engines(body=b"<html>"), "not JSON"),
        (Engines(body=b'{"x": "' + b"y" * 3 * 2**20 + b'"}'), "more than"),
    ],
)
def test_an_engine_that_fails_is_an_answer_without_the_key(engines: Engines, words: str) -> None:
    result = engines.ask("kettles", keys=BRAVE)
    assert words in str(result.error)
    assert "b-key" not in str(result)


@pytest.mark.parametrize("body", [b"[]", b"null", b'{"web": {"results": [1, null, {"title": null}]}}', b'{"web": 3}'])
def test_odd_answers_are_few_results(body: bytes) -> None:
    assert Engines(body=body).ask("kettles", keys=BRAVE).error is None


@pytest.mark.parametrize(("query", "more"), [("", {}), (None, {}), (7, {}), ("x", {"max_results": 0})])
def test_a_bad_question_is_refused(query: Any, more: dict[str, Any]) -> None:
    engines = Engines()
    assert engines.ask(query, keys=BRAVE, **more).error
    assert engines.seen == []


def test_an_engine_that_is_not_there_is_an_answer() -> None:
    tool = WebSearch((Brave("http://127.0.0.1:9"),), BRAVE)
    result = asyncio.run(tool.call({"query": "x"}, ToolContext("", "", "tester")))
    assert "cannot be reached" in str(result.error)


def test_it_has_one_name_for_models_and_another_in_lists() -> None:
    made = group(WebSearch(keys=TAVILY))
    [tool] = made.tools
    assert (tool.definition.name, made.list_name(tool), made.provider_id) == (
        "brave_search",
        "web_search",
        "tavily-search",
    )
    assert made.find("brave_search") is made.find("web_search") is tool

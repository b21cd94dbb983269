"""The first requests after a start come at once: what is made or imported when it is first used is so for all."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.support.live.caller import Answer, Caller, Talk, script, tool
from tests.support.live.process import ServerProcess

pytestmark = pytest.mark.server

MODEL, EACH = "scripted/demo", 6


def test_all_of_them_are_answered(start_server: Callable[..., ServerProcess]) -> None:
    caller = Caller(start_server().port)

    def respond() -> Answer:
        tools = [{"type": "function", "name": "ask", "parameters": {"type": "object", "properties": {}}}]
        return caller.post("/v1/responses", {"model": MODEL, "input": script("say Here."), "tools": tools})

    def turn() -> Answer:
        return Talk(caller, client_tools=[tool("ask", "question")]).say(script("say Here."))

    def converse() -> Answer:
        items = [{"type": "message", "role": "user", "content": "Hello"}]
        return caller.post("/v1/conversations", {"items": items, "metadata": {"of": "first"}})

    def complete() -> Answer:
        messages = [{"role": "user", "content": script("say Here.")}]
        return caller.post("/v1/chat/completions", {"model": MODEL, "messages": messages})

    reads = [lambda path=path: caller.get(path) for path in ("/v1/logs/turns?q=is:live", "/v1/agents", "/logs/", "/")]
    calls: list[Callable[[], Answer]] = [respond, turn, converse, complete, *reads]
    with ThreadPoolExecutor(EACH * len(calls)) as threads:
        answers = [future.result() for future in [threads.submit(call) for call in calls * EACH]]
    refused = [(answer.status, answer.body[:300]) for answer in answers if answer.status != 200]
    assert refused == []

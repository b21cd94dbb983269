"""A thousand turns at once against one budget: it is overspent by the inferences under way, and by no more."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from tests.support.depth import LONG
from tests.support.live.caller import Caller, Talk, script, user
from tests.support.live.process import ServerProcess

pytestmark = pytest.mark.server

RUNNING = 16
SAID = script('call get_weather {"city": "Bern"}', "then", "say Sunny.")


async def _all(server: ServerProcess, agent: str, count: int) -> list[httpx.Response]:
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(base_url=server.base, timeout=180, limits=limits) as client:

        async def turn() -> httpx.Response:
            made = await client.post(f"/v1/agents/{agent}/session", json={"session_name": "one of many"})
            assert made.status_code == 200, made.content
            path = f"/v1/agents/{agent}/session/{made.json()['session_id']}/turn"
            return await client.post(path, json={"messages": [user(SAID)]})

        return await asyncio.gather(*(turn() for _ in range(count)))


@pytest.mark.parametrize("count", [150, *([pytest.param(1000, marks=pytest.mark.slow)] if LONG else [])])
def test_turns_overspend_by_the_inferences_under_way(count: int, start_server: Callable[..., ServerProcess]) -> None:
    server = start_server(MAX_RUNNING=str(RUNNING), MAX_QUEUED=str(2 * count), MAX_WAITING=str(2 * count))
    caller = Caller(server.port)
    talk = Talk(caller, toolgroups=["builtin::demo"])
    talk.say(SAID)
    [one] = talk.turns()
    inferences = [step for step in one["steps"] if step["step_type"] == "inference"]
    assert len(inferences) == 2
    usage = caller.post("/v1/budgets", {"agent_id": talk.agent, "tokens": 10**9}).json
    talk.aside().say(SAID)
    each = caller.get(f"/v1/budgets/{usage['id']}").json["spent_tokens"]
    limit = 30 * each
    budget = caller.post("/v1/budgets", {"agent_id": talk.agent, "tokens": limit}).json

    answers = asyncio.run(_all(server, talk.agent, count))

    outcomes = Counter(_outcome(answer) for answer in answers)
    # whether one ends in the middle, chance says
    assert {"completed", "insufficient_quota"} == set(outcomes) - {"budget_reached"}, outcomes
    spent = caller.get(f"/v1/budgets/{budget['id']}").json["spent_tokens"]
    assert limit <= spent <= limit + RUNNING * each, (spent - limit) / each
    recorded = server.shell(
        "from agents.models import Turn\n"
        "from django.db.models import F, Sum\n"
        "print(Turn.all_objects.aggregate(all=Sum(F('input_tokens') + F('output_tokens')))['all'])"
    )
    assert int(recorded) - 2 * each == spent  # nothing is counted twice, and nothing forgotten


def _outcome(answer: httpx.Response) -> str:
    body: Any = json.loads(answer.content)
    if answer.status_code == 200:
        return "completed" if body["output_message"] else "?"
    return str(body["error"]["code"])

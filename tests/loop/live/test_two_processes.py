"""Two servers on one PostgreSQL, and those who race for a turn over both: one has it, and nothing is lost."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from threading import Barrier
from typing import Any

import pytest

from tests.support.depth import deep
from tests.support.live import two_servers
from tests.support.live.caller import Answer, Caller, Talk, answer_to, script, tool
from tests.support.live.process import eventually
from tests.support.live.two_servers import through

pytestmark = [*two_servers.MARKS, pytest.mark.timeout(3600)]

SCRIPT = script('call ask {"question": "?"}', "then", "call get_weather {}", "then", "say Done.")


@pytest.fixture(scope="module")
def callers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Caller, Caller]]:
    folders = tmp_path_factory.mktemp("one"), tmp_path_factory.mktemp("two")
    with two_servers.two_servers(folders) as (one, two):
        yield Caller(one.port), Caller(two.port)


def at_once(asks: list[Callable[[], Answer]]) -> list[Answer]:
    start = Barrier(len(asks))

    def one(ask: Callable[[], Answer]) -> Answer:
        start.wait(10)
        return ask()

    with ThreadPoolExecutor(len(asks)) as pool:
        futures: list[Future[Answer]] = [pool.submit(one, ask) for ask in asks]
        return [future.result() for future in futures]


def waiting(caller: Caller) -> tuple[Talk, dict[str, Any]]:
    talk = Talk(caller, client_tools=[tool("ask", "question")], toolgroups=["builtin::demo"])
    turn = talk.say(SCRIPT).json
    assert turn["status"] == "awaiting_input", turn
    return talk, turn


@pytest.mark.parametrize("seed", range(deep(16, 400)))
def test_a_turn_is_resumed_and_cancelled_over_two_servers(callers: tuple[Caller, Caller], seed: int) -> None:
    choose = random.Random(seed)
    talk, turn = waiting(callers[0])
    key, call = turn["turn_id"], turn["output_message"]["tool_calls"][0]
    sides = [talk, through(callers[1], talk)]
    kinds = ["resume"] * choose.randint(1, 6) + ["cancel"] * choose.randint(0, 2) + choose.choices(["say", ""])
    resumes, cancels, says = [], [], []
    asks: list[Callable[[], Answer]] = []
    for kind in filter(None, kinds):
        side = choose.choice(sides)
        place = len(asks)
        if kind == "resume":
            resumes.append(place)
            asks.append(partial(side.answer, key, answer_to(call, "yes")))
        elif kind == "cancel":
            cancels.append(place)
            asks.append(partial(side.cancel, key))
        else:
            says.append(place)
            asks.append(partial(side.say, "Never mind."))
    answers = at_once(asks)

    statuses = Counter(answer.status for answer in answers)
    assert set(statuses) <= {200, 409}, (statuses, [one.body for one in answers if one.status not in (200, 409)])
    eventually(lambda: talk.turn(key)["status"] not in ("in_progress", "queued"))
    stored = talk.turn(key)
    done = [answers[place] for place in resumes if answers[place].status == 200]
    stopped = [answers[place].json for place in cancels if answers[place].status == 200]
    assert len(done) <= 1
    for told in [*stopped, *(answer.json for answer in done)]:
        assert told == stored
    if done:
        assert stored["status"] == "completed"
    asked = next(step for step in stored["steps"] if step["step_type"] == "tool_execution")
    if stored["status"] == "completed":
        assert [one["content"] for one in asked["tool_responses"]] == ["yes"]
        assert stored["output_message"]["content"] == "Done."
    if not cancels and not says:
        assert stored["status"] == "completed"


@pytest.mark.parametrize("headers", [{"Idempotency-Key": "key {}"}, {"X-Stainless-Retry-Count": "1"}])
def test_of_one_request_sent_to_both_one_is_run(callers: tuple[Caller, Caller], headers: dict[str, str]) -> None:
    """A client, or a balancer, sends again what it takes for lost, while the first is still on its way."""
    for number in range(10):
        named = {name: value.format(number) for name, value in headers.items()}
        body = {"model": "scripted/fast", "input": script(f"say {headers} {number}")}
        answers = at_once([partial(caller.post, "/v1/responses", body, **named) for caller in callers * 3])
        assert {answer.status for answer in answers} == {200}
        assert len({answer.json["id"] for answer in answers}) == 1

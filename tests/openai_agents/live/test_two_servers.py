"""Two servers on one PostgreSQL: what one of them runs is watched, steered and answered on the other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from openai import OpenAI

from tests.support.live import two_servers
from tests.support.live.agents_api import CANCEL, Talk, agent, function, kinds, message, result
from tests.support.live.held_model import HeldModel
from tests.support.live.process import eventually

pytestmark = [*two_servers.MARKS, pytest.mark.timeout(300)]

Clients = tuple[OpenAI, OpenAI]


@pytest.fixture(scope="module")
def clients(tmp_path_factory: pytest.TempPathFactory, held: HeldModel) -> Iterator[Clients]:
    folders = tmp_path_factory.mktemp("one"), tmp_path_factory.mktemp("two")
    with two_servers.two_servers(folders, held.environment) as both, ExitStack() as stack:
        one, two = (
            stack.enter_context(OpenAI(base_url=f"{server.base}/v1", api_key="none", max_retries=0)) for server in both
        )
        yield one, two


def test_a_message_joins_a_turn_of_the_other_server(clients: Clients, held: HeldModel) -> None:
    first, second = held.hold(), held.hold()
    here = Talk.begin(clients[0], text=first.question, agent=agent(model="held/held"))
    there = Talk(clients[1], here.id)
    first.say("One")
    eventually(lambda: first.asked)
    with there.watched() as watcher:
        there.send(message(second.question))
        first.say(", and a half")
        watcher.until("turn.output_text.delta", 2)  # by then it has been told
        first.end(".")
        second.end("Two.")
        events = watcher.until("idle")
    assert kinds(events)[-1] == "agent.session.idle"
    assert there.texts() == [first.question, "One, and a half.", second.question, "Two."]
    assert sum(turn.status == "completed" for turn in there.turns()) in (1, 2)


def test_calls_are_answered_and_turns_cancelled_on_the_other_server(clients: Clients, held: HeldModel) -> None:
    calls = ('call get_time {"zone": "UTC"}', 'call get_time {"zone": "CET"}')
    here = Talk.begin(clients[0], *calls, "then", "say Both.", agent=agent(function("get_time", "zone")))
    there = Talk(clients[1], here.id)
    first, second = there.until("requires_action").required_actions
    with here.watched() as watcher:
        there.send(result(first, "twelve"))
        here.send(result(second, "one"))
        watcher.until("idle")
        question = held.hold()
        there.sessions.update(there.id, agent={"model": "held/held"})
        there.send(message(question.question))
        question.say("Once")
        watcher.until("turn.output_text.delta", 2)
        here.send(CANCEL)
        events = watcher.until("turn.cancelled")
        question.end()
    assert [event.delta for event in events if event.type.endswith("output_text.delta")] == ["Both.", "Once"]
    assert here.texts()[-1] == "Once"

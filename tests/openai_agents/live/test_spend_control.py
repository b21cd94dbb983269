"""What a session of OpenAI's Agents API may spend, with OpenAI's client."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from openai import BadRequestError, OpenAI

from tests.support.live.agents_api import MODEL, NONE, Talk, agent, message, short
from tests.support.live.held_model import HeldModel
from tests.support.live.process import ServerProcess, running

pytestmark = pytest.mark.server

PRICES = [{"model": MODEL, "from": "2020-01-01T00:00:00Z", "input": 900, "output": 900}]
"""In dollars per million tokens: a dozen of them are a cent."""
LONG = "say " + " ".join(["word"] * 40)


@pytest.fixture(scope="module")
def priced(tmp_path_factory: pytest.TempPathFactory, data: Path, held: HeldModel) -> Iterator[ServerProcess]:
    """A server whose models have a price."""
    with running(tmp_path_factory.mktemp("priced"), held.environment, data=data) as server:
        prices = server.folder / "prices.json"
        prices.write_text(json.dumps(PRICES))
        server.manage("prices", str(prices))
        yield server


@pytest.fixture
def client(priced: ServerProcess) -> Iterator[OpenAI]:
    with OpenAI(base_url=f"{priced.base}/v1", api_key="none", max_retries=0) as made:
        yield made


def control(limit: int | None) -> Any:
    return {"limit": limit}


def test_a_session_pauses_at_its_limit_and_goes_on_with_a_larger_one(client: OpenAI) -> None:
    talk = Talk.begin(client, LONG, spend_control=control(1))
    paused = talk.until("budget_reached")
    assert paused.spend_control.limit == 1
    assert paused.spend_control.consumed >= 1
    [first] = talk.turns()
    assert first.status == "completed"  # an inference that has begun is never stopped
    with talk.watched() as watcher:
        talk.send(message("And now?"))
        events = watcher.until("budget_reached")
    assert short(events)[-3:] == ["failed", "error", "budget_reached"]
    _, second = talk.turns()
    assert (second.status, second.error.code) == ("failed", "session_budget_exceeded")
    assert "$0.01" in second.error.message

    raised: Any = talk.sessions.update(talk.id, spend_control=control(1000))
    assert (raised.status, raised.spend_control.limit) == ("idle", 1000)
    assert raised.spend_control.consumed == paused.spend_control.consumed
    with talk.watched() as watcher:
        talk.send(message("And now?"))
        events = watcher.until("idle")
    assert talk.turns()[-1].status == "completed"
    freed: Any = talk.sessions.update(talk.id, spend_control=None)
    assert (freed.status, freed.spend_control.limit) == ("idle", None)
    assert freed.spend_control.consumed > paused.spend_control.consumed  # what was spent stays counted


def test_the_stream_of_a_new_session_ends_where_it_is_paused(client: OpenAI) -> None:
    events = list(
        client.beta.agents.sessions.create(
            agent=agent(), environment=NONE, input=f"!script\n{LONG}", spend_control=control(1), stream=True
        )
    )
    assert short(events)[-2:] == ["completed", "budget_reached"]
    reached: Any = events[-1]
    assert (reached.session.status, reached.session.spend_control.limit) == ("budget_reached", 1)


def test_a_limit_set_later_counts_what_was_spent_before(client: OpenAI) -> None:
    talk = Talk.begin(client, LONG)
    assert talk.until("idle").spend_control is None
    assert talk.sessions.update(talk.id, spend_control=control(1)).status == "budget_reached"


@pytest.mark.parametrize("limit", [0, -1, 10**15, "1", 1.5])
def test_limits_that_are_none_are_refused(client: OpenAI, limit: Any) -> None:
    with pytest.raises(BadRequestError) as refused:
        Talk.begin(client, spend_control=control(limit))
    assert refused.value.param == "spend_control.limit"


def test_nothing_can_be_counted_for_a_model_without_a_price(client: OpenAI) -> None:
    with pytest.raises(BadRequestError) as refused:
        Talk.begin(client, agent=agent(model="scripted/demo"), spend_control=control(5))
    assert (refused.value.param, refused.value.code) == ("spend_control.limit", "model_not_budgetable")

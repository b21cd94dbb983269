"""While a turn runs it may stand under the name of its program, until the span arrives that names its agent: an agent
that was no more than such a name is gone then."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from agents.base.store import keys
from agents.base.timestamps import to_datetime
from agents.record.models.agents import Agent, Session
from agents.record.models.budgets import Budget
from agents.record.models.choices import BudgetPeriod, BudgetTarget, Source
from agents.record.schemas.agents import AgentConfig
from agents.record.store import agents
from tests.support.inprocess import collect_static
from tests.telemetry.reading import reports

pytestmark = pytest.mark.usefixtures("_served", "_quiet")
PROGRAM = "tests"
"""The name of the service that reports."""


@pytest.fixture(autouse=True)
def _static() -> None:
    collect_static()


def names() -> list[str]:
    return sorted(Agent.objects.unscoped("test").values_list("name", flat=True))


def program() -> Agent:
    agent: Agent = Agent.objects.unscoped("test").get(name=PROGRAM)
    return agent


def test_a_name_that_only_a_running_turn_had_is_no_agent(client: Client) -> None:
    first, tool, last, root = reports.turn(1)
    for span in (first, tool, last):
        reports.send(client, span)
        assert names() == [PROGRAM]
    reports.send(client, root)
    assert names() == ["forecaster"]
    page = client.get("/agents/").content.decode()
    assert "forecaster" in page
    assert f">{PROGRAM}<" not in page
    assert list(Session.objects.unscoped("test").values_list("agent__name", flat=True)) == ["forecaster"]
    assert client.get("/v1/logs/turns", {"q": "agent:forecaster"}).json()["data"]


def test_it_stays_while_another_turn_stands_under_it(client: Client) -> None:
    first, *others = reports.turn(1)
    second, *rest = reports.turn(2, at=10)
    reports.send(client, first, second)
    reports.send(client, *others)
    assert names() == ["forecaster", PROGRAM]
    reports.send(client, *rest)
    assert names() == ["forecaster"]


def test_it_comes_again_with_the_next_turn(client: Client) -> None:
    for trace in (1, 2):
        first, *others = reports.turn(trace, at=10 * trace)
        reports.send(client, first)
        assert PROGRAM in names()
        reports.send(client, *others)
        assert names() == ["forecaster"]


def test_a_sub_agent_that_was_taken_for_the_turns_own_stays(client: Client) -> None:
    desk, call, finder, *below = reports.delegated(1)
    reports.send(client, finder, *below)
    reports.send(client, call, desk)
    assert names() == ["desk", "finder"]


def revised() -> None:
    agents.revise(keys.local(), program().pk, AgentConfig(model="m", instructions="Be brief.", name=PROGRAM))


def limited() -> None:
    me = keys.local()
    times = {"created_at": to_datetime(0), "updated_at": to_datetime(0)}
    whose = {"owner_id": me.user_id, "scope_id": program().scope_id, "target": BudgetTarget.AGENT, "agent": program()}
    Budget.objects.create(id=1, period=BudgetPeriod.TOTAL, **whose, **times)


def disabled() -> None:
    agents.set_disabled(keys.local(), program().pk, True)


def native() -> None:
    Agent.objects.unscoped("test").filter(name=PROGRAM).update(source=Source.NATIVE)


def with_another_session() -> None:
    session = Session.objects.unscoped("test").get()
    session.pk, session.foreign_id = session.pk + 1, "another"
    session.save(force_insert=True)


@pytest.mark.parametrize("changed", [revised, limited, disabled, native, with_another_session])
def test_one_that_somebody_cares_for_stays(client: Client, changed: Any) -> None:
    first, *others = reports.turn(1)
    reports.send(client, first)
    changed()
    reports.send(client, *others)
    assert names() == ["forecaster", PROGRAM]

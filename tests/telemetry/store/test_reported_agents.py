"""Agents are what their turns report: what was unknown becomes known, and the latest turn has the last word."""

from __future__ import annotations

from typing import Any

import pytest

from agents.base.access import Actor
from agents.base.store import keys
from agents.record.models.agents import Agent
from agents.record.schemas.agents import AgentConfig
from agents.record.store import agents as agents_store
from agents.telemetry.reading.otlp import traces_from_json
from agents.telemetry.store.external import inbox
from agents.telemetry.store.external.projector import projector
from tests.telemetry.reading import reports

pytestmark = pytest.mark.django_db


@pytest.fixture
def me(db: None) -> Actor:
    return keys.local()


def turn(trace: int, instructions: str, model: str = "m1", at: float = 0.0) -> list[Any]:
    """A call, and the agent that made it."""
    said = f'[{{"type": "text", "content": "{instructions}"}}]'
    call: dict[str, Any] = {"gen_ai__operation__name": "chat", "gen_ai__request__model": model}
    call["gen_ai__system_instructions"] = said
    agent: dict[str, Any] = {"gen_ai__operation__name": "invoke_agent", "gen_ai__agent__name": "forecaster"}
    return [
        reports.span(trace, 2, "chat", parent=1, at=at + 0.5, **call),
        reports.span(trace, 1, "invoke_agent forecaster", at=at, takes=3.0, **agent),
    ]


def tell(actor: Actor, *spans: Any) -> None:
    inbox.accept(actor, traces_from_json(reports.request(*spans)).spans)
    projector.wake()


def known() -> tuple[str, str, str]:
    """The model of the row; model and instructions of the configuration."""
    [agent] = Agent.objects.unscoped("test").select_related("revision")
    config = AgentConfig.model_validate_json(agent.revision.config if agent.revision else "{}")
    return agent.model, config.model, config.instructions


def test_what_was_unknown_becomes_known_when_the_call_comes(me: Actor) -> None:
    call, root = turn(1, "Be brief.")
    tell(me, root)
    assert known() == ("unknown", "unknown", "")
    tell(me, call)
    assert known() == ("m1", "m1", "Be brief.")


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_the_latest_turn_says_what_the_agent_is(me: Actor, order: tuple[int, ...]) -> None:
    told = [turn(1, "Be brief."), turn(2, "Be kind.", "m2", at=60.0)]
    for position in order:
        tell(me, *told[position])
    assert known() == ("m2", "m2", "Be kind.")


@pytest.mark.parametrize("together", [True, False])
def test_a_turn_that_still_runs_changes_nothing_that_is_known(me: Actor, together: bool) -> None:
    call, root = turn(2, "Be kind.", "m2", at=60.0)
    running = {**root, "endTimeUnixNano": "0"}
    requests = [*turn(1, "Be brief."), call, running]
    for spans in [requests] if together else [requests[:2], requests[2:]]:
        tell(me, *spans)
    assert known() == ("m1", "m1", "Be brief.")
    tell(me, root)
    assert known() == ("m2", "m2", "Be kind.")


def test_an_agent_that_somebody_has_changed_stays_as_it_is(me: Actor) -> None:
    tell(me, *turn(1, "Be brief."))
    [agent] = Agent.objects.unscoped("test").values_list("pk", flat=True)
    agents_store.revise(me, agent, AgentConfig(model="m3", instructions="Be mine.", name="forecaster"))
    tell(me, *turn(2, "Be kind.", "m2", at=60.0))
    assert known() == ("m3", "m3", "Be mine.")

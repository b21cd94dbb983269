"""Another agent goes on with a turn: with its model, instructions, tools and shields of answers.

What was said, the bounds of the turn and the tools of its client stay. Whom a turn was handed over to is stored by the
step that did it, so that later responses, and processes that take the turn over, go on as that agent.
"""

from __future__ import annotations

from dataclasses import replace

from agents.base.access import Actor
from agents.base.errors import NotFound
from agents.loop.prepare import build_run, without_client
from agents.loop.provider_set import Providers
from agents.loop.run import Run
from agents.loop.schemas.turns import CreateTurn
from agents.record.schemas.agents import AgentConfig, ForkSettings
from agents.record.schemas.content import UserMessage
from agents.record.store import agents, forks, hand_overs
from agents.record.store.agents import AgentRecord
from agents.record.store.hand_overs import Handing, NextAgent


def check(providers: Providers, actor: Actor, agent: AgentRecord) -> None:
    """Raise AgentsError where an agent cannot go on with a turn: it is gone, disabled, or names what is not there."""
    agents.check_enabled(agents.get(actor, agent.key, "run"))
    _own_run(providers, actor, agent.config, turn=0, session=0)


def hand_over(providers: Providers, actor: Actor, run: Run, handing: Handing, agent: AgentRecord) -> Run:
    """Return the run as an agent goes on with it, and store that it does. Blocking. Raises AgentsError."""
    to = NextAgent(agent.key, agent.revision)
    new = _as_agent(providers, actor, run, to, agent.config)
    hand_overs.add(run.turn, handing, to)
    return new


def continued(providers: Providers, actor: Actor, run: Run, next_step: int) -> Run:
    """Return the run of a later response, whose first step has the number ``next_step``, as the agent goes on that the
    turn was handed over to before. Raises AgentsError."""
    to = hand_overs.latest(run.turn, next_step)
    if to is None:
        return run
    try:
        config = agents.revision_config(actor, to.agent, to.revision, "run")
    except NotFound:
        return run  # the agent is gone: the one that the turn began with answers
    return _as_agent(providers, actor, run, to, config)


def _as_agent(providers: Providers, actor: Actor, run: Run, to: NextAgent, config: AgentConfig) -> Run:
    changes = ForkSettings.model_validate_json(forks.settings_of(run.turn)).changed_values
    config = config.model_copy(update=changes)
    if not hand_overs.has_client(run.turn):
        config = without_client(config)
    own = _own_run(providers, actor, config, run.turn, run.session)
    taken = {*own.server_tools, *(tool.name for tool in own.client_tools)}
    return replace(
        run,
        agent=to.agent,
        model=own.model,
        inference_model=own.inference_model,
        inference=own.inference,
        instructions=own.instructions,
        client_tools=[*own.client_tools, *(tool for tool in run.client_tools if tool.name not in taken)],
        server_tools=own.server_tools,
        tool_sources=own.tool_sources,
        tool_config=own.tool_config,
        sampling=own.sampling,
        response_format=own.response_format or run.response_format,
        options={**run.options, **own.options},
        output_shields=own.output_shields,
        left_out=(),
    )


def _own_run(providers: Providers, actor: Actor, config: AgentConfig, turn: int, session: int) -> Run:
    """Return what a turn of its own would run with; what is said in it does not matter."""
    body = CreateTurn(messages=[UserMessage(content="")])
    return build_run(providers, actor, turn=turn, session=session, config=config, body=body)

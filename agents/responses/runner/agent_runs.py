"""Runs an agent for a request whose model names one: its instructions, tools and shields, and what the request adds."""

from __future__ import annotations

from dataclasses import replace

from agents.base.access import Actor
from agents.base.errors import InvalidRequest
from agents.loop import prepare, toolset
from agents.loop.extensions import extensions
from agents.loop.provider_set import Providers
from agents.loop.run import Run
from agents.loop.service import Service
from agents.loop.tool_groups import group_args
from agents.record.schemas.agents import AgentConfig
from agents.record.schemas.content import ToolConfig
from agents.record.store import agents
from agents.record.store.agents import AgentRecord
from agents.record.store.turns import TurnTarget
from agents.responses.schemas.requests import CreateResponse


def of_turn(service: Service, actor: Actor, target: TurnTarget) -> AgentRecord | None:
    """Return the agent of a turn with the configuration that the turn began with; None where it has none."""
    if target.agent is None or target.revision is None:
        return None
    config = service.config_of(actor, target)
    return replace(agents.get(actor, target.agent, "run"), config=config, revision=target.revision)


def with_agent(run: Run, providers: Providers, actor: Actor, body: CreateResponse, config: AgentConfig) -> Run:
    """Return the run of a request with what its agent is. The request's instructions follow the agent's, its tools are
    beside the agent's, and what else it says holds before what the agent says. Raises InvalidRequest for two tools of
    one name."""
    args = group_args(config.toolgroups, ())
    client_tools = [*config.client_tools, *run.client_tools]
    server_tools = toolset.server_tools(providers, actor, config.toolgroups, client_tools, args)
    for name in run.server_tools:
        if name in server_tools:
            raise InvalidRequest(f"tools: the agent has a tool named '{name}' itself.", param="tools")
    sampling = config.sampling_params
    if body.max_output_tokens is not None:
        sampling = sampling.model_copy(update={"max_tokens": body.max_output_tokens})
    sent = body.model_fields_set
    return replace(
        run,
        instructions="\n\n".join(filter(None, (config.instructions, run.instructions))),
        client_tools=client_tools,
        server_tools={**server_tools, **run.server_tools},
        tool_config=run.tool_config if "tool_choice" in sent else config.tool_config or ToolConfig(),
        sampling=sampling,
        response_format=run.response_format or config.response_format,
        input_shields=[*extensions.shields(providers, actor, config.input_shields, "model"), *run.input_shields],
        output_shields=[*extensions.shields(providers, actor, config.output_shields, "model"), *run.output_shields],
        retriever=prepare.retriever_of(providers, actor, run.session, config.toolgroups, args),
        max_infer_iters=run.max_infer_iters if "max_infer_iters" in sent else config.max_infer_iters,
        resumes=config.resume_runs,
    )

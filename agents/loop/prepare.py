"""Builds the run of a request: it resolves names and refuses unknown ones, before anything is stored or
streamed."""

from __future__ import annotations

from collections.abc import Sequence

from agents.base import ids
from agents.base.access import Actor
from agents.base.errors import InvalidRequest
from agents.loop import model_names, toolset
from agents.loop.extensions import HostedTools, extensions
from agents.loop.images import check_images
from agents.loop.protocols.retrieval import Retriever
from agents.loop.provider_set import Providers
from agents.loop.run import Run
from agents.loop.schemas.turns import CreateTurn
from agents.loop.tool_groups import Args, check_choice, group_args, group_name
from agents.record.schemas.agents import AgentConfig, AgentToolGroup
from agents.record.schemas.content import ToolConfig


def check_config(providers: Providers, actor: Actor, config: AgentConfig) -> None:
    """Raise InvalidRequest if an agent's configuration has a name that is unknown to its creator."""
    server_tools = toolset.server_tools(providers, actor, config.toolgroups, config.client_tools, action="manage")
    extensions.shields(providers, actor, config.input_shields, "input_shields", "manage")
    extensions.shields(providers, actor, config.output_shields, "output_shields", "manage")
    check_choice(config.tool_config or ToolConfig(), server_tools, config.client_tools)
    _hosted_tools(providers, actor, config)


def _hosted_tools(providers: Providers, actor: Actor, config: AgentConfig) -> HostedTools:
    """Return the tools that an agent names in the words of OpenAI's Agents API. Raises InvalidRequest."""
    tools = config.openai.tools if config.openai else ()
    return extensions.hosted_tools(providers, actor, tools) if tools else HostedTools()


def build_run(
    providers: Providers,
    actor: Actor,
    *,
    turn: int,
    session: int,
    config: AgentConfig,
    body: CreateTurn,
) -> Run:
    """Build the run of a turn's first response. Raises InvalidRequest."""
    if not body.messages:
        raise InvalidRequest("messages: at least one is needed.", param="messages")
    check_images(body.messages)
    groups = config.toolgroups if body.toolgroups is None else body.toolgroups
    args = group_args(config.toolgroups, body.toolgroups or ())
    server_tools = toolset.server_tools(providers, actor, groups, config.client_tools, args)
    tool_config = body.tool_config or config.tool_config or ToolConfig()
    check_choice(tool_config, server_tools, config.client_tools)
    hosted = _hosted_tools(providers, actor, config)
    inference, model = model_names.resolve(providers, actor, config.model)
    return Run(
        turn=turn,
        session=session,
        actor=actor.name,
        model=model_names.recorded(config.model, inference, model),
        inference_model=model,
        inference=inference,
        instructions=config.instructions,
        input_messages=body.messages,
        context=extensions.document_text(providers, groups, body.documents or ()),
        client_tools=config.client_tools,
        server_tools={**server_tools, **hosted.tools},
        tool_sources=hosted.sources,
        tool_config=tool_config,
        sampling=config.sampling_params,
        response_format=config.response_format,
        options=config.openai.options if config.openai else {},
        input_shields=extensions.shields(providers, actor, config.input_shields, "input_shields"),
        output_shields=extensions.shields(providers, actor, config.output_shields, "output_shields"),
        retriever=retriever_of(providers, actor, session, groups, args),
        documents=extensions.slow_documents(providers, session, turn, groups, body.documents or ()),
        max_infer_iters=config.max_infer_iters,
        budget=body.budget,
        tool_timeout_s=providers.tool_timeout_s,
        resumes=config.resume_runs,
        clock=ids.now_us,
        new_key=ids.new_key,
    )


def without_client(config: AgentConfig) -> AgentConfig:
    """Return what an agent says without what needs a client: a sub-agent has none."""
    return config.model_copy(update={"client_tools": []})


def client_tool_names(config: AgentConfig) -> list[str]:
    """Return the names of the tools that need a client."""
    return [tool.name for tool in config.client_tools]


def retriever_of(
    providers: Providers, actor: Actor, session: int, groups: Sequence[AgentToolGroup], args: Args
) -> Retriever | None:
    """Return the retriever of a turn, if one of its groups is one. Raises InvalidRequest for invalid ``args``
    (by group)."""
    for group in groups:
        make = providers.retrievers.get(group_name(group))
        if make:
            return make(actor, session, args.get(group_name(group), {}))
    return None

"""Builds the run of a response from its request."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agents.base import ids
from agents.base.access import Actor
from agents.loop import model_names
from agents.loop.extensions import extensions
from agents.loop.images import check_images
from agents.loop.run import Compaction, Run
from agents.loop.service import Service
from agents.record.schemas.content import (
    JsonSchemaFormat,
    ResponseFormat,
    SamplingParams,
    TopPStrategy,
    TurnMessage,
)
from agents.responses.runner import agent_runs, approvals, sealed_items, tools
from agents.responses.runner.requests import ResponseRequest
from agents.responses.schemas.requests import CreateResponse


def response_run(
    service: Service, request: ResponseRequest, turn: int, session: int, messages: Sequence[TurnMessage]
) -> Run:
    """Build the run of a request's response. Raises InvalidRequest for an unknown name."""
    providers, actor, body, agent = service.providers, request.actor, request.body, request.agent
    check_images(messages)
    name = body.model if agent is None else agent.config.model
    inference, model = model_names.resolve(providers, actor, name)
    offer = tools.offered_tools(providers, request)
    shields = extensions.shields(providers, actor, body.guardrail_ids, "guardrails")
    run = Run(
        turn=turn,
        session=session,
        actor=actor.name,
        model=model_names.recorded(name, inference, model),
        inference_model=model,
        inference=inference,
        instructions=body.instructions or "",
        input_messages=messages,
        client_tools=offer.client,
        client_forms=offer.forms,
        left_out=offer.left_out,
        server_tools=offer.server,
        tool_sources=offer.sources,
        approved_calls=() if isinstance(body.input, str) else approvals.approved_calls(body.input),
        tool_config=offer.config,
        sampling=SamplingParams(strategy=TopPStrategy(top_p=None), max_tokens=body.max_output_tokens),
        response_format=_format(body),
        options=_options(body, has_tools=bool(offer.client or offer.server or offer.sources)),
        input_shields=shields,
        output_shields=shields,
        max_infer_iters=body.max_infer_iters,
        max_tool_calls=body.max_tool_calls,
        single_call=not body.parallel_tool_calls,
        budget=body.budget,
        ends_with_client_calls=True,
        truncates=body.truncation == "auto",
        compaction=_compaction(actor, body),
        is_steerable=request.is_steerable,
        tool_timeout_s=providers.tool_timeout_s,
        provider_data=request.provider_data,
        clock=ids.now_us,
        new_key=ids.new_key,
    )
    return run if agent is None else agent_runs.with_agent(run, providers, actor, body, agent.config)


def _compaction(actor: Actor, body: CreateResponse) -> Compaction | None:
    if not body.sums_up_only and body.compact_threshold is None:
        return None
    return Compaction(sealed_items.seal_of_summaries(actor), body.compact_threshold, body.sums_up_only)


def _format(body: CreateResponse) -> ResponseFormat | None:
    text_format = body.text.format
    if text_format.type == "json_schema":
        return JsonSchemaFormat(json_schema=text_format.schema_ or {})
    return JsonSchemaFormat(json_schema={"type": "object"}) if text_format.type == "json_object" else None


def _options(body: CreateResponse, *, has_tools: bool) -> dict[str, Any]:
    """Return the fields of a request that go to the endpoint unchanged."""
    options: dict[str, Any] = {
        "temperature": body.temperature,
        "top_p": body.top_p,
        "presence_penalty": body.presence_penalty,
        "frequency_penalty": body.frequency_penalty,
        "reasoning_effort": body.reasoning.effort if body.reasoning else None,
        "verbosity": body.text.verbosity,
        "prompt_cache_key": body.prompt_cache_key,
        "safety_identifier": body.safety_identifier,
        "user": body.user,
        "service_tier": body.service_tier,
        "parallel_tool_calls": False if has_tools and not body.parallel_tool_calls else None,
        "logprobs": body.wants_logprobs or None,
        "top_logprobs": body.top_logprobs or None,
    }
    text_format = body.text.format
    if text_format.type == "json_object":
        options["response_format"] = {"type": "json_object"}
    elif text_format.type == "json_schema":
        format_fields = {
            "name": text_format.name,
            "schema": text_format.schema_,
            "strict": text_format.strict,
            "description": text_format.description,
        }
        schema_format = {name: value for name, value in format_fields.items() if value is not None}
        options["response_format"] = {"type": "json_schema", "json_schema": schema_format}
    return {name: value for name, value in options.items() if value is not None}

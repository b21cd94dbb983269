"""Encodes the fields that a response repeats from its request, as OpenAI does: with defaults, without
secrets."""

from __future__ import annotations

from typing import Any

import msgspec

from agents.base import redaction
from agents.responses.schemas.requests import CreateResponse
from agents.responses.schemas.tools import McpToolParam, ResponseTool

JSON = dict[str, Any]


def settings_json(body: CreateResponse, *, conversation: str | None) -> bytes:
    """Encode the settings of a request as a JSON object."""
    reasoning = body.reasoning
    return msgspec.json.encode(
        {
            "model": body.model,
            "instructions": body.instructions,
            "previous_response_id": body.previous_response_id,
            "conversation": {"id": conversation} if conversation else None,
            "background": body.background,
            "store": body.store,
            "metadata": body.metadata,
            "tools": [tool_json(tool) for tool in body.tools],
            "tool_choice": _plain(body.tool_choice),
            "parallel_tool_calls": body.parallel_tool_calls,
            "max_tool_calls": body.max_tool_calls,
            "max_output_tokens": body.max_output_tokens,
            "max_infer_iters": body.max_infer_iters,
            **({"budget": body.budget.model_dump(mode="json", exclude_none=True)} if body.budget else {}),
            "guardrails": body.guardrail_ids,
            "temperature": 1.0 if body.temperature is None else body.temperature,
            "top_p": 1.0 if body.top_p is None else body.top_p,
            "top_logprobs": body.top_logprobs,
            "presence_penalty": body.presence_penalty or 0.0,
            "frequency_penalty": body.frequency_penalty or 0.0,
            "reasoning": {
                "effort": reasoning.effort if reasoning else None,
                "summary": (reasoning.summary or reasoning.generate_summary) if reasoning else None,
            },
            "text": {
                "format": body.text.format.model_dump(exclude_none=True, by_alias=True),
                "verbosity": body.text.verbosity or "medium",
            },
            "truncation": body.truncation,
            "service_tier": "default" if body.service_tier in (None, "auto") else body.service_tier,
            "user": body.user,
            "safety_identifier": body.safety_identifier,
            "prompt_cache_key": body.prompt_cache_key,
            "prompt_cache_retention": body.prompt_cache_retention,
            "prompt": body.prompt.model_dump(exclude_none=True) if body.prompt else None,
        }
    )


def _plain(choice: Any) -> Any:
    return choice if isinstance(choice, str) else choice.model_dump(exclude_none=True)


def tool_json(tool: ResponseTool) -> JSON:
    """Return a tool as received; for an MCP server without its secrets and the keys in its URL."""
    if isinstance(tool, McpToolParam):
        public_fields = {
            "type",
            "server_label",
            "server_url",
            "server_description",
            "allowed_tools",
            "require_approval",
        }
        fields = tool.model_dump(include=public_fields, exclude_none=True)
        return {**fields, "server_url": redaction.redacted_url(tool.server_url or "")}
    out: JSON = tool.model_dump(exclude_none=tool.type != "function")
    return out

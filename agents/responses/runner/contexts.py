"""Sums up the context of a response, and counts its tokens, without a response."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import msgspec

from agents.base import ids
from agents.base.reading import read
from agents.loop.inference.base import InferenceRequest, TokenCounter
from agents.loop.progress import RunProgress
from agents.loop.service import Service
from agents.loop.token_estimate import estimated_tokens
from agents.record.store import items as stored_items
from agents.responses.runner import earlier_tools, input
from agents.responses.runner.requests import ResponseRequest
from agents.responses.runner.response_run import response_run
from agents.responses.runner.responses import history_of, with_agent
from agents.responses.store import responses
from agents.responses.wire.items import items_json

JSON = dict[str, Any]


async def messages_of_users(request: ResponseRequest) -> list[JSON]:
    """Return the messages of users in a request's context, those of the response before it first."""
    return await read(_messages_of_users, request)


def _messages_of_users(request: ResponseRequest) -> list[JSON]:
    previous = request.body.previous_response_id
    earlier: list[JSON] = []
    if previous is not None:
        earlier = items_json(stored_items.up_to(responses.get(request.actor, previous, "run")).walk())
    own = input.parse_input(request.body.input).rows
    items = [*earlier, *(msgspec.json.decode(row.wire) for row in own)]
    return [item for item in items if item["type"] == "message" and item["role"] == "user"]


# ---------------------------------------------------------------------------------------------- count


@dataclass(frozen=True, slots=True)
class TokenCount:
    """A number of tokens; ``is_estimated`` where the model's endpoint does not count."""

    tokens: int
    is_estimated: bool


@dataclass(frozen=True, slots=True)
class _Context:
    request: InferenceRequest
    counter: TokenCounter | None


async def count(service: Service, request: ResponseRequest, *, has_model: bool) -> TokenCount:
    """Count the tokens of a request's input. Raises InvalidRequest, NotFound."""
    context = await read(_context, service, request, has_model)
    tokens = await context.counter.count_tokens(context.request) if context.counter is not None else None
    if tokens is not None:
        return TokenCount(tokens, is_estimated=False)
    return TokenCount(estimated_tokens(context.request.messages, context.request.tools), is_estimated=True)


def _context(service: Service, request: ResponseRequest, has_model: bool) -> _Context:
    """Return the inference that a response would begin with; without its endpoint where the request names no model."""
    request = with_agent(service, request)
    parsed = input.parse_input(request.body.input, request.readable)
    target = input.target_of(request.actor, request.body)
    request = replace(request, earlier_tools=earlier_tools.before(request, target))
    run = response_run(service, request, ids.new_key(), target.session or ids.new_key(), parsed.messages)
    progress = RunProgress(replace(run, history=history_of(target, parsed)))
    inference = InferenceRequest(run.inference_model, progress.messages(), progress.available_tools())
    return _Context(inference, run.inference if has_model and isinstance(run.inference, TokenCounter) else None)

"""Sums up the context of a response, and counts its tokens, without a response."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

import msgspec

from agents.base.access import Actor
from agents.base.reading import read
from agents.loop import model_names
from agents.loop.inference.base import InferenceRequest, TokenCounter
from agents.loop.service import Service
from agents.loop.token_estimate import estimated_tokens
from agents.record.schemas.compaction import after_compaction
from agents.record.schemas.items import joined_calls, system_item
from agents.record.store import history
from agents.record.store import items as stored_items
from agents.responses.runner import input, tools
from agents.responses.runner.entries import entries_of
from agents.responses.runner.requests import ResponseRequest, StartedResponse
from agents.responses.runner.responses import begin_response, history_of
from agents.responses.store import responses
from agents.responses.wire.items import items_json
from agents.responses.wire.stream import ResponseStream

JSON = dict[str, Any]


async def summed_up(service: Service, request: ResponseRequest) -> tuple[StartedResponse, ResponseStream]:
    """Run a request that asks for a summary alone, and return it with its end."""
    started = await read(begin_response, service, request)
    encoder = ResponseStream(started.head)
    async with aclosing(entries_of(started)) as batches:
        async for batch in batches:
            encoder.feed(batch)
    return started, encoder


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
    body, providers = request.body, service.providers
    offer = tools.offered_tools(providers, request.actor, body, request.provider_data)
    definitions = [*(tool.definition for tool in offer.server.values()), *offer.client]
    messages = _messages(request.actor, request)
    endpoint, model = model_names.resolve(providers, request.actor, body.model) if has_model else (None, "")
    counter = endpoint if isinstance(endpoint, TokenCounter) else None
    return _Context(InferenceRequest(model, messages, definitions), counter)


def _messages(actor: Actor, request: ResponseRequest) -> Sequence[bytes]:
    """Return what a model would be sent."""
    body = request.body
    parsed = input.parse_input(body.input, request.readable)
    head = [system_item(body.instructions)] if body.instructions else []
    own = history.messages(row.body for row in parsed.rows)
    return joined_calls([*head, *after_compaction([*history_of(input.target_of(actor, body), parsed), *own])])

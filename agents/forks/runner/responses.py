"""Forks of turns of the Responses API: each leg of such a turn was asked for by a request of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from pydantic import ValidationError

from agents.base import ids
from agents.base.access import Actor
from agents.base.errors import InvalidRequest
from agents.forks.schemas.forks import ForkChanges
from agents.record.models.choices import Api
from agents.record.schemas.content import GreedyStrategy, SamplingParams, TopKStrategy
from agents.record.store.new_responses import NewResponse
from agents.record.store.turns import TurnTarget
from agents.responses.schemas.requests import CreateResponse
from agents.responses.store import responses
from agents.responses.store.responses import ResponseRecord
from agents.responses.wire.settings import settings_json

JSON = dict[str, Any]


@dataclass(frozen=True, slots=True)
class SentResponse:
    """A leg with the request it was asked for by."""

    record: ResponseRecord
    request: JSON


def sent_responses(actor: Actor, target: TurnTarget) -> list[SentResponse]:
    """The legs of a turn. Raises InvalidRequest for one that was not run by this API, or not wholly kept."""
    records = responses.of_turn(actor, target.key, "run")
    if not records:
        raise InvalidRequest("This turn was not run here: it cannot be forked.", code="not_forkable")
    if len(records) != target.response_count:
        message = "A response of this turn was deleted: what it asked for is not known any more."
        raise InvalidRequest(message, code="not_forkable")
    return [SentResponse(record, responses.filled_request(record)) for record in records]


def response_index(sent: Sequence[SentResponse], step: int) -> int:
    """The place of the leg that a step belongs to."""
    return max(index for index, response in enumerate(sent) if response.record.first_step <= step)


def changed_request(sent: SentResponse, changes: ForkChanges) -> CreateResponse:
    """A leg's request with what is changed. Raises InvalidRequest for what a response cannot be asked."""
    fields = {
        name: value
        for name, value in (("model", changes.model), ("instructions", changes.instructions))
        if value is not None
    }
    if changes.sampling_params is not None:
        fields |= _sampling(changes.sampling_params)
    try:
        return CreateResponse.model_validate({**sent.request, **fields})
    except ValidationError as error:
        first = error.errors()[0]
        path = ".".join(str(part) for part in first["loc"])
        raise InvalidRequest(f"changes: {path}: {first['msg']}.", param="changes") from error


def _sampling(params: SamplingParams) -> JSON:
    """Sampling parameters as a response is asked for them."""
    path = "changes.sampling_params"
    strategy = params.strategy
    if isinstance(strategy, TopKStrategy):
        raise InvalidRequest(f"{path}.strategy: a response has no top_k.", param=f"{path}.strategy")
    if params.stop or params.repetition_penalty not in (None, 1.0):
        raise InvalidRequest(f"{path}: a response has no stop and no repetition_penalty.", param=path)
    temperature = (
        {"temperature": 0.0, "top_p": None}
        if isinstance(strategy, GreedyStrategy)
        else {"temperature": strategy.temperature, "top_p": strategy.top_p}
    )
    return {**temperature, "max_output_tokens": params.max_tokens or None}


def combined_response(
    sent: Sequence[SentResponse], index: int, body: CreateResponse, changes: ForkChanges
) -> tuple[NewResponse, CreateResponse]:
    """The one leg of a fork: asked as the leg that it was forked in, with the input of the first, and where
    that continued."""
    first = sent[0].request
    own = {name: first.get(name) for name in ("input", "previous_response_id", "conversation")}
    if changes.input is not None:
        own["input"] = changes.input
    request = {**sent[index].request, **body.model_dump(include=_CHANGEABLE, mode="json"), **own}
    request = {name: value for name, value in request.items() if value is not None}
    combined = CreateResponse.model_validate(request)
    settings = msgspec.json.decode(sent[0].record.settings or b"{}")
    conversation = (settings.get("conversation") or {}).get("id")
    settings_text = settings_json(combined, conversation=conversation).decode()
    raw = msgspec.json.encode(request)
    return NewResponse(ids.new_key(), raw, Api.RESPONSES, model=combined.model, settings=settings_text), combined


_CHANGEABLE = {"model", "instructions", "temperature", "top_p", "max_output_tokens"}

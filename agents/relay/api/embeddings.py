"""OpenAI's embeddings: relayed to the endpoint of their model, or computed here."""

from __future__ import annotations

import base64
import struct
from collections.abc import Sequence

import msgspec
from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from agents.base import ids
from agents.base.api.negotiation import json_response, read_json
from agents.base.api.views import ApiView, Awaited, answer
from agents.base.errors import InvalidRequest, ProviderError
from agents.base.schemas.wire import JSON
from agents.loop import embedding_models, model_names, spending
from agents.loop.caller_errors import errors_for_caller
from agents.loop.current_service import service
from agents.loop.inference.base import RelayEndpoint
from agents.loop.spending import ModelNames
from agents.relay.schemas.inference import CreateEmbeddings, Embedding, EmbeddingList, EmbeddingUsage
from agents.relay.wire.chat_completions import usage_of


class EmbeddingCreate(ApiView):
    actions = {"post": "run"}

    @extend_schema(operation_id="create_embeddings", request=CreateEmbeddings, responses=EmbeddingList)
    def post(self, request: Request) -> HttpResponseBase:
        body: CreateEmbeddings = self.body(CreateEmbeddings)
        endpoint, model = model_names.resolve(service().providers, self.actor, body.model)
        return self._relayed(endpoint, model) if isinstance(endpoint, RelayEndpoint) else self._embedded_here(body)

    def _relayed(self, endpoint: RelayEndpoint, model: str) -> HttpResponseBase:
        sent = read_json(self.request._request)
        spender, names = spending.spender_of(self.actor), ModelNames(model, sent["model"])

        async def work() -> HttpResponseBase:
            await spending.check_later(spender, names)
            with errors_for_caller():
                body = msgspec.json.encode({**sent, "model": model})
                answer_fields = _read_embeddings(
                    await endpoint.document("/embeddings", body, model=model), endpoint.name
                )
            await spending.add(spender, names, usage_of(answer_fields), ids.now_us())
            return json_response(msgspec.json.encode({**answer_fields, "model": sent["model"]}))

        return Awaited(work)

    def _embedded_here(self, body: CreateEmbeddings) -> HttpResponseBase:
        inputs = [body.input] if isinstance(body.input, str) else body.input
        texts = [text for text in inputs if isinstance(text, str)]
        if len(texts) != len(inputs):
            raise InvalidRequest("input: this model takes texts, not tokens.", param="input")
        embedding_model = embedding_models.find(service().providers, self.actor, body.model, param="model")

        async def work() -> HttpResponseBase:
            with errors_for_caller():
                vectors = await embedding_model.embed(texts)
            embedding_models.check_dimension(vectors, body.dimensions, param="dimensions")
            token_count = sum(len(text.split()) for text in texts)
            return answer(
                EmbeddingList(
                    data=[
                        Embedding(index=index, embedding=_encode_vector(vector, body.encoding_format))
                        for index, vector in enumerate(vectors)
                    ],
                    model=body.model,
                    usage=EmbeddingUsage(prompt_tokens=token_count, total_tokens=token_count),
                )
            )

        return Awaited(work)


def _encode_vector(vector: Sequence[float], encoding: str) -> list[float] | str:
    """Encode a vector as numbers, or as little-endian 32-bit floats in base64."""
    if encoding == "float":
        return list(vector)
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()


def _read_embeddings(body: bytes, endpoint: str) -> dict[str, JSON]:
    """Decode an endpoint's answer without parsing its vectors. Raises ProviderError for an answer without
    embeddings."""
    try:
        fields: dict[str, JSON] = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
    except (ValueError, RecursionError) as error:
        raise ProviderError(f"{endpoint} sent what cannot be read: {error}", provider=endpoint) from None
    if "data" not in fields:
        raise ProviderError(f"{endpoint} answered without embeddings", provider=endpoint)
    if "usage" in fields:
        fields["usage"] = msgspec.json.decode(fields["usage"])
    return fields

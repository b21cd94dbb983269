"""Finds the embedding model for a name."""

from __future__ import annotations

from collections.abc import Sequence

from agents.base.access import Actor
from agents.base.errors import InvalidRequest, NotFound
from agents.loop import model_names
from agents.loop.protocols.embeddings import EmbeddingModel
from agents.loop.provider_set import Providers


def find(providers: Providers, actor: Actor, name: str, *, param: str) -> EmbeddingModel:
    """Find the embedding model of this name; a name without an endpoint is the default endpoint's. Raises
    NotFound."""
    full_name, models = model_names.full_name(providers, actor, name), providers.embeddings
    model = models.find(full_name) or models.find(f"{providers.endpoints.default}/{full_name}")
    if model is None:
        message = f"Model '{name[:200]}' not found. Use 'client.models.list()' to list available Models."
        raise NotFound(message, code="model_not_found", param=param)
    return model


def check_dimension(vectors: Sequence[Sequence[float]], dimension: int | None, *, param: str) -> None:
    """Raise InvalidRequest if the vectors have another dimension than was requested."""
    if dimension and vectors and len(vectors[0]) != dimension:
        raise InvalidRequest(f"{param}: this model's vectors have {len(vectors[0])} numbers.", param=param)

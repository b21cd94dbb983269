"""The embedding model a name means."""

from __future__ import annotations

from collections.abc import Sequence

from agents.base.access import Actor
from agents.base.errors import InvalidRequest, NotFound
from agents.loop import model_names
from agents.loop.protocols.embeddings import Embeddings
from agents.loop.provider_set import Providers


def find(providers: Providers, actor: Actor, name: str, *, param: str) -> Embeddings:
    """The model of this name; one without an endpoint's name is the default endpoint's. Raises
    NotFound."""
    full, known = model_names.full_name(providers, actor, name), providers.embeddings
    found = known.find(full) or known.find(f"{providers.endpoints.default}/{full}")
    if found is None:
        words = f"Model '{name[:200]}' not found. Use 'client.models.list()' to list available Models."
        raise NotFound(words, code="model_not_found", param=param)
    return found


def check_dimension(vectors: Sequence[Sequence[float]], wanted: int | None, *, param: str) -> None:
    """Raises InvalidRequest when the model's vectors are not as long as was asked for."""
    if wanted and vectors and len(vectors[0]) != wanted:
        raise InvalidRequest(f"{param}: this model's vectors have {len(vectors[0])} numbers.", param=param)

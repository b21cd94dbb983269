"""The model a name means: one of an endpoint, or one registered over the API under another name."""

from __future__ import annotations

from dataclasses import replace

from agents.base.access import Actor
from agents.base.errors import InvalidRequest
from agents.base.store.registered import Registration
from agents.loop.inference.base import InferenceEndpoint, Model
from agents.loop.provider_set import Providers
from agents.loop.schemas.models import RegisterModel
from agents.loop.store.registered_models import registered_models


def full_name(providers: Providers, actor: Actor, name: str) -> str:
    """The name that the endpoints know the model by. Names that begin with an endpoint's are never
    registered, so that nobody can turn them elsewhere, and cost no look."""
    if providers.endpoints.is_qualified(name):
        return name
    row = registered_models.find(actor, name, "run")
    return f"{row.provider}/{row.resource}" if row else name


def resolve(providers: Providers, actor: Actor, name: str) -> tuple[InferenceEndpoint, str]:
    """The endpoint a model name means, and the model's name there."""
    return providers.endpoints.resolve(full_name(providers, actor, name))


def register(providers: Providers, actor: Actor, new: Registration) -> Model:
    """Register a name. Raises InvalidRequest for an endpoint that is none, Conflict for a name that
    is taken."""
    check_new(providers, new)
    if not providers.endpoints.is_qualified(new.identifier):
        registered_models.add(actor, new)
    return _model(new)


def registration(providers: Providers, body: RegisterModel) -> Registration:
    """What a request would register."""
    provider = body.provider_id or providers.endpoints.default
    return Registration(
        identifier=body.model_id,
        provider=provider,
        resource=body.provider_model_id or body.model_id.removeprefix(f"{provider}/"),
        params={"model_type": body.model_type, "metadata": body.metadata},
    )


def check_new(providers: Providers, new: Registration) -> None:
    """Whether it could be registered. Raises InvalidRequest."""
    endpoints = providers.endpoints
    if new.provider not in endpoints.names:
        words = f"provider_id: there is no '{new.provider[:100]}'; there are {', '.join(endpoints.names)}."
        raise InvalidRequest(words, param="provider_id")
    if endpoints.is_qualified(new.identifier) and new.identifier != f"{new.provider}/{new.resource}":
        words = "model_id: a name that begins with an endpoint's name is that endpoint's model."
        raise InvalidRequest(words, param="model_id")


def embedded(providers: Providers) -> list[Model]:
    """The embedding model that is always there."""
    found = providers.embeddings.find(EMBEDDED)
    if found is None:
        return []
    provider, _, resource = EMBEDDED.partition("/")
    return [Model(EMBEDDED, provider, resource, "embedding", metadata={"embedding_dimension": found.dimension})]


EMBEDDED = "scripted/embed"


def listing(actor: Actor) -> list[Model]:
    """What was registered and the actor may see."""
    return [_model(row) for row in registered_models.listing(actor)]


def _model(row: Registration) -> Model:
    made = Model(row.identifier, row.provider, row.resource, metadata=row.params.get("metadata") or {})
    return replace(made, kind="embedding") if row.params.get("model_type") == "embedding" else made

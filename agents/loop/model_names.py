"""Resolves a model's name: an endpoint's own name, or another name that was registered over the API."""

from __future__ import annotations

from dataclasses import replace

from agents.base.access import Actor
from agents.base.errors import InvalidRequest, NotFound
from agents.base.store.registered import Registration
from agents.loop import agent_names
from agents.loop.inference.base import InferenceEndpoint, Model
from agents.loop.provider_set import Providers
from agents.loop.schemas.models import RegisterModel
from agents.loop.store.registered_models import registered_models


def full_name(providers: Providers, actor: Actor, name: str) -> str:
    """Return the name that the endpoints know the model by. A name that begins with an endpoint's name is
    never registered, so that nobody can redirect it, and needs no query."""
    if providers.endpoints.is_qualified(name):
        return name
    row = registered_models.find(actor, name, "run")
    return f"{row.provider}/{row.resource}" if row else name


def resolve(providers: Providers, actor: Actor, name: str) -> tuple[InferenceEndpoint, str]:
    """Return the endpoint for a model's name, and the model's name there. Raises NotFound for the name of an agent:
    where agents are models, it was looked at before."""
    if agent_names.is_agent(providers, name):
        models_of = "chat completions, messages and responses"
        message = f"Model '{name[:200]}' not found here: agents are models of {models_of} alone."
        raise NotFound(message, param="model", code="model_not_found")
    return providers.endpoints.resolve(full_name(providers, actor, name))


def recorded(name: str, endpoint: InferenceEndpoint, model: str) -> str:
    """Return the name that is recorded of a model that was asked for by ``name`` and is ``model`` at its endpoint: the
    one in the list of models, also where the default endpoint was left out; a name that was registered as it is."""
    return f"{endpoint.name}/{model}" if name == model else name


def names_recorded(providers: Providers, name: str) -> tuple[str, ...]:
    """Return the names that a model which is asked for by ``name`` may have been recorded by."""
    endpoints = providers.endpoints
    return (name,) if endpoints.is_qualified(name) else (name, f"{endpoints.default}/{name}")


def register(providers: Providers, actor: Actor, new: Registration) -> Model:
    """Register a name. Raises InvalidRequest for an unknown endpoint, Conflict for a name that is taken."""
    check_new(providers, new)
    if not providers.endpoints.is_qualified(new.identifier):
        registered_models.add(actor, new)
    return _model(new)


def registration(providers: Providers, body: RegisterModel) -> Registration:
    """Return the registration for a request."""
    provider = body.provider_id or providers.endpoints.default
    return Registration(
        identifier=body.model_id,
        provider=provider,
        resource=body.provider_model_id or body.model_id.removeprefix(f"{provider}/"),
        params={"model_type": body.model_type, "metadata": body.metadata},
    )


def check_new(providers: Providers, new: Registration) -> None:
    """Check whether a name can be registered. Raises InvalidRequest."""
    endpoints = providers.endpoints
    if new.provider not in endpoints.names:
        message = f"provider_id: there is no '{new.provider[:100]}'; there are {', '.join(endpoints.names)}."
        raise InvalidRequest(message, param="provider_id")
    if agent_names.is_agent(providers, new.identifier):
        raise InvalidRequest("model_id: a name that begins with agent/ is an agent's.", param="model_id")
    if endpoints.is_qualified(new.identifier) and new.identifier != f"{new.provider}/{new.resource}":
        message = "model_id: a name that begins with an endpoint's name is that endpoint's model."
        raise InvalidRequest(message, param="model_id")


def built_in_embeddings(providers: Providers) -> list[Model]:
    """Return the built-in embedding model as a list, empty without one."""
    embedding_model = providers.embeddings.find(BUILT_IN_EMBEDDINGS)
    if embedding_model is None:
        return []
    provider, _, resource = BUILT_IN_EMBEDDINGS.partition("/")
    return [
        Model(
            BUILT_IN_EMBEDDINGS,
            provider,
            resource,
            "embedding",
            metadata={"embedding_dimension": embedding_model.dimension},
        )
    ]


BUILT_IN_EMBEDDINGS = "scripted/embed"


def listing(actor: Actor) -> list[Model]:
    """List the registered models that the actor may see."""
    return [_model(row) for row in registered_models.listing(actor)]


def _model(row: Registration) -> Model:
    model = Model(row.identifier, row.provider, row.resource, metadata=row.params.get("metadata") or {})
    return replace(model, kind="embedding") if row.params.get("model_type") == "embedding" else model

"""Builds the providers that the settings configure: model endpoints, embedding models, and those of the subjects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from agents.loop.embeddings.registry import EmbeddingModels
from agents.loop.extensions import extensions
from agents.loop.inference.chat.request import GRAMMAR_FIELDS
from agents.loop.inference.openai_compatible import EndpointConfig
from agents.loop.inference.registry import Endpoints
from agents.loop.provider_set import Providers, build_providers

MAX_TOKENS_FIELDS = ("max_tokens", "max_completion_tokens")


def configured_endpoints() -> Endpoints:
    """Return the model endpoints of the settings."""
    return Endpoints.from_config(_endpoint_configs(), settings.DEFAULT_ENDPOINT or None)


def _endpoint_configs() -> dict[str, EndpointConfig]:
    configured = {
        name: EndpointConfig(
            base_url=str(raw.get("base_url", "")),
            api_key=raw.get("api_key") or None,
            max_tokens_field=_choice(name, raw, "max_tokens_field", MAX_TOKENS_FIELDS) or "max_tokens",
            grammars=_choice(name, raw, "grammars", tuple(GRAMMAR_FIELDS)),
            messages=_choice(name, raw, "messages", ("bearer", "x-api-key")),
        )
        for name, raw in settings.MODEL_ENDPOINTS.items()
    }
    if settings.OPENAI_BASE_URL or settings.OPENAI_API_KEY:
        base_url = settings.OPENAI_BASE_URL or "https://api.openai.com/v1"
        configured["openai"] = EndpointConfig(base_url=base_url, api_key=settings.OPENAI_API_KEY or None)
    return configured


def _choice(endpoint: str, raw: Mapping[str, object], name: str, choices: Sequence[str]) -> str:
    """Return what a field of an endpoint says; empty where it says nothing."""
    value = raw.get(name) or ""
    if value and value not in choices:
        raise ImproperlyConfigured(f"MODEL_ENDPOINTS: {endpoint}: {name} is {' or '.join(choices)}")
    return str(value)


def configured_providers(models: Endpoints, pace: float = 1.0) -> Providers:
    """Return all providers of this server. With ``pace`` 0 scripted providers answer at once. Raises
    ImproperlyConfigured."""
    embeddings = configured_embedding_models()
    added = [make(models, embeddings, pace) for make in extensions.make_providers.values()]
    return build_providers(models, embeddings, added, tool_timeout_s=settings.TOOL_TIMEOUT_S)


def configured_embedding_models() -> EmbeddingModels:
    """Return the embedding models of the settings. Raises ImproperlyConfigured."""
    try:
        return EmbeddingModels(_endpoint_configs(), settings.EMBEDDING_MODEL)
    except ValueError as error:
        raise ImproperlyConfigured(str(error)) from error

"""Builds the providers that the settings configure: model endpoints, embedding models, and those of the subjects."""

from __future__ import annotations

from collections.abc import Mapping

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from agents.loop.embeddings.registry import EmbeddingModels
from agents.loop.extensions import extensions
from agents.loop.inference.openai_compatible import EndpointConfig
from agents.loop.inference.registry import Endpoints
from agents.loop.provider_set import Providers, build_providers


def configured_endpoints() -> Endpoints:
    """Return the model endpoints of the settings."""
    return Endpoints.from_config(_endpoint_configs(), settings.DEFAULT_ENDPOINT or None)


def _endpoint_configs() -> dict[str, EndpointConfig]:
    configured = {
        name: EndpointConfig(
            base_url=str(raw.get("base_url", "")),
            api_key=raw.get("api_key") or None,
            max_tokens_field=_max_tokens_field(name, raw),
        )
        for name, raw in settings.MODEL_ENDPOINTS.items()
    }
    if settings.OPENAI_BASE_URL or settings.OPENAI_API_KEY:
        base_url = settings.OPENAI_BASE_URL or "https://api.openai.com/v1"
        configured["openai"] = EndpointConfig(base_url=base_url, api_key=settings.OPENAI_API_KEY or None)
    return configured


def _max_tokens_field(endpoint: str, raw: Mapping[str, object]) -> str:
    field = raw.get("max_tokens_field") or "max_tokens"
    if field not in ("max_tokens", "max_completion_tokens"):
        message = f"MODEL_ENDPOINTS: {endpoint}: max_tokens_field is max_tokens or max_completion_tokens"
        raise ImproperlyConfigured(message)
    return str(field)


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

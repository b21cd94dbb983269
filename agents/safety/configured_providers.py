"""Create from the settings: shields."""

from __future__ import annotations

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from agents.base.errors import InvalidRequest
from agents.loop.embeddings.registry import EmbeddingModels
from agents.loop.inference.registry import Endpoints
from agents.loop.protocols.shields import ShieldSpec
from agents.loop.provider_set import SubjectProviders
from agents.safety.providers.registry import PROVIDERS, ShieldRegistry

DEMO_SHIELD = "demo_guard"


def make_providers(models: Endpoints, embeddings: EmbeddingModels, pace: float) -> SubjectProviders:
    """Create the subject's providers. Raises ImproperlyConfigured."""
    return SubjectProviders(parts=(shields(models, pace),))


def shields(models: Endpoints, pace: float) -> ShieldRegistry:
    """The shields of the settings, and the demo's unless its name is taken. Raises
    ImproperlyConfigured for one that could not check."""
    specs = {name: _shield(name, raw) for name, raw in settings.SHIELDS.items()}
    specs.setdefault(DEMO_SHIELD, ShieldSpec(DEMO_SHIELD, "scripted", DEMO_SHIELD))
    registry, instances = ShieldRegistry(models, pace=pace), {}
    for name, spec in specs.items():
        try:
            instances[name] = registry.make(spec)
        except InvalidRequest as error:
            raise ImproperlyConfigured(f"SHIELDS: {name}: {error.message}") from error
    return ShieldRegistry(models, specs, instances, pace)


def _shield(name: str, raw: object) -> ShieldSpec:
    """``{"provider": …, "model": "endpoint/model", …}``; all else are the provider's parameters."""
    if not isinstance(raw, dict) or raw.get("provider") not in PROVIDERS:
        message = f"SHIELDS: {name}: an object with a provider is needed, one of {', '.join(PROVIDERS)}"
        raise ImproperlyConfigured(message)
    params = {key: value for key, value in raw.items() if key not in ("provider", "model")}
    return ShieldSpec(name, raw["provider"], str(raw.get("model", "")), params)

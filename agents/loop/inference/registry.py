"""The configured endpoints by name: resolves a model's name to its endpoint, and lists all models.

It is built from plain values and reads no settings.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass

from agents.base.errors import ProviderError
from agents.loop.inference.base import InferenceEndpoint, Model
from agents.loop.inference.openai_compatible import EndpointConfig, OpenAICompatible
from agents.loop.inference.scripted import ScriptedEndpoint

SCRIPTED = "scripted"
LATE_S = 60.0
"""How long an endpoint that was too late with the list of its models is not asked for it by those who cannot wait."""


@dataclass(frozen=True, slots=True)
class ModelCatalogue:
    """The models of all endpoints: ``models`` of those that answered, in the order of configuration;
    ``errors`` of the others, by the endpoint's name."""

    models: list[Model]
    errors: dict[str, ProviderError]


class Endpoints:
    """Endpoints under names without a slash; ``default`` is one of them. Raises ValueError."""

    def __init__(self, endpoints: Mapping[str, InferenceEndpoint], default: str) -> None:
        for name in endpoints:
            if not name or "/" in name:
                raise ValueError(f"an endpoint cannot be named {name!r}")
        if default not in endpoints:
            raise ValueError(f"the default endpoint {default!r} is none of {', '.join(endpoints)}")
        self._endpoints = dict(endpoints)
        self._late: dict[str, float] = {}  # when those that were too late may be asked again
        self.default = default

    @classmethod
    def from_config(cls, endpoints: Mapping[str, EndpointConfig], default: str | None = None) -> Endpoints:
        """Create the configured endpoints, and the scripted one unless its name is taken. The default
        ``default`` is the first configured endpoint; without any, the scripted one."""
        built: dict[str, InferenceEndpoint] = {
            name: OpenAICompatible(name, config) for name, config in endpoints.items()
        }
        built.setdefault(SCRIPTED, ScriptedEndpoint(SCRIPTED))
        return cls(built, default or next(iter(built)))

    @property
    def names(self) -> list[str]:
        return list(self._endpoints)

    def is_qualified(self, model: str) -> bool:
        """Whether a model's name begins with the name of an endpoint."""
        name, _, model_name = model.partition("/")
        return bool(model_name) and name in self._endpoints

    def resolve(self, model: str) -> tuple[InferenceEndpoint, str]:
        """Return the endpoint of a model's name, and the model's name there. The first segment counts only
        where it is an endpoint's name: ``meta-llama/Llama-3`` is a model of the default endpoint."""
        name, _, model_name = model.partition("/")
        if model_name and name in self._endpoints:
            return self._endpoints[name], model_name
        return self._endpoints[self.default], model

    async def all_models(self, patience_s: float | None = None) -> ModelCatalogue:
        """List the models of all endpoints concurrently; an endpoint that fails lacks only its own. With
        ``patience_s`` none is waited for longer than that, and one that was too late is not asked again for a while."""
        answers = await asyncio.gather(*(self._models(name, patience_s) for name in self._endpoints))
        answers_by_name = list(zip(self._endpoints, answers, strict=True))
        return ModelCatalogue(
            models=[model for answer in answers if isinstance(answer, list) for model in answer],
            errors={name: answer for name, answer in answers_by_name if isinstance(answer, ProviderError)},
        )

    async def _models(self, name: str, patience_s: float | None) -> list[Model] | ProviderError:
        endpoint = self._endpoints[name]
        if patience_s is None:
            return await _models_or_error(endpoint)
        late = ProviderError(f"{name} did not list its models in time.", provider=name, code="timeout", retryable=True)
        if self._late.get(name, 0.0) > time.monotonic():
            return late
        try:
            async with asyncio.timeout(patience_s):
                return await _models_or_error(endpoint)
        except TimeoutError:
            self._late[name] = time.monotonic() + LATE_S
            return late

    async def close(self) -> None:
        """Close all endpoints."""
        await asyncio.gather(*(endpoint.close() for endpoint in self._endpoints.values()))


async def _models_or_error(endpoint: InferenceEndpoint) -> list[Model] | ProviderError:
    try:
        return await endpoint.models()
    except ProviderError as error:
        return error

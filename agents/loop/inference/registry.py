"""The configured endpoints, by name: which one a model name means, and what all of them offer.

Built from plain values; where they come from is not known here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

from agents.base.errors import ProviderError
from agents.loop.inference.base import Inference, Model
from agents.loop.inference.chat.timeouts import Limits, Retries
from agents.loop.inference.openai_compatible import OpenAICompatible
from agents.loop.inference.scripted import Scripted

SCRIPTED = "scripted"


@dataclass(frozen=True, slots=True)
class EndpointConfig:
    """An OpenAI-compatible endpoint. ``base_url`` as its makers give it, mostly with ``/v1``.
    ``max_tokens_field`` is ``max_completion_tokens`` where models refuse ``max_tokens``."""

    base_url: str
    api_key: str | None = field(default=None, repr=False)
    limits: Limits = field(default_factory=Limits)
    retries: Retries = field(default_factory=Retries)
    max_tokens_field: str = "max_tokens"


@dataclass(frozen=True, slots=True)
class Catalogue:
    """``models`` of the endpoints that answered, in the order of configuration; ``errors`` of the
    others, by name."""

    models: list[Model]
    errors: dict[str, ProviderError]


class Endpoints:
    """Endpoints under names without a slash; ``default`` is one of them. Raises ValueError."""

    def __init__(self, endpoints: Mapping[str, Inference], default: str) -> None:
        for name in endpoints:
            if not name or "/" in name:
                raise ValueError(f"an endpoint cannot be named {name!r}")
        if default not in endpoints:
            raise ValueError(f"the default endpoint {default!r} is none of {', '.join(endpoints)}")
        self._endpoints = dict(endpoints)
        self.default = default

    @classmethod
    def from_config(cls, endpoints: Mapping[str, EndpointConfig], default: str | None = None) -> Endpoints:
        """The configured endpoints, and the scripted one unless its name is taken. Without a
        ``default`` it is the first configured one; without any, the scripted one."""
        built: dict[str, Inference] = {name: _built(name, config) for name, config in endpoints.items()}
        built.setdefault(SCRIPTED, Scripted(SCRIPTED))
        return cls(built, default or next(iter(built)))

    @property
    def names(self) -> list[str]:
        return list(self._endpoints)

    def is_qualified(self, model: str) -> bool:
        """Whether a model's name begins with the name of an endpoint."""
        name, _, rest = model.partition("/")
        return bool(rest) and name in self._endpoints

    def resolve(self, model: str) -> tuple[Inference, str]:
        """The endpoint a model name means, and the model's name there. The first segment counts
        only where it is an endpoint's name: ``meta-llama/Llama-3`` is one model of the default."""
        name, _, rest = model.partition("/")
        if rest and name in self._endpoints:
            return self._endpoints[name], rest
        return self._endpoints[self.default], model

    async def all_models(self) -> Catalogue:
        """Ask all endpoints at once; a dead one costs only its own models."""
        answers = await asyncio.gather(*map(_models_or_error, self._endpoints.values()))
        named = list(zip(self._endpoints, answers, strict=True))
        return Catalogue(
            models=[model for answer in answers if isinstance(answer, list) for model in answer],
            errors={name: answer for name, answer in named if isinstance(answer, ProviderError)},
        )

    async def close(self) -> None:
        """Close all endpoints."""
        await asyncio.gather(*(endpoint.close() for endpoint in self._endpoints.values()))


def _built(name: str, config: EndpointConfig) -> OpenAICompatible:
    return OpenAICompatible(
        name,
        config.base_url,
        config.api_key,
        limits=config.limits,
        retries=config.retries,
        max_tokens_field=config.max_tokens_field,
    )


async def _models_or_error(endpoint: Inference) -> list[Model] | ProviderError:
    try:
        return await endpoint.models()
    except ProviderError as error:
        return error

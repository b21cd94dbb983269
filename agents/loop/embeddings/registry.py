"""The embedding models by the names that callers use.

``scripted/embed`` always exists; ``endpoint/model`` is any model of a configured endpoint. Any other name is
accepted where a database is registered and means keyword search only, or the server's default model where
the operator has set one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from agents.loop.embeddings.openai_compatible import EmbeddingEndpoint, OpenAIEmbeddings
from agents.loop.embeddings.scripted import ScriptedEmbeddings
from agents.loop.inference.openai_compatible import EndpointConfig
from agents.loop.protocols.embeddings import EmbeddingModel

KEYWORD = "keyword"
"""The name for keyword search without a model."""


class EmbeddingModels:
    """The embedding models of a process. ``default`` (a full name, or empty) serves all other names."""

    def __init__(self, endpoints: Mapping[str, EndpointConfig] | None = None, default: str = "") -> None:
        self._endpoints = {
            name: EmbeddingEndpoint(name, config.base_url, config.api_key) for name, config in (endpoints or {}).items()
        }
        self._scripted = ScriptedEmbeddings()
        self.default = default
        if default and self.find(default) is None:
            raise ValueError(f"EMBEDDING_MODEL: {default!r} must be endpoint/model of a configured endpoint")

    def find(self, name: str) -> EmbeddingModel | None:
        """Find the model of exactly this name; None where there is none."""
        if name == self._scripted.name:
            return self._scripted
        name, _, model = name.partition("/")
        endpoint = self._endpoints.get(name)
        return OpenAIEmbeddings(endpoint, model) if endpoint and model else None

    def resolve(self, name: str) -> EmbeddingModel | None:
        """Return the model of a database that was registered with this name; None for keyword search only."""
        if name == KEYWORD:
            return None
        return self.find(name) or (self.find(self.default) if self.default else None)

    async def close(self) -> None:
        """Close all connections."""
        await asyncio.gather(*(endpoint.close() for endpoint in self._endpoints.values()))

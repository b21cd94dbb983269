"""The embedding models there are, by the names callers use.

``scripted/embed`` is always there; ``endpoint/model`` is any model of a configured endpoint. Any other
name is accepted where a database is registered, and means: words alone, or the server's own model where
the operator has named one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from agents.loop.embeddings.openai_compatible import EmbeddingEndpoint, OpenAIEmbeddings
from agents.loop.embeddings.scripted import ScriptedEmbeddings
from agents.loop.inference.registry import EndpointConfig
from agents.loop.protocols.embeddings import EmbeddingModel

KEYWORD = "keyword"
"""The name for no model at all."""


class EmbeddingModels:
    """``default`` (a full name, or empty) serves names that are none of ours."""

    def __init__(self, endpoints: Mapping[str, EndpointConfig] | None = None, default: str = "") -> None:
        self._endpoints = {
            name: EmbeddingEndpoint(name, config.base_url, config.api_key) for name, config in (endpoints or {}).items()
        }
        self._scripted = ScriptedEmbeddings()
        self.default = default
        if default and self.find(default) is None:
            raise ValueError(f"EMBEDDING_MODEL: {default!r} must be endpoint/model of a configured endpoint")

    def find(self, name: str) -> EmbeddingModel | None:
        """The model of exactly this name; None where there is none."""
        if name == self._scripted.name:
            return self._scripted
        name, _, model = name.partition("/")
        endpoint = self._endpoints.get(name)
        return OpenAIEmbeddings(endpoint, model) if endpoint and model else None

    def resolve(self, name: str) -> EmbeddingModel | None:
        """The model that serves a database registered with this name; None: words alone."""
        if name == KEYWORD:
            return None
        return self.find(name) or (self.find(self.default) if self.default else None)

    async def close(self) -> None:
        """Close all connections."""
        await asyncio.gather(*(endpoint.close() for endpoint in self._endpoints.values()))

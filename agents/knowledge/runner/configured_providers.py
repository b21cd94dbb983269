"""Create from the settings: the library, its tools, and places that turns retrieve from."""

from __future__ import annotations

from functools import partial

from django.conf import settings

from agents.knowledge.providers.memory import scripted
from agents.knowledge.providers.memory.fetcher import Fetcher
from agents.knowledge.runner import rag
from agents.knowledge.runner.knowledge_base import Library
from agents.loop.embeddings.registry import EmbeddingModels
from agents.loop.inference.registry import Endpoints
from agents.loop.provider_set import SubjectProviders


def make_providers(models: Endpoints, embeddings: EmbeddingModels, pace: float) -> SubjectProviders:
    library = Library(embeddings, Fetcher(allow_private=settings.FETCH_ALLOW_PRIVATE))
    policies = scripted.PolicyMemory(takes_s=0.25 * pace)
    return SubjectProviders(
        tools={rag.GROUP: rag.group(library)},
        retrievers={
            scripted.GROUP: lambda actor, session, args: policies,
            rag.MEMORY_GROUP: partial(rag.session_memory, library),
        },
        parts=(library,),
    )

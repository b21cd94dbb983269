"""How knowledge joins the server: documents, files and databases for turns and responses."""

from __future__ import annotations

from agents.base.lazy_import import LazyFunction
from agents.loop.background import backgrounds
from agents.loop.extensions import extensions as loop
from agents.responses.runner.extensions import extensions as responses


def install() -> None:
    backgrounds["knowledge"] = LazyFunction("agents.knowledge.runner.background.KnowledgeBackground")
    loop.make_providers["knowledge"] = LazyFunction("agents.knowledge.runner.configured_providers.make_providers")
    loop.service_parts["knowledge"] = LazyFunction("agents.knowledge.runner.indexing.indexer")
    loop.document_text = LazyFunction("agents.knowledge.runner.turn_documents.context")
    loop.slow_documents = LazyFunction("agents.knowledge.runner.turn_documents.documents")
    responses.file_search = LazyFunction("agents.knowledge.runner.file_search_tool.file_search_tool")
    responses.read_part = LazyFunction("agents.knowledge.runner.response_files.read_part")

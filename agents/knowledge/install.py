"""How knowledge joins the server: documents, files and databases for turns and responses; a session's go with it."""

from __future__ import annotations

from agents.base.later import later
from agents.knowledge.store import vector_dbs
from agents.loop.background import backgrounds
from agents.loop.extensions import extensions as loop
from agents.record.store import attached
from agents.record.store.attached import Attached
from agents.responses.runner.extensions import extensions as responses


def install() -> None:
    backgrounds["knowledge"] = later("agents.knowledge.runner.background.Background")
    attached.add("knowledge", Attached(sessions=vector_dbs.drop_of_sessions))
    loop.equip["knowledge"] = later("agents.knowledge.runner.equipment.equip")
    loop.service_parts["knowledge"] = later("agents.knowledge.runner.indexing.indexer")
    loop.document_text = later("agents.knowledge.runner.turn_documents.context")
    loop.slow_documents = later("agents.knowledge.runner.turn_documents.documents")
    responses.file_search = later("agents.knowledge.runner.file_search_tool.file_search_tool")
    responses.read_part = later("agents.knowledge.runner.response_files.read_part")

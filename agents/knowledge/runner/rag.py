"""Retrieval for a model: the tools of ``builtin::rag``, and the memory that is asked before the model is.

What is found becomes text in the words Llama Stack 0.2.12 uses.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from pydantic import ValidationError

from agents.base import ids
from agents.base.access import Actor
from agents.base.errors import AgentsError, InvalidRequest
from agents.knowledge.runner.knowledge_base import Library
from agents.knowledge.schemas.vector_dbs import PLACEHOLDER, QueryConfig, RagDocument
from agents.knowledge.store import vector_dbs
from agents.knowledge.store.retrieval import RetrievedChunk
from agents.knowledge.store.vector_dbs import VectorDBRecord
from agents.loop.protocols.retrieval import RetrievedContext
from agents.loop.protocols.tools import Repeat, ServerToolGroup, Tool, ToolContext, ToolResult, failure
from agents.record.schemas.content import Content, TextItem, ToolDef, ToolParameter

GROUP, MEMORY_GROUP = "builtin::rag", "builtin::memory"
CHUNK_TOKENS = 512


@dataclass(frozen=True, slots=True)
class RetrievalResult:
    """What was found as content for a model (None when nothing was), and where it came from."""

    content: Content | None
    chunks: Sequence[RetrievedChunk]

    @property
    def metadata(self) -> dict[str, Any]:
        return {
            "document_ids": [chunk.document_id for chunk in self.chunks],
            "chunks": [chunk.text for chunk in self.chunks],
            "scores": [chunk.score for chunk in self.chunks],
        }


async def answer(
    library: Library, dbs: Sequence[VectorDBRecord], question: str, config: QueryConfig
) -> RetrievalResult:
    """Search, and put what fits into ``max_tokens_in_context`` into words. Raises ProviderError."""
    chunks = _fit_tokens(await library.search_all(dbs, question, config), config.max_tokens_in_context)
    if not chunks:
        return RetrievalResult(None, [])
    parts = [f"knowledge_search tool found {len(chunks)} chunks:\nBEGIN of knowledge_search tool results.\n"]
    parts += [render_chunk(config.chunk_template, index, chunk) for index, chunk in enumerate(chunks, start=1)]
    parts += [
        "END of knowledge_search tool results.\n",
        f'The above results were retrieved to help answer the user\'s query: "{question}". '
        "Use them as supporting information only in answering this query.\n",
    ]
    return RetrievalResult([TextItem(text=part) for part in parts], chunks)


def _fit_tokens(chunks: Sequence[RetrievedChunk], tokens: int) -> list[RetrievedChunk]:
    """The best ones that together have no more tokens; one that alone has more is left out."""
    fitting: list[RetrievedChunk] = []
    for chunk in chunks:
        tokens -= chunk.tokens
        if tokens < 0:
            break
        fitting.append(chunk)
    return fitting


def render_chunk(template: str, index: int, chunk: RetrievedChunk) -> str:
    """A chunk by its template. No ``str.format``: a template is somebody else's, and could look around."""
    metadata = json.dumps(dict(chunk.metadata), ensure_ascii=False)
    values = {"index": str(index), "chunk.content": chunk.text, "metadata": metadata}
    return PLACEHOLDER.sub(lambda match: values.get(match[1], match[0]), template)


def config_of(arguments: Mapping[str, Any]) -> QueryConfig:
    """The query's settings among a group's args: at the top, or in ``query_config``. Raises
    InvalidRequest."""
    inner = arguments.get("query_config")
    fields = {name: value for name, value in arguments.items() if name in QueryConfig.model_fields}
    try:
        return QueryConfig.model_validate({**(inner if isinstance(inner, dict) else {}), **fields})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        path = ".".join(map(str, first["loc"]))
        raise InvalidRequest(f"{path}: {first['msg']}", param="toolgroups") from error


def names_of(arguments: Mapping[str, Any]) -> list[str]:
    """The databases that args name: a list, or a text with commas."""
    value = arguments.get("vector_db_ids") or arguments.get("vector_db_id") or []
    names = value.split(",") if isinstance(value, str) else value if isinstance(value, list) else []
    return [str(name).strip() for name in names if str(name).strip()][:100]


async def databases(library: Library, actor: Actor, names: Sequence[str], session: int | None) -> list[VectorDBRecord]:
    """Those named, and the session's own. Raises NotFound."""
    dbs = [await library.find(actor, name) for name in names]
    session_db = await library.of_session(session) if session is not None else None
    return [*dbs, session_db] if session_db and session_db.key not in {db.key for db in dbs} else dbs


# ------------------------------------------------------------------------------------------------ tools


_SEARCH = ToolDef(
    name="knowledge_search",
    description="Search for information in a database.",
    parameters=[
        ToolParameter(
            name="query",
            parameter_type="string",
            description="The query to search for. Can be a natural language sentence or keywords.",
        )
    ],
)
_INSERT = ToolDef(
    name="insert_into_memory",
    description="Insert documents into memory",
    parameters=[
        ToolParameter(name="content", parameter_type="string", description="The text to remember."),
        ToolParameter(
            name="metadata", parameter_type="object", description="What else is known of it.", required=False
        ),
    ],
)


@dataclass(frozen=True, slots=True)
class KnowledgeSearch:
    """Searches the databases of its group's args, and the session's own. It acts for ``actor``."""

    library: Library
    actor: Actor | None = None
    group: str = GROUP
    definition: ToolDef = _SEARCH
    repeat: Repeat = "read"

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> ToolResult:
        question = str(arguments.get("query") or "").strip()
        if not question or self.actor is None:
            return failure("query: say what to look for.")
        try:
            session = ids.parse(ids.Kind.SESSION, context.session_id)
            dbs = await databases(self.library, self.actor, names_of(arguments), session)
            if not dbs:
                return failure("No vector DBs were provided to the knowledge search tool, and the session has none.")
            result = await answer(self.library, dbs, question, config_of(arguments))
        except AgentsError as error:
            return failure(error.message)
        return ToolResult(result.content or "knowledge_search tool found nothing.", metadata=result.metadata)


@dataclass(frozen=True, slots=True)
class InsertIntoMemory:
    """Remembers a text in the session's own database."""

    library: Library
    actor: Actor | None = None
    group: str = GROUP
    definition: ToolDef = _INSERT
    repeat: Repeat = "write"

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> ToolResult:
        session = ids.parse(ids.Kind.SESSION, context.session_id)
        content, metadata = arguments.get("content"), arguments.get("metadata") or {}
        if not isinstance(content, str) or not content.strip() or not isinstance(metadata, dict):
            return failure("content: a text is needed; metadata: an object.")
        if session is None or self.actor is None:
            return failure("There is no session to remember it in.")
        try:
            db = await self.library.of_session(session, make=True)
            assert db is not None  # it was made
            name = str(metadata.get("document_id") or f"memory-{ids.public(ids.Kind.ITEM, ids.new_key())}")[:255]
            document = RagDocument(document_id=name, content=[TextItem(text=content)], metadata=metadata)
            await self.library.insert(db, [document], CHUNK_TOKENS)
        except AgentsError as error:
            return failure(error.message)
        return ToolResult(f"Remembered as '{name}'.", metadata={"document_id": name})


def group(library: Library) -> ServerToolGroup:
    """Both tools, acting for nobody yet: they look into what belongs to somebody."""
    return ServerToolGroup(GROUP, tools=_tools(library), bind=partial(_tools, library))


def _tools(library: Library, actor: Actor | None = None) -> Sequence[Tool]:
    return KnowledgeSearch(library, actor), InsertIntoMemory(library, actor)


# ----------------------------------------------------------------------------------------------- memory


@dataclass(frozen=True, slots=True)
class SessionMemory:
    """The memory of group ``builtin::memory``: its args' databases and the session's own, searched
    before the first inference."""

    library: Library
    actor: Actor
    session: int
    args: Mapping[str, Any] = field(default_factory=dict)

    async def retrieve(self, query: str) -> RetrievedContext:
        dbs = await databases(self.library, self.actor, names_of(self.args), self.session)
        if not dbs or not query.strip():
            return RetrievedContext(context="", vector_db_ids=_joined(dbs))
        config = config_of(self.args)
        retrieved = _fit_tokens(await self.library.search_all(dbs, query, config), config.max_tokens_in_context)
        parts = [render_chunk(config.chunk_template, index, chunk) for index, chunk in enumerate(retrieved, start=1)]
        chunks = [
            {"document_id": chunk.document_id, "score": round(chunk.score, 4), "content": chunk.text}
            for chunk in retrieved
        ]
        return RetrievedContext(context="\n".join(parts), vector_db_ids=_joined(dbs), chunks=chunks)


def session_memory(library: Library, actor: Actor, session: int, args: Mapping[str, Any]) -> SessionMemory:
    """Raises InvalidRequest for args that cannot be, NotFound for a database the actor does not see."""
    config_of(args)
    for name in names_of(args):
        vector_dbs.get(actor, name, "run")
    return SessionMemory(library, actor, session, args)


def _joined(dbs: Sequence[VectorDBRecord]) -> str:
    return ",".join(db.identifier for db in dbs)

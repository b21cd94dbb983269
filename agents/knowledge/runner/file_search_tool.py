"""The tool ``file_search`` of a response: the model asks, the files of vector stores answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from agents.base.access import Actor
from agents.base.errors import AgentsError
from agents.knowledge.runner import file_search
from agents.knowledge.runner.file_search import FileQuery, FileSearchHit
from agents.knowledge.runner.knowledge_base import Library
from agents.knowledge.schemas.filters import Filter, parse
from agents.loop.protocols.tools import HostedTool, Repeat, ToolContext, ToolResult, failure
from agents.loop.provider_set import Providers
from agents.record.schemas.content import ToolDef, ToolParameter
from agents.responses.schemas.tools import FileSearchTool
from agents.responses.wire import citations

NAME = "knowledge_search"
_DEFINITION = ToolDef(
    name=NAME,
    description="Search for information in the files of this conversation.",
    parameters=[ToolParameter(name="query", parameter_type="string", description="What to search for")],
)
_CITE = (
    "Cite the files you used by their marks, such as <|file-id|>, right behind what you took from them, "
    "without brackets or further words."
)


@dataclass(frozen=True, slots=True)
class FileSearch:
    """Searches what the actor may see, with the filters of the request."""

    library: Library
    actor: Actor
    params: FileSearchTool
    filters: Filter | None = None
    definition: ToolDef = _DEFINITION
    group: str = "file_search"
    repeat: Repeat = "read"

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> ToolResult:
        query = arguments.get("query")
        if not isinstance(query, str) or not query.strip():
            return failure("query: a text to search for is needed.")
        ranking = self.params.ranking_options
        try:
            file_query = FileQuery(
                self.params.vector_store_ids,
                [query.strip()],
                filters=self.filters,
                max_results=self.params.max_num_results,
                score_threshold=ranking.score_threshold if ranking else 0.0,
            )
            hits = await file_search.search(self.library, self.actor, file_query)
        except AgentsError as error:
            return failure(error.message)
        return ToolResult(content=_result_text(hits), metadata={"results": [_hit_object(hit) for hit in hits]})


def _result_text(hits: list[FileSearchHit]) -> str:
    if not hits:
        return "Nothing was found."
    texts = [
        f"[{number}] {hit.filename} {citations.file_mark(hit.file_id)}\n{hit.text}"
        for number, hit in enumerate(hits, 1)
    ]
    return "\n\n".join([f"{len(hits)} pieces were found. {_CITE}", *texts])


def _hit_object(hit: FileSearchHit) -> dict[str, Any]:
    return {
        "file_id": hit.file_id,
        "filename": hit.filename,
        "score": hit.score,
        "text": hit.text,
        "attributes": dict(hit.attributes),
    }


def file_search_tool(providers: Providers, actor: Actor, params: FileSearchTool, where: str) -> HostedTool:
    """The tool of a request. Raises InvalidRequest for filters that are none, naming the place."""
    filters = parse(params.filters, f"{where}.filters")
    return HostedTool(FileSearch(providers.part(Library), actor, params, filters), "file_search")

"""The tool ``file_search`` of a response: the model asks, the files of vector stores answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from agents.base.access import Actor
from agents.base.errors import AgentsError
from agents.knowledge.runner import file_search
from agents.knowledge.runner.file_search import Found
from agents.knowledge.runner.knowledge_base import Library
from agents.knowledge.schemas.filters import Filter, parse
from agents.loop.protocols.tools import HostedTool, ToolContext, ToolResult, failure
from agents.loop.provider_set import Providers
from agents.record.schemas.content import ToolDef, ToolParameter
from agents.responses.schemas.requests import FileSearchTool
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
    asked: FileSearchTool
    filters: Filter | None = None
    definition: ToolDef = _DEFINITION
    group: str = "file_search"

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> ToolResult:
        query = arguments.get("query")
        if not isinstance(query, str) or not query.strip():
            return failure("query: a text to search for is needed.")
        ranking = self.asked.ranking_options
        try:
            found = await file_search.search(
                self.library,
                self.actor,
                self.asked.vector_store_ids,
                [query.strip()],
                filters=self.filters,
                max_results=self.asked.max_num_results,
                score_threshold=ranking.score_threshold if ranking else 0.0,
            )
        except AgentsError as error:
            return failure(error.message)
        return ToolResult(content=_told(found), metadata={"results": [_shown(one) for one in found]})


def _told(found: list[Found]) -> str:
    if not found:
        return "Nothing was found."
    pieces = [
        f"[{number}] {one.filename} {citations.file_mark(one.file_id)}\n{one.text}"
        for number, one in enumerate(found, 1)
    ]
    return "\n\n".join([f"{len(found)} pieces were found. {_CITE}", *pieces])


def _shown(one: Found) -> dict[str, Any]:
    return {
        "file_id": one.file_id,
        "filename": one.filename,
        "score": one.score,
        "text": one.text,
        "attributes": dict(one.attributes),
    }


def file_search_tool(providers: Providers, actor: Actor, asked: FileSearchTool, where: str) -> HostedTool:
    """The tool of a request. Raises InvalidRequest for filters that are none, naming the place."""
    filters = parse(asked.filters, f"{where}.filters")
    return HostedTool(FileSearch(providers.part(Library), actor, asked, filters), "file_search")

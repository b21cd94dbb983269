"""Results of OpenAI's built-in tools, and the sources that an answer cites: file search, web search, the list
of an MCP server's tools."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

import msgspec
from django.utils.safestring import SafeString

from agents.pages import blocks, step_details
from agents.pages.blocks import Block, NamedText
from agents.record.schemas.turns import StepSnapshot
from agents.responses.wire import citations
from agents.uikit import format, json_view

TOOL_LIST_KIND = "mcp_list_tools"
"""The kind of the step in which an MCP server lists its tools."""
MAX_SOURCES = 20
"""Sources shown of one answer; the raw view has all."""
MAX_NAME_CHARS = 300
"""Characters shown of a name or a URL."""


@dataclass(frozen=True, slots=True)
class CitedSource:
    """A source of an answer: ``mark`` is its reference in the text, ``url`` its address; either may be empty."""

    name: SafeString
    mark: str = ""
    url: str = ""


def result_blocks(tool: step_details.StoredToolRun) -> tuple[Block, ...]:
    """Blocks of the passages that a file search returned, best first, each with file and score."""
    return tuple(blocks.data_block(value, label) for value, label in _file_results(tool))


def values(step: StepSnapshot) -> list[NamedText]:
    """The full texts of a step's results or list of tools, by name."""
    if step.type == "other":
        other = step_details.read_detail(step, step_details.StoredOther)
        return _descriptions(other) if other and other.kind == TOOL_LIST_KIND else []
    tool = step_details.read_detail(step, step_details.StoredToolRun) if step.type == "tool_execution" else None
    return [value for value, _ in _file_results(tool)] if tool else []


def _file_results(tool: step_details.StoredToolRun) -> list[tuple[NamedText, str]]:
    results = _metadata_entries(tool, "results") if tool.kind == "file_search" else []
    return [
        (NamedText(f"found-{number}", str(result.get("text") or "")), _label(result))
        for number, result in enumerate(results)
    ]


def _label(result: Mapping[str, Any]) -> str:
    score = result.get("score")
    name = str(result.get("filename") or result.get("file_id") or "")[:MAX_NAME_CHARS]
    score_text = format.decimal(score, 2) if isinstance(score, int | float) else ""
    return ", ".join(part for part in (name, score_text) if part)


def web_sources(tool: step_details.StoredToolRun) -> tuple[CitedSource, ...]:
    """The pages that a web search returned."""
    entries = _metadata_entries(tool, "sources") if tool.kind == "web_search" else []
    return tuple(_web_source(entry) for entry in entries[:MAX_SOURCES])


def _web_source(entry: Mapping[str, Any]) -> CitedSource:
    url = str(entry.get("url") or "")
    name = _text(str(entry.get("title") or url))
    return CitedSource(name, url=url if url.startswith(("https://", "http://")) else "")


def _text(text: str) -> SafeString:
    return json_view.show_control_chars(escape(text[:MAX_NAME_CHARS]))


def _metadata_entries(tool: step_details.StoredToolRun, name: str) -> list[Mapping[str, Any]]:
    metadata = [answer.metadata for answer in tool.tool_responses if isinstance(answer.metadata, dict)]
    lists = [fields[name] for fields in metadata if isinstance(fields.get(name), list)]
    return [entry for entries in lists for entry in entries if isinstance(entry, dict)]


def tool_list_blocks(detail: step_details.StoredOther) -> tuple[Block, ...]:
    """Blocks of the tools that a server lists: each description under the tool's name."""
    names = [str(tool.get("name") or "?")[:MAX_NAME_CHARS] for tool in _tools(detail)]
    return tuple(blocks.data_block(value, name) for value, name in zip(_descriptions(detail), names, strict=True))


def _descriptions(detail: step_details.StoredOther) -> list[NamedText]:
    return [
        NamedText(f"tool-{number}", str(tool.get("description") or "")) for number, tool in enumerate(_tools(detail))
    ]


def _tools(detail: step_details.StoredOther) -> list[Mapping[str, Any]]:
    data = _decode(detail.data)
    tools = data.get("tools") if isinstance(data, dict) else None
    return [tool for tool in tools if isinstance(tool, dict)] if isinstance(tools, list) else []


def _decode(raw: msgspec.Raw) -> Any:
    try:
        return msgspec.json.decode(raw)
    except (ValueError, RecursionError):
        return None


# ------------------------------------------------------------------------------------------ citations


def number_citations(message: str, steps: Iterable[StepSnapshot]) -> tuple[str, tuple[CitedSource, ...]]:
    """Replace the file marks in a message by numbers; returns the text and the files by these numbers."""
    if "<|file-" not in message:
        return message, ()
    names, numbers = file_names(steps), dict[str, int]()

    def numbered(match: Any) -> str:
        return f" [{numbers.setdefault(match[1], len(numbers) + 1)}]"

    text = citations.MARK.sub(numbered, message)
    sources = [
        CitedSource(_text(names.get(file_id, file_id)), mark=f"[{number}]") for file_id, number in numbers.items()
    ]
    return text, tuple(sources[:MAX_SOURCES])


def file_names(steps: Iterable[StepSnapshot]) -> dict[str, str]:
    """The names of files that file searches of these steps returned, by id."""
    names: dict[str, str] = {}
    for step in steps:
        if step.type == "tool_execution" and step.detail and b'"file_search"' in step.detail:
            detail = step_details.read_detail(step, step_details.StoredToolRun) or step_details.StoredToolRun()
            names |= {
                str(result.get("file_id")): str(result.get("filename"))
                for result in _metadata_entries(detail, "results")
            }
    return names

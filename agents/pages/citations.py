"""What tools of OpenAI's found, and what of it an answer rests on: results of files, pages of the web,
the tools that a server has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

import msgspec
from django.utils.safestring import SafeString

from agents.pages import blocks, step_details
from agents.pages.blocks import Block, Value
from agents.record.schemas.turns import StepSnapshot
from agents.responses.wire import citations
from agents.uikit import format, json_view

LISTING = "mcp_list_tools"
"""The kind of the step in which a server of tools says what it has."""
SOURCES = 20
"""Sources shown of one answer; all of them are in the raw view."""
LONGEST = 300
"""Characters shown of a name or an address."""


@dataclass(frozen=True, slots=True)
class Source:
    """Something an answer rests on: ``mark`` is how the text names it, ``url`` where it is; either may be
    empty."""

    name: SafeString
    mark: str = ""
    url: str = ""


def results(tool: step_details.Tool) -> tuple[Block, ...]:
    """The pieces of files that a search found, best first, each with its file and score."""
    return tuple(blocks.data(value, label) for value, label in _pieces(tool))


def values(step: StepSnapshot) -> list[Value]:
    """The whole texts of what a step found or listed, by name."""
    if step.type == "other":
        other = step_details.read(step, step_details.Other)
        return _descriptions(other) if other and other.kind == LISTING else []
    tool = step_details.read(step, step_details.Tool) if step.type == "tool_execution" else None
    return [value for value, _ in _pieces(tool)] if tool else []


def _pieces(tool: step_details.Tool) -> list[tuple[Value, str]]:
    found = _listed(tool, "results") if tool.kind == "file_search" else []
    return [(Value(f"found-{number}", str(one.get("text") or "")), _label(one)) for number, one in enumerate(found)]


def _label(one: Mapping[str, Any]) -> str:
    score = one.get("score")
    name = str(one.get("filename") or one.get("file_id") or "")[:LONGEST]
    fits = format.decimal(score, 2) if isinstance(score, int | float) else ""
    return ", ".join(part for part in (name, fits) if part)


def sources(tool: step_details.Tool) -> tuple[Source, ...]:
    """The pages that a search of the web found."""
    found = _listed(tool, "sources") if tool.kind == "web_search" else []
    return tuple(_page(one) for one in found[:SOURCES])


def _page(one: Mapping[str, Any]) -> Source:
    url = str(one.get("url") or "")
    name = _text(str(one.get("title") or url))
    return Source(name, url=url if url.startswith(("https://", "http://")) else "")


def _text(words: str) -> SafeString:
    return json_view.show_control_chars(escape(words[:LONGEST]))


def _listed(tool: step_details.Tool, name: str) -> list[Mapping[str, Any]]:
    told = [answer.metadata for answer in tool.tool_responses if isinstance(answer.metadata, dict)]
    lists = [one[name] for one in told if isinstance(one.get(name), list)]
    return [entry for entries in lists for entry in entries if isinstance(entry, dict)]


def listed(found: step_details.Other) -> tuple[Block, ...]:
    """The tools that a server said it has: their names, each with what it is for."""
    names = [str(one.get("name") or "?")[:LONGEST] for one in _tools(found)]
    return tuple(blocks.data(value, name) for value, name in zip(_descriptions(found), names, strict=True))


def _descriptions(found: step_details.Other) -> list[Value]:
    return [Value(f"tool-{number}", str(one.get("description") or "")) for number, one in enumerate(_tools(found))]


def _tools(found: step_details.Other) -> list[Mapping[str, Any]]:
    data = _decoded(found.data)
    tools = data.get("tools") if isinstance(data, dict) else None
    return [one for one in tools if isinstance(one, dict)] if isinstance(tools, list) else []


def _decoded(raw: msgspec.Raw) -> Any:
    try:
        return msgspec.json.decode(raw)
    except (ValueError, RecursionError):
        return None


# ------------------------------------------------------------------------------------------ citations


def cited(words: str, steps: Iterable[StepSnapshot]) -> tuple[str, tuple[Source, ...]]:
    """What was said with its marks of files as numbers, and the files these numbers stand for."""
    if "<|file-" not in words:
        return words, ()
    names, numbers = file_names(steps), dict[str, int]()

    def numbered(found: Any) -> str:
        return f" [{numbers.setdefault(found[1], len(numbers) + 1)}]"

    text = citations.MARK.sub(numbered, words)
    shown = [Source(_text(names.get(one, one)), mark=f"[{number}]") for one, number in numbers.items()]
    return text, tuple(shown[:SOURCES])


def file_names(steps: Iterable[StepSnapshot]) -> dict[str, str]:
    """What the files are called that these steps found, by their ids."""
    names: dict[str, str] = {}
    for step in steps:
        if step.type == "tool_execution" and step.detail and b'"file_search"' in step.detail:
            found = step_details.read(step, step_details.Tool) or step_details.Tool()
            names |= {str(one.get("file_id")): str(one.get("filename")) for one in _listed(found, "results")}
    return names

"""The legs of a turn that came by OpenAI's Responses API: what each was asked with, how it ended,
and its stream once more."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_noop

from agents.base.access import Actor
from agents.pages import blocks, step_details
from agents.pages.blocks import Block, Value
from agents.pages.step_details import Call, Message
from agents.record.schemas.content import ToolDef
from agents.record.schemas.events import LAST_TYPES, Delta, Entry
from agents.record.schemas.turns import ItemSnapshot
from agents.record.store import agents, items, replay
from agents.responses.runner.outcome import outcome_of
from agents.responses.runner.responses import head_of
from agents.responses.store import responses
from agents.responses.store.responses import ResponseRecord
from agents.responses.wire.items import items_json
from agents.responses.wire.responses import Outcome, response_pieces
from agents.responses.wire.stream import Stream
from agents.uikit import json_view

_INCOMPLETE = {
    "max_output_tokens": gettext_noop("at the limit of tokens"),
    "max_iterations_exceeded": gettext_noop("at the limit of rounds"),
    "content_filter": gettext_noop("stopped by a content filter"),
}
_SHOWN = (
    "max_output_tokens",
    "max_tool_calls",
    "max_infer_iters",
    "temperature",
    "top_p",
    "presence_penalty",
    "frequency_penalty",
    "tool_choice",
    "parallel_tool_calls",
    "text",
    "reasoning",
    "guardrails",
    "background",
    "user",
    "safety_identifier",
    "prompt_cache_key",
)
"""Settings shown where they are not as usual, in this order."""
_USUAL: Mapping[str, Any] = {
    "max_infer_iters": 10,
    "temperature": 1.0,
    "top_p": 1.0,
    "presence_penalty": 0.0,
    "frequency_penalty": 0.0,
    "tool_choice": "auto",
    "parallel_tool_calls": True,
    "text": {"format": {"type": "text"}, "verbosity": "medium"},
    "reasoning": {"effort": None, "summary": None},
    "background": False,
}
_NAMES = {"web_search_preview": "web_search", "web_search_2025_08_26": "web_search"}


@dataclass(frozen=True, slots=True)
class Settings:
    """What a response was asked with besides its input. ``tools`` are their names and kinds,
    ``others`` are settings that are not as usual, as JSON text; ``previous`` and ``conversation``
    lead to where it continues."""

    instructions: Block | None
    tools: tuple[tuple[str, str], ...]
    metadata: tuple[tuple[str, str], ...]
    previous: str
    conversation: str
    others: tuple[tuple[str, SafeString], ...]


@dataclass(frozen=True, slots=True)
class Leg:
    """A response of a turn. ``status`` is in OpenAI's words, ``reason`` why it is incomplete;
    ``first_step`` the number of its first step. ``url`` leads to what is told of it beside the turn."""

    record: ResponseRecord
    status: str
    reason: str
    settings: Settings

    @property
    def id(self) -> str:
        return self.record.public_id

    @property
    def number(self) -> int:
        return self.record.number

    @property
    def url(self) -> str:
        return f"/responses/{self.id}/"


def of_turn(actor: Actor, turn: int) -> list[Leg]:
    """The responses of a turn, in order; none of one that came by another API."""
    records = responses.of_turn(actor, turn)
    ended = outcomes([record for record in records if not record.is_live])
    return [_leg(record, ended.get(record.key)) for record in records]


def outcomes(records: Sequence[ResponseRecord]) -> dict[int, Outcome]:
    """How far these responses are, by their keys."""
    told = responses.told(records) if records else {}
    return {record.key: outcome_of(record, told[record.key]) for record in records}


def _leg(record: ResponseRecord, outcome: Outcome | None) -> Leg:
    reason = outcome.incomplete if outcome and outcome.incomplete else ""
    words = gettext(_INCOMPLETE[reason]) if reason in _INCOMPLETE else reason
    waits = record.is_last and record.turn_status.label == "awaiting_input"
    status = outcome.status if outcome else record.status.label
    return Leg(record, "awaiting_input" if waits else status, words, _settings(record.settings))


# ------------------------------------------------------------------------------------------- settings


def _settings(settings: bytes) -> Settings:
    found = msgspec.json.decode(settings or b"{}")
    instructions = found.get("instructions")
    conversation = (found.get("conversation") or {}).get("id") or ""
    return Settings(
        instructions=blocks.typed(Value("instructions", instructions)) if instructions else None,
        tools=tuple(map(_tool, found.get("tools") or ())),
        metadata=tuple((found.get("metadata") or {}).items()),
        previous=found.get("previous_response_id") or "",
        conversation=conversation,
        others=tuple((name, _plain(found[name])) for name in _SHOWN if _is_unusual(name, found.get(name))),
    )


def _is_unusual(name: str, value: Any) -> bool:
    return value not in (None, [], {}) and value != _USUAL.get(name)


def _plain(value: Any) -> SafeString:
    return json_view.render_value(value if isinstance(value, str) else msgspec.json.encode(value).decode()).html


def _tool(tool: Mapping[str, Any]) -> tuple[str, str]:
    """A tool's name, and what kind it is or where it is."""
    kind = str(tool.get("type") or "")
    match kind:
        case "function":
            return str(tool.get("name") or ""), gettext("function of the client")
        case "mcp":
            return str(tool.get("server_label") or ""), str(tool.get("server_url") or "MCP")
        case "file_search":
            return kind, ", ".join(map(str, tool.get("vector_store_ids") or ()))
        case _:
            return _NAMES.get(kind, kind), ""


def client_tools(turn: int) -> list[ToolDef]:
    """The client's tools a turn runs with, its agent's or its last response's; the turn was read
    already."""
    found = msgspec.json.decode(responses.last_settings(turn) or b"{}")
    own = [_definition(tool) for tool in found.get("tools") or () if tool.get("type") == "function"]
    return own or agents.client_tools_of(turn)


def _definition(tool: Mapping[str, Any]) -> ToolDef:
    schema = tool.get("parameters") or {"type": "object", "properties": {}}
    return ToolDef(name=tool["name"], description=tool.get("description"), input_schema=schema)


# ---------------------------------------------------------------------------------------------- input


def said_by(asked: Sequence[Message], given: Sequence[ItemSnapshot]) -> list[str]:
    """The roles of the messages a turn was started with, a developer's told from the system's where
    the items say so."""
    roles = [message.role for message in asked]
    named = [item["role"] for item in items_json(given) if item["type"] == "message"]
    plain = [place for place, one in enumerate(asked) if one.role != "tool" and not one.tool_calls]
    if len(named) == len(plain):
        for place, role in zip(plain, named, strict=True):
            roles[place] = role
    return roles


def inputs(records: Sequence[ResponseRecord]) -> dict[int, list[ItemSnapshot]]:
    """What these responses were asked with, by their keys. The caller has been let in to them."""
    return items.own_inputs(records)


def later_values(actor: Actor, turn: int) -> list[Value]:
    """The whole texts of what later responses of a turn brought along, by name: ``input-2-0``."""
    records = [record for record in responses.of_turn(actor, turn) if record.number > 1]
    given = inputs(records)
    return [
        Value(f"input-{record.number}-{place}", step_details.words(message.content))
        for record in records
        for place, message in enumerate(said_later(given[record.key]))
    ]


def said_later(given: Sequence[ItemSnapshot]) -> list[Message]:
    """The messages a response brought along beside answers to calls."""
    return [message_of(item) for item in items_json(given) if item["type"] == "message"]


def message_of(item: Mapping[str, Any]) -> Message:
    """A message of OpenAI's API in the words of ours."""
    return Message(content=[_part(part) for part in item["content"]], role=item["role"])


def _part(part: Mapping[str, Any]) -> Mapping[str, Any]:
    if part.get("type") == "input_image":
        return {"type": "image", "image": {"url": {"uri": str(part.get("image_url") or part.get("file_id") or "")}}}
    words = part.get("text") or part.get("refusal") or part.get("filename") or part.get("file_id") or ""
    return {"type": "text", "text": str(words)}


def call_block(call: Call, number: int) -> Block:
    """A call that came with the input."""
    return blocks.data(Value(f"call-{number}", call.written), label=call.tool_name)


# ------------------------------------------------------------------------------------------- as stored


def as_json(record: ResponseRecord) -> Iterator[bytes]:
    """A response as the Responses API gives it, in pieces."""
    return response_pieces(head_of(record), outcomes([record])[record.key])


def stream(record: ResponseRecord) -> Iterator[bytes]:
    """The frames of a response's stream, as far as it has come, some at a time."""
    encoder = Stream(head_of(record))
    for some in replay.windows(record.turn, (record.first_seq - 1, 1 << 62)):
        ends = (place for place, entry in enumerate(some, start=1) if _is_last(entry))
        end = next(ends, None)
        yield encoder.feed(some[:end])
        if end is not None:
            return


def _is_last(entry: Entry) -> bool:
    return not isinstance(entry, Delta) and entry.type in LAST_TYPES

"""The responses of a turn of OpenAI's Responses API: their settings, input, outcome and stream."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_noop

from agents.base.access import Actor
from agents.pages import blocks, step_details
from agents.pages.blocks import Block, NamedText
from agents.pages.step_details import StoredCall, StoredMessage
from agents.record.schemas.content import ToolDef
from agents.record.schemas.events import LAST_ORDINAL, ends_response
from agents.record.schemas.turns import ItemSnapshot
from agents.record.store import agents, items, replay
from agents.responses.runner.response_state import state_of
from agents.responses.runner.responses import head_of
from agents.responses.store import responses
from agents.responses.store.responses import ResponseRecord
from agents.responses.wire.items import items_json
from agents.responses.wire.responses import ResponseState, response_chunks
from agents.responses.wire.stream import ResponseStream
from agents.uikit import json_view
from agents.uikit.links import at

_INCOMPLETE = {
    "max_output_tokens": gettext_noop("token limit reached"),
    "max_iterations_exceeded": gettext_noop("iteration limit reached"),
    "content_filter": gettext_noop("stopped by a content filter"),
}
_SETTING_NAMES = (
    "max_output_tokens",
    "max_tool_calls",
    "max_infer_iters",
    "budget",
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
"""Settings that are shown, in this order, if they differ from the default."""
_DEFAULTS: Mapping[str, Any] = {
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
class ResponseSettings:
    """The settings of a response's request. ``tools`` are names and kinds, ``others`` the settings that differ
    from their defaults, as JSON text; ``previous`` and ``conversation`` are the ids it continues from."""

    instructions: Block | None
    tools: tuple[tuple[str, str], ...]
    metadata: tuple[tuple[str, str], ...]
    previous: str
    conversation: str
    others: tuple[tuple[str, SafeString], ...]


@dataclass(frozen=True, slots=True)
class TurnResponse:
    """A response of a turn. ``status`` is OpenAI's, ``reason`` says why it is incomplete; ``url`` is the base of its
    JSON and stream."""

    record: ResponseRecord
    status: str
    reason: str
    settings: ResponseSettings

    @property
    def id(self) -> str:
        return self.record.public_id

    @property
    def number(self) -> int:
        return self.record.number

    @property
    def url(self) -> str:
        return at(f"/responses/{self.id}/")


def responses_of_turn(actor: Actor, turn: int) -> list[TurnResponse]:
    """The responses of a turn, in order; empty for a turn of another API."""
    records = responses.of_turn(actor, turn)
    outcomes_by_key = outcomes([record for record in records if not record.is_live])
    return [_turn_response(record, outcomes_by_key.get(record.key)) for record in records]


def outcomes(records: Sequence[ResponseRecord]) -> dict[int, ResponseState]:
    """The outcomes of these responses, by key."""
    stored = responses.outcomes(records) if records else {}
    return {record.key: state_of(record, stored[record.key]) for record in records}


def _turn_response(record: ResponseRecord, outcome: ResponseState | None) -> TurnResponse:
    reason = outcome.incomplete if outcome and outcome.incomplete else ""
    reason_label = gettext(_INCOMPLETE[reason]) if reason in _INCOMPLETE else reason
    waits = record.is_last and record.turn_status.label == "awaiting_input"
    status = outcome.status if outcome else record.status.label
    return TurnResponse(record, "awaiting_input" if waits else status, reason_label, _settings(record.settings))


# ------------------------------------------------------------------------------------------- settings


def _settings(settings: bytes) -> ResponseSettings:
    values = msgspec.json.decode(settings or b"{}")
    instructions = values.get("instructions")
    conversation = (values.get("conversation") or {}).get("id") or ""
    return ResponseSettings(
        instructions=blocks.plain_block(NamedText("instructions", instructions)) if instructions else None,
        tools=tuple(map(_tool, values.get("tools") or ())),
        metadata=tuple((values.get("metadata") or {}).items()),
        previous=values.get("previous_response_id") or "",
        conversation=conversation,
        others=tuple(
            (name, _plain(values[name])) for name in _SETTING_NAMES if _is_not_default(name, values.get(name))
        ),
    )


def _is_not_default(name: str, value: Any) -> bool:
    return value not in (None, [], {}) and value != _DEFAULTS.get(name)


def _plain(value: Any) -> SafeString:
    return json_view.render_value(value if isinstance(value, str) else msgspec.json.encode(value).decode()).html


def _tool(tool: Mapping[str, Any]) -> tuple[str, str]:
    """(name, kind or address) of a tool."""
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
    """The client's tools of a turn: those of its last response, and of its agent. The caller has checked access to
    the turn."""
    settings = msgspec.json.decode(responses.last_settings(turn) or b"{}")
    own_tools = [_definition(tool) for tool in settings.get("tools") or () if tool.get("type") == "function"]
    return [*own_tools, *agents.client_tools_of(turn)]


def _definition(tool: Mapping[str, Any]) -> ToolDef:
    schema = tool.get("parameters") or {"type": "object", "properties": {}}
    return ToolDef(name=tool["name"], description=tool.get("description"), input_schema=schema)


# ---------------------------------------------------------------------------------------------- input


def message_roles(messages: Sequence[StoredMessage], inputs: Sequence[ItemSnapshot]) -> list[str]:
    """The roles of a turn's input messages; the items distinguish developer from system messages."""
    roles = [message.role for message in messages]
    named = [item["role"] for item in items_json(inputs) if item["type"] == "message"]
    plain_indexes = [index for index, item in enumerate(messages) if item.role != "tool" and not item.tool_calls]
    if len(named) == len(plain_indexes):
        for index, role in zip(plain_indexes, named, strict=True):
            roles[index] = role
    return roles


def inputs(records: Sequence[ResponseRecord]) -> dict[int, list[ItemSnapshot]]:
    """The input items of these responses, by key. The caller has checked access to them."""
    return items.own_inputs(records)


def later_texts(actor: Actor, turn: int) -> list[NamedText]:
    """The full texts of the input messages of later responses of a turn, by name: ``input-2-0``."""
    records = [record for record in responses.of_turn(actor, turn) if record.number > 1]
    inputs_by_key = inputs(records)
    return [
        NamedText(f"input-{record.number}-{index}", step_details.text_of(message.content))
        for record in records
        for index, message in enumerate(input_messages(inputs_by_key[record.key]))
    ]


def input_messages(values: Sequence[ItemSnapshot]) -> list[StoredMessage]:
    """The messages in a response's input, without answers to calls."""
    return [message_of(item) for item in items_json(values) if item["type"] == "message"]


def message_of(item: Mapping[str, Any]) -> StoredMessage:
    """Convert a message of OpenAI's API to our content format."""
    return StoredMessage(content=[_part(part) for part in item["content"]], role=item["role"])


def _part(part: Mapping[str, Any]) -> Mapping[str, Any]:
    if part.get("type") == "input_image":
        return {"type": "image", "image": {"url": {"uri": str(part.get("image_url") or part.get("file_id") or "")}}}
    text = part.get("text") or part.get("refusal") or part.get("filename") or part.get("file_id") or ""
    return {"type": "text", "text": str(text)}


def call_block(call: StoredCall, number: int) -> Block:
    """The block of a call in the input."""
    return blocks.data_block(NamedText(f"call-{number}", call.arguments_text), label=call.tool_name)


# ------------------------------------------------------------------------------------------- as stored


def as_json(record: ResponseRecord) -> Iterator[bytes]:
    """A response as the Responses API returns it, in chunks."""
    return response_chunks(head_of(record), outcomes([record])[record.key])


def stream(record: ResponseRecord) -> Iterator[bytes]:
    """The frames of a response's stream so far, in chunks."""
    encoder = ResponseStream(head_of(record))
    for window in replay.windows(record.turn, (record.first_seq - 1, LAST_ORDINAL)):
        ends = (count for count, entry in enumerate(window, start=1) if ends_response(entry, record.first_seq))
        end = next(ends, None)
        yield encoder.feed(window[:end])
        if end is not None:
            return

"""Encodes turns, steps and sessions for the Llama Stack Agents API (v0.2.12).

A step's stored detail already has the API's field names, so a step, a turn and a session are joined from
stored JSON without parsing it. In the API, several calls of client tools in one round are one step with
the id of the first.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from agents.base import ids
from agents.base.ids import Kind
from agents.base.schemas.wire import iso
from agents.llama_stack.schemas import STEP_TYPES
from agents.record.schemas.content import CompletionMessage
from agents.record.schemas.items import media_type
from agents.record.schemas.turns import LoadDetail, StepSnapshot, TurnSnapshot, unchanged

_EMPTY_MESSAGE = CompletionMessage(content="").model_dump_json(exclude_none=True).encode()


def turn_json(turn: TurnSnapshot) -> bytes:
    """Encode a turn. While it has no answer, ``output_message`` is an empty one: the type has no null."""
    return b"".join(turn_chunks(turn))


def turn_chunks(turn: TurnSnapshot, load_detail: LoadDetail = unchanged) -> Iterator[bytes]:
    """Encode a turn in chunks, so that only one step's full detail is in memory at a time."""
    yield (
        b'{"turn_id":"%b","session_id":"%b","input_messages":'
        % (ids.public(Kind.TURN, turn.key).encode(), ids.public(Kind.SESSION, turn.session).encode())
    )
    yield turn.input_messages
    yield b',"steps":['
    with_images: list[StepSnapshot] = []  # as few steps are
    for position, group in enumerate(grouped_steps(turn.steps)):
        yield b"," if position else b""
        full_steps = [load_detail(step) for step in group]
        with_images += [step for step, full_step in zip(group, full_steps, strict=True) if _may_have_images(full_step)]
        yield step_json(turn.key, full_steps)
    yield b'],"output_message":'
    yield turn.output_message or _EMPTY_MESSAGE
    yield b',"output_attachments":['
    for position, image in enumerate(image for step in with_images for image in _attachments(load_detail(step))):
        yield b"," if position else b""
        yield msgspec.json.encode(image)
    yield (
        b'],"started_at":"%b","completed_at":%b,"status":"%b"}'
        % (iso(turn.started_at).encode(), _timestamp_json(turn.completed_at), turn.status.encode())
    )


def _may_have_images(step: StepSnapshot) -> bool:
    """Whether a step may have images; most steps have none and need not be parsed."""
    return step.type == "tool_execution" and b'"image"' in (step.detail or b"")


def _attachments(step: StepSnapshot) -> Iterator[dict[str, Any]]:
    """Yield the images of a tool's results as attachments of the turn's answer."""
    for response in msgspec.json.decode(step.detail or b"{}").get("tool_responses", ()):
        for item in _images(response.get("content")):
            yield {"content": item, "mime_type": media_type(item["image"])}


def _images(content: Any) -> list[dict[str, Any]]:
    items = content if isinstance(content, list) else [content]
    return [item for item in items if isinstance(item, dict) and item.get("type") == "image"]


def grouped_steps(steps: Iterable[StepSnapshot]) -> list[list[StepSnapshot]]:
    """Group steps as the API shows them: finished steps of its types, calls of client tools of one round
    together."""
    visible = [step for step in steps if step.completed_at is not None and step.type in STEP_TYPES]
    groups = itertools.groupby(visible, key=_group)
    return [list(group) for _, group in groups]


def _group(step: StepSnapshot) -> int | tuple[int, str]:
    is_client = step.type == "tool_execution" and not step.server_side
    return (step.round, "client") if is_client else step.key


def step_json(turn: int, group: Sequence[StepSnapshot]) -> bytes:
    """Encode one step of the API, from one of ours or from the client calls of a round."""
    first, last = group[0], group[-1]
    head = b'{"turn_id":"%b","step_id":"%b","started_at":"%b","completed_at":%b,"step_type":"%b",' % (
        ids.public(Kind.TURN, turn).encode(),
        ids.public(Kind.STEP, first.key).encode(),
        iso(first.started_at).encode(),
        _timestamp_json(last.completed_at),
        first.type.encode(),
    )
    return head + _details(group)[1:]


class _Calls(msgspec.Struct):
    """The fields of a call's detail that the API's step has."""

    tool_calls: list[msgspec.Raw] = []
    tool_responses: list[msgspec.Raw] = []


def _details(group: Sequence[StepSnapshot]) -> bytes:
    if len(group) == 1:
        return group[0].detail or b"{}"
    parts = [msgspec.json.decode(step.detail or b"{}", type=_Calls) for step in group]
    return msgspec.json.encode(
        _Calls(
            tool_calls=[raw for part in parts for raw in part.tool_calls],
            tool_responses=[raw for part in parts for raw in part.tool_responses],
        )
    )


def _timestamp_json(at_us: int | None) -> bytes:
    return b'"%b"' % iso(at_us).encode() if at_us is not None else b"null"


def session_chunks(session: int, name: str, created_at: int, turns: Iterable[Iterator[bytes]]) -> Iterator[bytes]:
    """Encode a session in chunks, with its turns as `turn_chunks` encodes them."""
    public = ids.public(Kind.SESSION, session).encode()
    yield b'{"session_id":"%b","session_name":%b,"turns":[' % (public, msgspec.json.encode(name))
    for position, chunks in enumerate(turns):
        yield b"," if position else b""
        yield from chunks
    yield b'],"started_at":"%b"}' % iso(created_at).encode()

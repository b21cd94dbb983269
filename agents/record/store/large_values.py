"""Stores long texts of steps in blocks of their own, which are read by ranges of bytes.

A step's detail is JSON. The long texts of a large one are stored in blocks; what remains is its
*outline*: the same JSON with only the beginnings of these texts, and their positions. Inserted again,
the texts give the detail to the byte.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from agents.base import ids
from agents.base.store import encoding
from agents.base.store.sql import Insert, Select, execute_later
from agents.record.models.turns import ValueBlock
from agents.record.schemas.turns import TruncatedText

THRESHOLD = 64 * 1024
"""Bytes of a detail that is kept in one piece."""
MAX_INLINE_TEXT = 16 * 1024
"""Characters of a text that stays in its detail, whatever the detail's size."""
HEAD = 4_096
"""Characters of a long text in the outline."""
BLOCK = 256 * 1024
"""Bytes of a block."""
OUTLINE = 2
"""What `StepDetail.encoding` says of an outline."""

_CONTENT = r"content(/\d+)?(/text|/image/data|/image/url/uri)?"
_TEXTS = re.compile(
    rf"/model_response/{_CONTENT}|/reasoning|(/model_response)?/tool_calls/\d+/arguments_json|"
    rf"/tool_responses/\d+/{_CONTENT}|/chunks/\d+/{_CONTENT}|/inserted_context(/\d+)?(/text)?"
)
"""The texts that are kept elsewhere: those that whoever shows an outline knows to be cut."""
_JSON = re.compile(r"(/model_response)?/tool_calls/\d+/arguments|/data")
"""The values that are kept elsewhere as the JSON they are."""
_UNSPLIT_KINDS = frozenset({"mcp_list_tools"})
"""Kinds of other steps whose data is read as a whole."""


class LargeText(msgspec.Struct, array_like=True, frozen=True):
    """A text that is kept elsewhere: ``start`` and ``end`` are the bytes of the outline its beginning
    stands in, ``size`` its own bytes."""

    pointer: str
    start: int
    end: int
    size: int
    is_json: bool


class Outline(msgspec.Struct, array_like=True, frozen=True):
    body: bytes
    parts: list[LargeText]

    @property
    def cuts(self) -> tuple[TruncatedText, ...]:
        """Return the texts of which it has only the beginning."""
        return tuple(TruncatedText(part.pointer, part.size, number) for number, part in enumerate(self.parts))


@dataclass(frozen=True, slots=True)
class SplitDetail:
    """A detail taken apart: its outline and the texts that go elsewhere, in order."""

    outline: Outline
    texts: Sequence[bytes]


# ------------------------------------------------------------------------------------------- writing


_ADD = Insert(ValueBlock, "id step_id part position encoding data")


def put(step: int, detail: bytes) -> tuple[int, bytes]:
    """Store the long texts of a step's detail; returns (encoding, stored bytes) of the rest."""
    parts = split(detail) if len(detail) > THRESHOLD else None
    if parts is None:
        return encoding.pack(detail)
    execute_later("DELETE FROM agents_valueblock WHERE step_id = %s", step)
    for number, text in enumerate(parts.texts):
        for position, data in enumerate(_blocks(text)):
            _ADD.execute(ids.new_key(), step, number, position, *encoding.pack(data))
    return OUTLINE, encoding.pack_always(msgspec.msgpack.encode(parts.outline))


def _blocks(text: bytes) -> Iterator[bytes]:
    for start in range(0, len(text), BLOCK):
        yield text[start : start + BLOCK]


def split(detail: bytes) -> SplitDetail | None:
    """Split a detail into its outline and long texts; None where it has none, or they cannot be located in the
    JSON."""
    parts, texts, segments = list[LargeText](), list[bytes](), list[bytes]()
    at = length = 0
    for pointer, text, is_json in _long(msgspec.json.decode(detail), ""):
        written = text.encode() if is_json else msgspec.json.encode(text)
        start = _find(detail, written, at)
        if start < 0:
            return None
        head = msgspec.json.encode(text[:HEAD])
        segments += [detail[at:start], head]
        length += start - at + len(head)
        at = start + len(written)
        texts.append(text.encode())
        parts.append(LargeText(pointer, length - len(head), length, len(texts[-1]), is_json))
    body = b"".join([*segments, detail[at:]])
    return SplitDetail(Outline(body, parts), texts) if parts and _is_sound(body, parts) else None


def _long(value: Any, pointer: str) -> Iterator[tuple[str, str, bool]]:
    """Yield (pointer, text, whether it is JSON) of the long texts of a detail, in order."""
    if isinstance(value, str):
        if len(value) > MAX_INLINE_TEXT and _TEXTS.fullmatch(pointer):
            yield pointer, value, False
    elif isinstance(value, dict | list):
        written = _long_json(value, pointer)
        if written is not None:
            yield pointer, written, True
            return
        if pointer == "" and isinstance(value, dict) and value.get("kind") in _UNSPLIT_KINDS:
            return
        for name, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _long(inner, f"{pointer}/{name}")


def _long_json(value: Any, pointer: str) -> str | None:
    if not _JSON.fullmatch(pointer):
        return None
    written = msgspec.json.encode(value)
    return written.decode() if len(written) > MAX_INLINE_TEXT else None


_PROBE = 1_024


def _find(detail: bytes, written: bytes, at: int) -> int:
    """Return the offset of a text in a detail from ``at`` on, or -1. It searches for the beginning and compares the
    rest: Python's own search preprocesses a long needle, which is slow."""
    probe, view = written[:_PROBE], memoryview(detail)
    while (at := detail.find(probe, at)) >= 0:
        if view[at : at + len(written)] == written:
            return at
        at += 1
    return -1


def _is_sound(body: bytes, parts: Sequence[LargeText]) -> bool:
    """Tell whether the beginnings stand where their texts belong."""
    try:
        decoded = msgspec.json.decode(body)
    except msgspec.DecodeError:
        return False
    return all(_at(decoded, part.pointer) == msgspec.json.decode(body[part.start : part.end]) for part in parts)


def _at(value: Any, pointer: str) -> Any:
    for name in pointer.split("/")[1:]:
        value = value[int(name)] if isinstance(value, list) else value.get(name)
    return value


# ------------------------------------------------------------------------------------------- reading


_outline = msgspec.msgpack.Decoder(Outline)


def outline(kind: int, stored: bytes | memoryview) -> Outline:
    """Decode the outline of a stored detail; one without blocks is its own outline."""
    body = encoding.unpack(encoding.PLAIN if kind == encoding.PLAIN else encoding.ZSTD, stored)
    return _outline.decode(body) if kind == OUTLINE else Outline(body, [])


STORED = f"""
COALESCE((SELECT SUM(LENGTH(d.body)) FROM agents_step s JOIN agents_stepdetail d ON d.step_id = s.id
          WHERE s.turn_id = {{0}}), 0)
+ {BLOCK} * (SELECT COUNT(*) FROM agents_step s JOIN agents_valueblock v ON v.step_id = s.id WHERE s.turn_id = {{0}})
"""  # noqa: S608 - names of ours
"""SQL for about how many bytes the details of a turn's steps take; to be formatted with the turn's column."""


def approximate_size(kind: int, length: int, body: bytes | memoryview) -> int:
    """Estimate the size of a detail by the length and the beginning of its stored bytes; one with blocks counts as
    one block."""
    return BLOCK if kind == OUTLINE else max(length, encoding.size_of(kind, body[: encoding.HEADER]))


def unpack(step: int, kind: int, stored: bytes | memoryview) -> bytes:
    """Return a step's whole detail."""
    if kind != OUTLINE:
        return encoding.unpack(kind, stored)
    return b"".join(chunks(step, outline(kind, stored)))


def chunks(step: int, outlined: Outline) -> Iterator[bytes]:
    """Yield a step's whole detail in chunks."""
    at = 0
    for number, part in enumerate(outlined.parts):
        yield outlined.body[at : part.start]
        yield from stream(step, number, part.size) if part.is_json else _quoted(stream(step, number, part.size))
        at = part.end
    yield outlined.body[at:]


def _quoted(text: Iterator[bytes]) -> Iterator[bytes]:
    """Encode a text as a JSON string, chunk by chunk."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    yield b'"'
    for data in text:
        yield msgspec.json.encode(decoder.decode(data))[1:-1]
    yield b'"'


_BLOCK = Select(ValueBlock, "encoding data", "step_id = %s AND part = %s AND position = %s")


def block(step: int, part: int, position: int) -> bytes:
    """Return a block of a text; empty after the last. The caller has checked that the step is visible."""
    row = _BLOCK.first(step, part, position)
    return encoding.unpack(*row) if row else b""


def stream(step: int, part: int, size: int, start: int = 0) -> Iterator[bytes]:
    """Yield a text from byte ``start`` to byte ``size``, a block at a time."""
    for position in range(start // BLOCK, -(-size // BLOCK)):
        data = block(step, part, position)[: size - position * BLOCK]
        yield data[start - position * BLOCK :] if position == start // BLOCK else data


def read(step: int, part: int, start: int, end: int) -> bytes:
    """Return the bytes of a text from ``start`` to ``end``."""
    return b"".join(stream(step, part, end, start))


def drop(steps: Sequence[int]) -> None:
    """Delete the blocks of these steps within the caller's transaction."""
    ValueBlock.objects.filter(step_id__in=steps)._raw_delete("default")

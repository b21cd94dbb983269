"""Downloads of a turn: full texts, streamed or by byte ranges, and the files of the raw view."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass

from django.http import HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase

from agents.base import ids
from agents.base.access import Actor
from agents.base.errors import NotFound
from agents.base.reading import read
from agents.llama_stack.turn_streams import partial_turn_chunks
from agents.pages import blocks, raw_view, step_details, step_values, turn_responses
from agents.pages.blocks import NamedText
from agents.pages.step_details import Picture
from agents.record.schemas.turns import StepSnapshot, TruncatedText
from agents.record.store import large_values, read_turns, replay, step_pages, turns
from agents.uikit.access import PageRequest, page
from agents.uikit.http_responses import PLAIN_HEADERS, plain_stream

CHUNK_BYTES = large_values.BLOCK
"""Bytes that are read at a time."""
MAX_UNSTREAMED_BYTES = 4 * CHUNK_BYTES
"""A larger response is streamed."""


# ------------------------------------------------------------------------------------------- sources


@dataclass(frozen=True, slots=True)
class ByteSource:
    """A full text, read by byte ranges: the ``chunks`` in order; truncated ones are read from the stored blocks of
    step ``step``."""

    name: str
    step: int
    chunks: tuple[bytes | TruncatedText, ...]

    @property
    def size(self) -> int:
        return sum(map(_size, self.chunks))

    def read(self, start: int, end: int) -> bytes:
        """The bytes from ``start`` to ``end``."""
        out, position = [], 0
        for chunk in self.chunks:
            first, last = max(start - position, 0), min(end - position, _size(chunk))
            if first < last:
                out.append(self._range(chunk, first, last))
            position += _size(chunk)
        return b"".join(out)

    def _range(self, chunk: bytes | TruncatedText, first: int, last: int) -> bytes:
        return (
            large_values.read(self.step, chunk.part, first, last)
            if isinstance(chunk, TruncatedText)
            else chunk[first:last]
        )


def _size(chunk: bytes | TruncatedText) -> int:
    return chunk.size if isinstance(chunk, TruncatedText) else len(chunk)


def byte_source(value: NamedText, step: int = 0) -> ByteSource:
    """The byte source of a full text."""
    chunks: list[bytes | TruncatedText] = []
    for chunk in value.chunks or (value.text,):
        chunks += [b"\n"] if chunks else []
        chunks.append(chunk if isinstance(chunk, TruncatedText) else chunk.encode(errors="replace"))
    return ByteSource(value.name, step, tuple(chunks))


def step_source(actor: Actor, turn_id: str, step_id: str, part: str) -> ByteSource:
    """The source of a part of a step, or of all of it if ``part`` is empty. Raises NotFound."""
    step = find_step(actor, turn_id, step_id)
    if part:
        return byte_source(_part(step_values.step_texts(step), part), step.key)
    return ByteSource("", step.key, (b"".join(_detail(step)),))


def find_step(actor: Actor, turn_id: str, step_id: str) -> StepSnapshot:
    """A step of a turn, with long texts truncated. Raises NotFound."""
    turn, key = read_turns.head(actor, turns.key_of(turn_id)), ids.parse(ids.Kind.STEP, step_id)
    steps = step_pages.steps_by_key(turn.key, [key] if key is not None else [])
    if not steps:
        raise NotFound(f"Step '{step_id[:80]}' not found.")
    return steps[0]


def _detail(step: StepSnapshot) -> Iterator[bytes]:
    return step_pages.detail(step.key) if step.cuts else iter([step.detail or b"{}"])


def turn_source(actor: Actor, turn_id: str, part: str) -> ByteSource:
    """The source of an input message of a turn, or of its answer. Raises NotFound."""
    turn = read_turns.head(actor, turns.key_of(turn_id))
    answer = step_details.message(turn.output_message)
    texts = [NamedText("answer", step_details.text_of(answer.content) if answer else "")]
    texts += [
        NamedText(f"{name}-{number}", step_details.text_of(content))
        for number, message in enumerate(step_details.messages(turn.input_messages))
        for name, content in (("input", message.content), ("context", message.context))
    ]
    texts += turn_responses.later_texts(actor, turn.key)
    return byte_source(_part(texts, part))


def _part(texts: Sequence[NamedText], name: str) -> NamedText:
    match = blocks.find_by_name(texts, name)
    if match is None:
        raise NotFound(f"There is no part '{name[:80]}' here.")
    return match


# ------------------------------------------------------------------------------------------- answers


@page("read")
def step_value(request: PageRequest, turn_id: str, step_id: str) -> HttpResponseBase:
    """The full text of a part of a step, ``?part=result``; without a part the whole stored step."""
    part = request.GET.get("part", "")
    if re.fullmatch(r"picture-\d{1,4}", part):
        return _picture(find_step(request.actor, turn_id, step_id), int(part.removeprefix("picture-")))
    return source_response(request, step_source(request.actor, turn_id, step_id, part))


@page("read")
def turn_value(request: PageRequest, turn_id: str) -> HttpResponseBase:
    """The full text of an input message of a turn, ``?part=input-0``, or of its answer."""
    return source_response(request, turn_source(request.actor, turn_id, request.GET.get("part", "")))


def source_response(request: PageRequest, source: ByteSource) -> HttpResponseBase:
    """Respond with a full text, or the requested range of it, which a browser never renders as a page; with
    ``?download`` as a file."""
    size, span = source.size, _range(request.headers.get("Range", ""), source.size)
    start, end = span or (0, size)
    headers = {**PLAIN_HEADERS, "Accept-Ranges": "bytes", "Content-Length": str(end - start)}
    if "download" in request.GET:
        headers["Content-Disposition"] = f'attachment; filename="{re.sub("[^a-z0-9-]", "", source.name) or "step"}.txt"'
    if span is not None:
        headers["Content-Range"] = f"bytes {start}-{end - 1}/{size}"
    status, kind = 200 if span is None else 206, "text/plain; charset=utf-8"
    if end - start <= MAX_UNSTREAMED_BYTES:
        return HttpResponse(source.read(start, end), status=status, content_type=kind, headers=headers)
    return StreamingHttpResponse(_stream(source, start, end), status=status, content_type=kind, headers=headers)


async def _stream(source: ByteSource, start: int, end: int) -> AsyncIterator[bytes]:
    for position in range(start, end, CHUNK_BYTES):
        yield await read(source.read, position, min(position + CHUNK_BYTES, end))


_RANGE = re.compile(r"bytes=(\d{1,15})-(\d{0,15})")


def _range(header: str, size: int) -> tuple[int, int] | None:
    """Parse a Range header with one range; None, which means the full text, for anything else."""
    match = _RANGE.fullmatch(header)
    if not match or int(match[1]) >= size:
        return None
    start, end = int(match[1]), min(int(match[2]) + 1, size) if match[2] else size
    return (start, end) if start < end else None


def _picture(step: StepSnapshot, number: int) -> HttpResponse:
    """Respond with an image that is too large to embed in a page."""
    pictures = step_values.pictures(step)
    if number >= len(pictures):
        raise NotFound("There is no such image here.")
    cuts = {cut.pointer: cut for cut in step.cuts}
    picture = pictures[number]
    cut = cuts.get(picture.pointer)
    if cut is not None and cut.size <= blocks.MAX_PICTURE_CHARS:
        text = large_values.read(step.key, cut.part, 0, cut.size).decode()
        picture = Picture(url=text) if picture.url else Picture(data=text)
    return _image(blocks.base64_of(picture))


def _image(data: str) -> HttpResponse:
    kind = blocks.image_type(data)
    try:
        body = base64.b64decode(data, validate=False)
    except binascii.Error:
        kind = ""
    if not kind:
        raise NotFound("This is no image that can be shown.")
    return HttpResponse(body, content_type=f"image/{kind}", headers=PLAIN_HEADERS)


# ----------------------------------------------------------------------------------------- raw files


@page("read")
def turn_as_json(request: PageRequest, turn_id: str) -> HttpResponseBase:
    """The turn as the Agents API returns it."""
    return plain_stream(
        partial_turn_chunks(read_turns.partial_turn(request.actor, turns.key_of(turn_id))), "application/json"
    )


@page("read")
def turn_events(request: PageRequest, turn_id: str) -> HttpResponseBase:
    """All events and deltas of a turn, one JSON object per line."""
    turn = read_turns.head(request.actor, turns.key_of(turn_id))
    return plain_stream(raw_view.events_json(entry for window in replay.windows(turn.key) for entry in window))

"""Whole values behind a turn's page: as they are, in one stream or by ranges; the files of the raw view."""

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
from agents.llama_stack.turn_streams import pieces_of
from agents.pages import blocks, raw_view, step_details, step_values, turn_responses
from agents.pages.blocks import Value
from agents.pages.step_details import Picture
from agents.record.schemas.turns import StepSnapshot, TruncatedText
from agents.record.store import large_values, read_turns, replay, step_pages, turns
from agents.uikit.access import PageRequest, page
from agents.uikit.http_responses import PLAIN_HEADERS, plain_stream

CHUNK = large_values.BLOCK
"""Bytes that are read at a time."""
AT_ONCE = 4 * CHUNK
"""Bytes that need no stream."""


# ------------------------------------------------------------------------------------------- sources


@dataclass(frozen=True, slots=True)
class Source:
    """A whole text, read by ranges of its bytes: ``pieces`` stand one behind the other, those that are cut
    are read from the blocks of step ``step``."""

    name: str
    step: int
    pieces: tuple[bytes | TruncatedText, ...]

    @property
    def size(self) -> int:
        return sum(map(_size, self.pieces))

    def read(self, start: int, end: int) -> bytes:
        """The bytes from ``start`` to ``end``."""
        out, at = [], 0
        for piece in self.pieces:
            first, last = max(start - at, 0), min(end - at, _size(piece))
            if first < last:
                out.append(self._range(piece, first, last))
            at += _size(piece)
        return b"".join(out)

    def _range(self, piece: bytes | TruncatedText, first: int, last: int) -> bytes:
        return (
            large_values.read(self.step, piece.part, first, last)
            if isinstance(piece, TruncatedText)
            else piece[first:last]
        )


def _size(piece: bytes | TruncatedText) -> int:
    return piece.size if isinstance(piece, TruncatedText) else len(piece)


def source(value: Value, step: int = 0) -> Source:
    """Where all of a value is."""
    pieces: list[bytes | TruncatedText] = []
    for piece in value.pieces or (value.text,):
        pieces += [b"\n"] if pieces else []
        pieces.append(piece if isinstance(piece, TruncatedText) else piece.encode(errors="replace"))
    return Source(value.name, step, tuple(pieces))


def of_step(actor: Actor, turn_id: str, step_id: str, part: str) -> Source:
    """A part of a step, all of the step where ``part`` is empty. Raises NotFound."""
    step = find_step(actor, turn_id, step_id)
    if part:
        return source(_part(step_values.of(step), part), step.key)
    return Source("", step.key, (b"".join(_detail(step)),))


def find_step(actor: Actor, turn_id: str, step_id: str) -> StepSnapshot:
    """A step of a turn, its long texts only begun. Raises NotFound."""
    turn, key = read_turns.head(actor, turns.key_of(turn_id)), ids.parse(ids.Kind.STEP, step_id)
    found = step_pages.steps_by_key(turn.key, [key] if key is not None else [])
    if not found:
        raise NotFound(f"Step '{step_id[:80]}' not found.")
    return found[0]


def _detail(step: StepSnapshot) -> Iterator[bytes]:
    return step_pages.detail(step.key) if step.cuts else iter([step.detail or b"{}"])


def of_turn(actor: Actor, turn_id: str, part: str) -> Source:
    """A message a turn was started with, or its answer. Raises NotFound."""
    turn = read_turns.head(actor, turns.key_of(turn_id))
    answered = step_details.message(turn.output_message)
    whole = [Value("answer", step_details.words(answered.content) if answered else "")]
    whole += [
        Value(f"{name}-{number}", step_details.words(content))
        for number, message in enumerate(step_details.messages(turn.input_messages))
        for name, content in (("input", message.content), ("context", message.context))
    ]
    whole += turn_responses.later_values(actor, turn.key)
    return source(_part(whole, part))


def _part(whole: Sequence[Value], name: str) -> Value:
    found = blocks.pick(whole, name)
    if found is None:
        raise NotFound(f"There is no part '{name[:80]}' here.")
    return found


# ------------------------------------------------------------------------------------------- answers


@page("read")
def step_value(request: PageRequest, turn_id: str, step_id: str) -> HttpResponseBase:
    """The whole text of a piece of a step, ``?part=result``; without a part all that is stored."""
    part = request.GET.get("part", "")
    if re.fullmatch(r"picture-\d{1,4}", part):
        return _picture(find_step(request.actor, turn_id, step_id), int(part.removeprefix("picture-")))
    return answer(request, of_step(request.actor, turn_id, step_id, part))


@page("read")
def turn_value(request: PageRequest, turn_id: str) -> HttpResponseBase:
    """The whole text of a message a turn was started with, ``?part=input-0``, or of its answer."""
    return answer(request, of_turn(request.actor, turn_id, request.GET.get("part", "")))


def answer(request: PageRequest, found: Source) -> HttpResponseBase:
    """A whole text, or the range of it that was asked for. Never a page, whatever it looks like; with
    ``?download`` a file."""
    size, span = found.size, _range(request.headers.get("Range", ""), found.size)
    start, end = span or (0, size)
    headers = {**PLAIN_HEADERS, "Accept-Ranges": "bytes", "Content-Length": str(end - start)}
    if "download" in request.GET:
        headers["Content-Disposition"] = f'attachment; filename="{re.sub("[^a-z0-9-]", "", found.name) or "step"}.txt"'
    if span is not None:
        headers["Content-Range"] = f"bytes {start}-{end - 1}/{size}"
    status, kind = 200 if span is None else 206, "text/plain; charset=utf-8"
    if end - start <= AT_ONCE:
        return HttpResponse(found.read(start, end), status=status, content_type=kind, headers=headers)
    return StreamingHttpResponse(_stream(found, start, end), status=status, content_type=kind, headers=headers)


async def _stream(found: Source, start: int, end: int) -> AsyncIterator[bytes]:
    for at in range(start, end, CHUNK):
        yield await read(found.read, at, min(at + CHUNK, end))


_RANGE = re.compile(r"bytes=(\d{1,15})-(\d{0,15})")


def _range(header: str, size: int) -> tuple[int, int] | None:
    """One range of bytes from its start; anything else is answered with the whole."""
    found = _RANGE.fullmatch(header)
    if not found or int(found[1]) >= size:
        return None
    start, end = int(found[1]), min(int(found[2]) + 1, size) if found[2] else size
    return (start, end) if start < end else None


def _picture(step: StepSnapshot, number: int) -> HttpResponse:
    """An image that is too large to stand in a page."""
    found = step_values.pictures(step)
    if number >= len(found):
        raise NotFound("There is no such image here.")
    cuts = {cut.pointer: cut for cut in step.cuts}
    picture = found[number]
    cut = cuts.get(picture.pointer)
    if cut is not None and cut.size <= blocks.LARGEST_PICTURE:
        text = large_values.read(step.key, cut.part, 0, cut.size).decode()
        picture = Picture(url=text) if picture.url else Picture(data=text)
    return _image(blocks.base64_of(picture))


def _image(data: str) -> HttpResponse:
    kind = blocks.kind_of(data)
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
    """The turn as the Agents API gives it."""
    return plain_stream(pieces_of(read_turns.partial_turn(request.actor, turns.key_of(turn_id))), "application/json")


@page("read")
def turn_events(request: PageRequest, turn_id: str) -> HttpResponseBase:
    """All of a turn's events and deltas, one JSON object a line."""
    turn = read_turns.head(request.actor, turns.key_of(turn_id))
    return plain_stream(raw_view.events_json(entry for some in replay.windows(turn.key) for entry in some))

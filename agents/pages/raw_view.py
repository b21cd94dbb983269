"""The raw view of a turn: its JSON, its events, its responses and their streams."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import msgspec
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from agents.base import ids
from agents.llama_stack.wire import turn_json
from agents.pages import turn_responses
from agents.record.schemas.events import EVENT, Delta, Entry
from agents.record.schemas.turns import TurnSnapshot
from agents.record.store import event_page
from agents.record.store.event_page import DeltaLine, EventLine
from agents.responses.store.responses import ResponseRecord
from agents.uikit import format, json_view
from agents.uikit.json_view import RenderedValue

PAGE_SIZE = 200
"""Events, spans or frames of a stream on a page; a link leads to all of them."""
LAST_PAGE = 10**9


@dataclass(frozen=True, slots=True)
class RawLine:
    """A line of the log: an event, or a run of deltas. ``offset`` is the formatted time since the turn's start."""

    number: str
    type: str
    offset: str
    note: str
    html: SafeString
    cut: str


def turn_as_json(turn: TurnSnapshot, *, has_all_steps: bool) -> RenderedValue:
    """The turn as the Agents API returns it, or its beginning if not all of its steps are loaded."""
    rendered = json_view.render_value(turn_json(turn).decode())
    if has_all_steps and not any(step.cuts for step in turn.steps):
        return rendered
    return replace(
        rendered, cut=_("%(size)s and more") % {"size": rendered.cut or json_view.byte_size(len(turn_json(turn)))}
    )


def lines(turn: TurnSnapshot, first: int) -> list[RawLine]:
    """A page of the turn's log, from event number ``first`` on."""
    log_lines = event_page.lines(turn.key, first, PAGE_SIZE)
    return [_event_line(turn, line) if isinstance(line, EventLine) else _delta_line(line) for line in log_lines]


def _event_line(turn: TurnSnapshot, event: EventLine) -> RawLine:
    body = json_view.render_value(event.body.decode())
    since = format.duration((event.at - turn.started_at) / 1000)
    cut = json_view.byte_size(len(event.body) + event.cut) if event.cut else body.cut
    return RawLine(str(event.seq), event.type, since, event.name, body.html, cut)


def _delta_line(run: DeltaLine) -> RawLine:
    """The line for a run of deltas of one channel."""
    count = ngettext("%(count)d delta", "%(count)d deltas", run.count) % {"count": run.count}
    letters = _("%(count)d characters") % {"count": run.letters}
    body = json_view.render_value(run.text)
    cut = body.cut or (letters if len(run.text) < run.letters else "")
    return RawLine(f"{run.after}.{run.ordinal}", f"delta {run.channel}", "", f"{count}, {letters}", body.html, cut)


# ------------------------------------------------------------------------------------------ responses


@dataclass(frozen=True, slots=True)
class RawResponse:
    """A response as JSON, and the first frames of its stream; ``more`` says whether there are others."""

    json: RenderedValue
    frames: list[RawLine]
    more: bool


def response(record: ResponseRecord) -> RawResponse:
    """The JSON and the first frames of a response."""
    frames = list(itertools.islice(_frames(turn_responses.stream(record)), PAGE_SIZE + 1))
    return RawResponse(_beginning(turn_responses.as_json(record)), frames[:PAGE_SIZE], len(frames) > PAGE_SIZE)


def _beginning(chunks: Iterator[bytes]) -> RenderedValue:
    """The beginning of a JSON text; reads no more than can be formatted."""
    body = b""
    for chunk in chunks:
        body += chunk
        if len(body) > json_view.MAX_FORMAT_CHARS:
            rendered = json_view.render_value(body.decode(errors="replace"), len(body))
            return replace(rendered, cut=_("%(size)s and more") % {"size": rendered.cut})
    return json_view.render_value(body.decode())


def _frames(stream: Iterable[bytes]) -> Iterator[RawLine]:
    """The frames of a stream; a run of deltas of one text is one line."""
    frames = (frame for chunk in stream for frame in chunk.split(b"\n\n") if frame.startswith(b"event: "))
    for kind, run in itertools.groupby(frames, key=_kind):
        if not kind.endswith(".delta"):
            yield from (_frame(kind, frame) for frame in run)
            continue
        remaining = iter(run)
        first = next(remaining)
        second = next(remaining, None)
        yield (
            _frame(kind, first) if second is None else _delta_frames(kind, itertools.chain((first, second), remaining))
        )


def _kind(frame: bytes) -> str:
    return frame.partition(b"\n")[0].removeprefix(b"event: ").decode()


def _data(frame: bytes) -> bytes:
    return frame.partition(b"\ndata: ")[2]


class _FrameFields(msgspec.Struct):
    """The number of a frame, and the text it adds."""

    sequence_number: int = 0
    delta: str = ""


_frame_decoder = msgspec.json.Decoder(_FrameFields)


def _frame(kind: str, frame: bytes) -> RawLine:
    body = json_view.render_value(_data(frame).decode())
    return RawLine(str(_frame_decoder.decode(_data(frame)).sequence_number), kind, "", "", body.html, body.cut)


def _delta_frames(kind: str, frames: Iterator[bytes]) -> RawLine:
    number, text, letters, total = 0, list[str](), 0, 0
    for total, frame in enumerate(frames, start=1):
        fields = _frame_decoder.decode(_data(frame))
        number = number if total > 1 else fields.sequence_number
        if letters <= json_view.MAX_CHARS:
            text.append(fields.delta)
        letters += len(fields.delta)
    count = ngettext("%(count)d frame", "%(count)d frames", total) % {"count": total}
    body = json_view.render_value("".join(text), letters if letters > json_view.MAX_CHARS else 0)
    return RawLine(str(number), kind, "", count, body.html, body.cut)


def events_json(log: Iterable[Entry]) -> Iterator[bytes]:
    """The whole log, one JSON object per line."""
    for entry in log:
        body = (
            msgspec.json.encode({"type": "delta", **_fields(entry)})
            if isinstance(entry, Delta)
            else EVENT.dump_json(entry)
        )
        yield body + b"\n"


def _fields(delta: Delta) -> dict[str, object]:
    fields = {name: getattr(delta, name) for name in ("channel", "index", "offset", "text", "after", "ordinal")}
    return {"step": ids.public(ids.Kind.STEP, delta.step), **fields}

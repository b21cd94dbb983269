"""Everything of a turn as it is stored: the turn's JSON and its events, for the raw view."""

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

ENTRIES = 200
"""Events or spans on a page, and frames of a stream; all of them are behind a link."""
LAST_PAGE = 10**9


@dataclass(frozen=True, slots=True)
class Line:
    """An event, or a run of deltas. ``offset`` is the time since the turn's start in words."""

    number: str
    type: str
    offset: str
    note: str
    html: SafeString
    cut: str


def whole_turn(turn: TurnSnapshot, *, is_whole: bool) -> RenderedValue:
    """The turn as the Agents API shows it, or its beginning where not all of its steps are there."""
    found = json_view.render_value(turn_json(turn).decode())
    if is_whole and not any(step.cuts for step in turn.steps):
        return found
    return replace(found, cut=_("%(size)s and more") % {"size": found.cut or json_view.byte_size(len(turn_json(turn)))})


def lines(turn: TurnSnapshot, first: int) -> list[Line]:
    """The turn's log for the page, from event number ``first`` on."""
    found = event_page.lines(turn.key, first, ENTRIES)
    return [_happened(turn, line) if isinstance(line, EventLine) else _typed(line) for line in found]


def _happened(turn: TurnSnapshot, event: EventLine) -> Line:
    body = json_view.render_value(event.body.decode())
    since = format.duration((event.at - turn.started_at) / 1000)
    cut = json_view.byte_size(len(event.body) + event.cut) if event.cut else body.cut
    return Line(str(event.seq), event.type, since, event.name, body.html, cut)


def _typed(run: DeltaLine) -> Line:
    """Neighbouring deltas of one channel, with where they begin."""
    count = ngettext("%(count)d delta", "%(count)d deltas", run.count) % {"count": run.count}
    letters = _("%(count)d characters") % {"count": run.letters}
    body = json_view.render_value(run.text)
    cut = body.cut or (letters if len(run.text) < run.letters else "")
    return Line(f"{run.after}.{run.ordinal}", f"delta {run.channel}", "", f"{count}, {letters}", body.html, cut)


# ------------------------------------------------------------------------------------------ responses


@dataclass(frozen=True, slots=True)
class Response:
    """A response as it is stored, and the frames of its stream; ``more`` says that there are others."""

    whole: RenderedValue
    frames: list[Line]
    more: bool


def response(record: ResponseRecord) -> Response:
    """A response for the page."""
    found = list(itertools.islice(_frames(turn_responses.stream(record)), ENTRIES + 1))
    return Response(_beginning(turn_responses.as_json(record)), found[:ENTRIES], len(found) > ENTRIES)


def _beginning(pieces: Iterator[bytes]) -> RenderedValue:
    """A JSON for the page, of which no more is read than can be laid out."""
    body = b""
    for piece in pieces:
        body += piece
        if len(body) > json_view.MAX_FORMAT_CHARS:
            found = json_view.render_value(body.decode(errors="replace"), len(body))
            return replace(found, cut=_("%(size)s and more") % {"size": found.cut})
    return json_view.render_value(body.decode())


def _frames(stream: Iterable[bytes]) -> Iterator[Line]:
    """The frames of a stream; neighbours that type the same text are one."""
    frames = (frame for some in stream for frame in some.split(b"\n\n") if frame.startswith(b"event: "))
    for kind, run in itertools.groupby(frames, key=_kind):
        if not kind.endswith(".delta"):
            yield from (_frame(kind, frame) for frame in run)
            continue
        rest = iter(run)
        first = next(rest)
        second = next(rest, None)
        yield _frame(kind, first) if second is None else _typed_frames(kind, itertools.chain((first, second), rest))


def _kind(frame: bytes) -> str:
    return frame.partition(b"\n")[0].removeprefix(b"event: ").decode()


def _data(frame: bytes) -> bytes:
    return frame.partition(b"\ndata: ")[2]


class _Told(msgspec.Struct):
    """What of a frame names it, and what it adds to a text."""

    sequence_number: int = 0
    delta: str = ""


_told = msgspec.json.Decoder(_Told)


def _frame(kind: str, frame: bytes) -> Line:
    body = json_view.render_value(_data(frame).decode())
    return Line(str(_told.decode(_data(frame)).sequence_number), kind, "", "", body.html, body.cut)


def _typed_frames(kind: str, frames: Iterator[bytes]) -> Line:
    number, text, letters, total = 0, list[str](), 0, 0
    for total, frame in enumerate(frames, start=1):
        told = _told.decode(_data(frame))
        number = number if total > 1 else told.sequence_number
        if letters <= json_view.MAX_CHARS:
            text.append(told.delta)
        letters += len(told.delta)
    count = ngettext("%(count)d frame", "%(count)d frames", total) % {"count": total}
    body = json_view.render_value("".join(text), letters if letters > json_view.MAX_CHARS else 0)
    return Line(str(number), kind, "", count, body.html, body.cut)


def events_json(log: Iterable[Entry]) -> Iterator[bytes]:
    """The whole log, one JSON object a line."""
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

"""Everything of a turn as it is stored: the turn's JSON and its events, for the raw view."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import msgspec
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from agents import ids
from agents.schemas.events import EVENT, Delta, Entry, Event, StepEnded, StepStarted
from agents.schemas.turns import TurnValue
from agents.store.responses import ResponseRecord
from agents.ui import format, json_view, legs
from agents.ui.json_view import Shown
from agents.wire.agents import turn_json

ENTRIES = 500
"""Events and runs of deltas on the page; all of them are behind a link."""


@dataclass(frozen=True, slots=True)
class Line:
    """An event, or a run of deltas. ``offset`` is the time since the turn's start in words."""

    number: str
    type: str
    offset: str
    note: str
    html: SafeString
    cut: str


def whole_turn(turn: TurnValue) -> Shown:
    """The turn as the Agents API shows it."""
    return json_view.shown(turn_json(turn).decode())


def lines(turn: TurnValue, log: Iterable[Entry]) -> tuple[list[Line], bool]:
    """The turn's log for the page, and whether there is more of it."""
    found = list(itertools.islice(_lines(turn, log), ENTRIES + 1))
    return found[:ENTRIES], len(found) > ENTRIES


def _lines(turn: TurnValue, log: Iterable[Entry]) -> Iterator[Line]:
    run: list[Delta] = []
    for entry in log:
        if run and not (isinstance(entry, Delta) and _channel(entry) == _channel(run[-1])):
            yield _typed(run)
            run = []
        if isinstance(entry, Delta):
            run.append(entry)
        else:
            yield _happened(turn, entry)
    if run:
        yield _typed(run)


def _channel(delta: Delta) -> tuple[int, str, int]:
    return delta.step, delta.channel, delta.index


def _happened(turn: TurnValue, event: Event) -> Line:
    body = json_view.shown(EVENT.dump_json(event, exclude_none=True).decode())
    since = format.duration((event.at - turn.started_at) / 1000)
    named = event.name if isinstance(event, StepStarted | StepEnded) else ""
    return Line(str(event.seq), event.type, since, named, body.html, body.cut)


def _typed(run: Sequence[Delta]) -> Line:
    """Neighbouring deltas of one channel, with where each begins."""
    text = "".join(delta.text for delta in run)
    count = ngettext("%(count)d delta", "%(count)d deltas", len(run)) % {"count": len(run)}
    letters = _("%(count)d characters") % {"count": len(text)}
    body = json_view.shown(text)
    place = f"{run[0].after}.{run[0].ordinal}"
    return Line(place, f"delta {run[0].channel}", "", f"{count}, {letters}", body.html, body.cut)


# ------------------------------------------------------------------------------------------ responses


@dataclass(frozen=True, slots=True)
class Response:
    """A response as it is stored, and the frames of its stream; ``more`` says that there are others."""

    whole: Shown
    frames: list[Line]
    more: bool


def response(record: ResponseRecord) -> Response:
    """A response for the page."""
    found = list(itertools.islice(_frames(legs.stream(record)), ENTRIES + 1))
    return Response(json_view.shown(legs.as_json(record).decode()), found[:ENTRIES], len(found) > ENTRIES)


def _frames(stream: bytes) -> Iterator[Line]:
    """The frames of a stream; neighbours that type the same text are one."""
    frames = (frame for frame in stream.split(b"\n\n") if frame.startswith(b"event: "))
    for kind, run in itertools.groupby(frames, key=_kind):
        told = list(run)
        if kind.endswith(".delta") and len(told) > 1:
            yield _typed_frames(kind, told)
        else:
            yield from (_frame(kind, frame) for frame in told)


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
    body = json_view.shown(_data(frame).decode())
    return Line(str(_told.decode(_data(frame)).sequence_number), kind, "", "", body.html, body.cut)


def _typed_frames(kind: str, frames: Sequence[bytes]) -> Line:
    told = [_told.decode(_data(frame)) for frame in frames]
    text = "".join(one.delta for one in told)
    count = ngettext("%(count)d frame", "%(count)d frames", len(told)) % {"count": len(told)}
    body = json_view.shown(text)
    return Line(str(told[0].sequence_number), kind, "", count, body.html, body.cut)


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

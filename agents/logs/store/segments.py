"""Sealing: turns and what is below them into columns, in the background.

Young turns are sealed in small segments, which are merged when there are enough for a large one; a
segment is made anew when turns of it have changed. What a segment holds is read in one snapshot
outside the writer, which only takes the columns, a few at a time; the last, tiny job makes them
count. Readers see the old segments or the new ones (`agents.logs.store.numbers.chunks`).
"""

from __future__ import annotations

import time
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from django.db.models import Max
from django.db.utils import IntegrityError

from agents.base.errors import Conflict
from agents.base.models.changes import Change, ChangeKind
from agents.base.store import changes
from agents.base.store.writer import writer
from agents.logs.models.segments import Segment, SegmentColumn
from agents.record.models.turns import Turn

LARGE, SMALL = 16_384, 1_024
"""Turns of a segment."""
STALE = 256
"""Turns of a segment that may have changed before it is made anew."""
BEHIND = 20_000
"""Changes that segments may lie behind; readers look through them."""
JOB_BYTES = 512 * 1024
BURIED = 16
"""Columns that one job deletes."""
READ_S = 60.0
PASS_S = 1.0
"""How long one pass works before others have their turn."""


@dataclass(frozen=True, slots=True)
class _Live:
    pk: int
    low: int
    high: int
    turns: int
    seq: int


def keep(pass_s: float = PASS_S) -> bool:
    """One pass of the upkeep; returns whether there is more to do at once."""
    ends = time.monotonic() + pass_s
    _bury()
    while time.monotonic() < ends:
        if not (_refresh() or _merge() or _seal()):
            return False
    return True


def seal_all() -> None:
    """Seal every turn there is, however few are left."""
    while keep():
        pass
    _seal(at_least=1)
    _bury()


# ------------------------------------------------------------------------------------------- what is due


def _live() -> list[_Live]:
    rows = Segment.objects.filter(live=True).order_by("low").values_list("pk", "low", "high", "turns", "seq")
    return [_Live(*row) for row in rows]


def _seal(at_least: int = 0) -> bool:
    """Seal the oldest turns behind the last segment. The newest stay out: they change most."""
    last = Segment.objects.filter(live=True).order_by("-low").values_list("high", flat=True).first() or 0
    rows = Turn.objects.unscoped("sealing").filter(pk__gt=last).order_by("pk").values_list("pk", flat=True)
    keys = list(rows[: LARGE + SMALL])
    if len(keys) < (at_least or 2 * SMALL):
        return False
    size = LARGE if len(keys) >= LARGE + SMALL else min(SMALL, len(keys))
    return _replace([], last, keys[size - 1])


def _merge() -> bool:
    """Make one large segment of small ones that lie together."""
    for small, run in groupby(_live(), key=lambda segment: segment.turns < LARGE // 2):
        some = _first(run) if small else []
        if some:
            return _replace(some, some[0].low, some[-1].high)
    return False


def _first(segments: Iterator[_Live]) -> list[_Live]:
    """The first neighbours that make a large segment together; none when all do not."""
    held: list[_Live] = []
    for segment in segments:
        held.append(segment)
        if sum(one.turns for one in held) >= LARGE:
            return held
    return []


def _refresh() -> bool:
    """Make anew what holds many changed turns, and say of the rest up to where it holds."""
    live, latest = _live(), changes.latest()
    if not live:
        return False
    seq = min(segment.seq for segment in live)
    if changes.is_pruned(seq):
        # nobody knows any more what has changed in them
        writer.write(lambda: Segment.objects.filter(live=True).update(live=False))
        return True
    stale = _stale(live, seq)
    for segment, count in zip(live, stale, strict=True):
        if count > STALE or (count and latest - seq > BEHIND):
            return _replace([segment], segment.low, segment.high)
    _advance([segment for segment, count in zip(live, stale, strict=True) if not count], latest)
    return False


def _stale(live: Sequence[_Live], seq: int) -> list[int]:
    """How many turns of each segment have changed since it was made."""
    rows = Change.objects.filter(seq__gt=seq, kind=ChangeKind.TURN, key__lte=live[-1].high)
    last = dict(rows.values("key").annotate(last=Max("seq")).values_list("key", "last"))
    highs = [segment.high for segment in live]
    counts = [0] * len(live)
    for key, changed in last.items():
        place = bisect_left(highs, key)
        counts[place] += changed > live[place].seq
    return counts


def _advance(segments: Sequence[_Live], seq: int) -> None:
    known = [segment.pk for segment in segments if segment.seq < seq]
    if known:
        writer.write(lambda: Segment.objects.filter(pk__in=known, live=True).update(seq=seq))


# --------------------------------------------------------------------------------------------- writing


def _replace(old: Sequence[_Live], low: int, high: int) -> bool:
    """Put new segments of the turns above ``low`` and up to ``high`` in the place of these; returns
    whether they count now: another process may have been first."""
    from agents.logs.store.numbers import snapshot

    with snapshot.reading(READ_S):
        seq = changes.latest()
        made = [(start, end, turns, _columns(start, end)) for start, end, turns in _pieces(low, high)]
    try:
        keys = [_write(Segment(low=start, high=end, turns=turns, seq=seq), data) for start, end, turns, data in made]
        writer.write(lambda: _switch([segment.pk for segment in old], keys))
    except (Conflict, IntegrityError):
        return False
    return True


def _pieces(low: int, high: int) -> list[tuple[int, int, int]]:
    """(low, high, turns) of segments of at most one and a half times the usual size."""
    rows = Turn.objects.unscoped("sealing").filter(pk__gt=low, pk__lte=high).order_by("pk")
    keys = list(rows.values_list("pk", flat=True))
    size = LARGE if len(keys) > LARGE * 3 // 2 else max(len(keys), 1)
    ends = [*(keys[end - 1] for end in range(size, len(keys) - size // 2, size)), high]
    starts = [low, *ends[:-1]]
    held = [bisect_right(keys, end) - bisect_right(keys, start) for start, end in zip(starts, ends, strict=True)]
    return list(zip(starts, ends, held, strict=True))


def _columns(low: int, high: int) -> list[SegmentColumn]:
    from agents.logs.store.numbers import columns, table

    found = table.read(table.within(low, high), table.EVERY)
    out = []
    for name, column in found.items():
        least, most = columns.bounds(column)
        out.append(SegmentColumn(name=name, least=least, most=most, data=columns.pack(column)))
    return out


def _write(segment: Segment, data: Sequence[SegmentColumn]) -> int:
    """Store a segment that does not count yet, in jobs that take no long."""
    writer.write(segment.save)
    for column in data:
        column.segment_id = segment.pk
    for part in _parts(data):
        writer.write(lambda part=part: SegmentColumn.objects.bulk_create(part))  # type: ignore[misc]  # bound now
    return segment.pk


def _parts(data: Sequence[SegmentColumn]) -> Iterator[list[SegmentColumn]]:
    part: list[SegmentColumn] = []
    for column in data:
        part.append(column)
        if sum(len(one.data) for one in part) > JOB_BYTES:
            yield part
            part = []
    yield part


def _switch(old: Sequence[int], new: Sequence[int]) -> None:
    """One job: the new segments count, the old do no more. Raises Conflict when they are not as they
    were, IntegrityError when another process sealed the same turns."""
    gone = Segment.objects.filter(pk__in=old, live=True).update(live=False)
    made = Segment.objects.filter(pk__in=new, live=False).update(live=True)
    if gone != len(old) or made != len(new):
        raise Conflict("Another process sealed these turns.", code="sealed_elsewhere")


def _bury() -> None:
    """Delete what does not count: replaced, or left by a process that ended."""
    for key in list(Segment.objects.filter(live=False).values_list("pk", flat=True)):
        while columns := list(SegmentColumn.objects.filter(segment=key).values_list("pk", flat=True)[:BURIED]):
            writer.write(lambda columns=columns: SegmentColumn.objects.filter(pk__in=columns)._raw_delete("default"))  # type: ignore[misc]  # bound now
        writer.write(lambda key=key: Segment.objects.filter(pk=key, live=False).delete())  # type: ignore[misc]  # bound now

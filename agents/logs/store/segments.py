"""Seal turns with their steps and responses into column segments, in the background of the process that leads.

Young turns are sealed in small segments, which are merged when there are enough for a large one; a
segment is rebuilt when many of its turns have changed. A segment is read in one snapshot outside the
writer, which only stores the columns, a few at a time; the last, tiny job makes them live. Readers see
either the old segments or the new ones (`agents.logs.store.numbers.chunks`).
"""

from __future__ import annotations

import time
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby

from django.db.models import Count, Max
from django.db.utils import IntegrityError

from agents.base.errors import Conflict
from agents.base.models.changes import Change, ChangeKind
from agents.base.store import changes
from agents.base.store.writer import writer
from agents.logs.models.segments import Segment, SegmentColumn
from agents.logs.store.numbers.layouts import ALL_COLUMNS
from agents.record.models.turns import Turn

LARGE_TURNS, SMALL_TURNS = 16_384, 1_024
"""Turns of a segment."""
MAX_STALE_TURNS = 256
"""Turns of a segment that may have changed before it is rebuilt."""
MAX_LAG = 20_000
"""Changes that segments may lag behind the feed; readers go through them."""
JOB_BYTES = 512 * 1024
DELETE_COLUMNS = 16
"""Columns that one job deletes."""
READ_S = 60.0
PASS_S = 1.0
"""How long one pass works before it lets others write."""


@dataclass(frozen=True, slots=True)
class _Live:
    pk: int
    low: int
    high: int
    turns: int
    seq: int


def maintain(pass_s: float = PASS_S) -> bool:
    """Run one pass of maintenance; return whether there is more to do at once."""
    deadline = time.monotonic() + pass_s
    _delete_replaced()
    while time.monotonic() < deadline:
        if not (_refresh() or _merge() or _seal()):
            return False
    return True


def seal_all() -> None:
    """Seal every turn, however few remain."""
    while maintain():
        pass
    _seal(at_least=1)
    _delete_replaced()


# ------------------------------------------------------------------------------------------- what is due


def _live() -> list[_Live]:
    rows = Segment.objects.filter(live=True).order_by("low").values_list("pk", "low", "high", "turns", "seq")
    return [_Live(*row) for row in rows]


def _seal(at_least: int = 0) -> bool:
    """Seal the oldest turns after the last segment. The newest stay out: they change most."""
    last_key = Segment.objects.filter(live=True).order_by("-low").values_list("high", flat=True).first() or 0
    rows = Turn.objects.unscoped("sealing").filter(pk__gt=last_key).order_by("pk").values_list("pk", flat=True)
    keys = list(rows[: LARGE_TURNS + SMALL_TURNS])
    if len(keys) < (at_least or 2 * SMALL_TURNS):
        return False
    size = LARGE_TURNS if len(keys) >= LARGE_TURNS + SMALL_TURNS else min(SMALL_TURNS, len(keys))
    return _replace([], last_key, keys[size - 1])


def _merge() -> bool:
    """Merge adjacent small segments into a large one."""
    for small, run in groupby(_live(), key=lambda segment: segment.turns < LARGE_TURNS // 2):
        batch = _first_run(run) if small else []
        if batch:
            return _replace(batch, batch[0].low, batch[-1].high)
    return False


def _first_run(segments: Iterator[_Live]) -> list[_Live]:
    """Return the first adjacent segments that are enough for a large one; none when all together are too few."""
    batch: list[_Live] = []
    for segment in segments:
        batch.append(segment)
        if sum(member.turns for member in batch) >= LARGE_TURNS:
            return batch
    return []


def _refresh() -> bool:
    """Rebuild a segment that lacks a column, or with many changed turns; advance the ``seq`` of unchanged segments."""
    live, latest = _live(), changes.latest()
    if not live:
        return False
    seq = min(segment.seq for segment in live)
    if changes.is_pruned(seq):
        # nobody knows any more what has changed in them
        writer.write(lambda: Segment.objects.filter(live=True).update(live=False))
        return True
    if outdated := incomplete([segment.pk for segment in live]):
        segment = next(segment for segment in live if segment.pk in outdated)
        return _replace([segment], segment.low, segment.high)
    stale = _stale(live, seq)
    for segment, count in zip(live, stale, strict=True):
        if count > MAX_STALE_TURNS or (count and latest - seq > MAX_LAG):
            return _replace([segment], segment.low, segment.high)
    _advance([segment for segment, count in zip(live, stale, strict=True) if not count], latest)
    return False


def incomplete(segments: Sequence[int]) -> set[int]:
    """Return those of some segments that lack a column: an earlier version sealed them, which did not know it."""
    columns = SegmentColumn.objects.filter(segment_id__in=segments, name__in=ALL_COLUMNS)
    counts = dict(columns.values("segment_id").annotate(count=Count("pk")).values_list("segment_id", "count"))
    return {segment for segment in segments if counts.get(segment, 0) < len(ALL_COLUMNS)}


def _stale(live: Sequence[_Live], seq: int) -> list[int]:
    """Count the turns of each segment that have changed since it was sealed."""
    rows = Change.objects.filter(seq__gt=seq, kind=ChangeKind.TURN, key__lte=live[-1].high)
    last_change = dict(rows.values("key").annotate(last=Max("seq")).values_list("key", "last"))
    highs = [segment.high for segment in live]
    counts = [0] * len(live)
    for key, changed in last_change.items():
        index = bisect_left(highs, key)
        counts[index] += changed > live[index].seq
    return counts


def _advance(segments: Sequence[_Live], seq: int) -> None:
    outdated = [segment.pk for segment in segments if segment.seq < seq]
    if outdated:
        writer.write(lambda: Segment.objects.filter(pk__in=outdated, live=True).update(seq=seq))


# --------------------------------------------------------------------------------------------- writing


def _replace(old: Sequence[_Live], low: int, high: int) -> bool:
    """Replace these segments by new ones of the turns above ``low`` and up to ``high``; return
    whether they are live now: another process may have been first."""
    from agents.logs.store.numbers import snapshot

    seq = changes.latest()  # before the snapshot, which would not have what is committed meanwhile
    with snapshot.reading(READ_S):
        new_segments = [(start, end, turns, _columns(start, end)) for start, end, turns in _ranges(low, high)]
    try:
        keys = [
            _write(Segment(low=start, high=end, turns=turns, seq=seq), data) for start, end, turns, data in new_segments
        ]
        writer.write(lambda: _switch([segment.pk for segment in old], keys))
    except (Conflict, IntegrityError):
        return False
    return True


def _ranges(low: int, high: int) -> list[tuple[int, int, int]]:
    """Return (low, high, turns) of segments of at most one and a half times the usual size."""
    rows = Turn.objects.unscoped("sealing").filter(pk__gt=low, pk__lte=high).order_by("pk")
    keys = list(rows.values_list("pk", flat=True))
    size = LARGE_TURNS if len(keys) > LARGE_TURNS * 3 // 2 else max(len(keys), 1)
    ends = [*(keys[end - 1] for end in range(size, len(keys) - size // 2, size)), high]
    starts = [low, *ends[:-1]]
    sizes = [bisect_right(keys, end) - bisect_right(keys, start) for start, end in zip(starts, ends, strict=True)]
    return list(zip(starts, ends, sizes, strict=True))


def _columns(low: int, high: int) -> list[SegmentColumn]:
    from agents.logs.store.numbers import columns, table

    by_name = table.read(table.within(low, high), ALL_COLUMNS)
    packed = []
    for name, column in by_name.items():
        minimum, maximum = columns.bounds(column)
        packed.append(SegmentColumn(name=name, least=minimum, most=maximum, data=columns.pack(column)))
    return packed


def _write(segment: Segment, data: Sequence[SegmentColumn]) -> int:
    """Store a segment that is not live yet, in short jobs."""
    writer.write(segment.save)
    for column in data:
        column.segment_id = segment.pk
    for part in _batches(data):
        writer.write(partial(SegmentColumn.objects.bulk_create, part))
    return segment.pk


def _batches(data: Sequence[SegmentColumn]) -> Iterator[list[SegmentColumn]]:
    part: list[SegmentColumn] = []
    for column in data:
        part.append(column)
        if sum(len(item.data) for item in part) > JOB_BYTES:
            yield part
            part = []
    yield part


def _switch(old: Sequence[int], new: Sequence[int]) -> None:
    """Make the new segments live and the old ones not, in one job. Raises Conflict when they have changed
    meanwhile, IntegrityError when another process sealed the same turns."""
    retired = Segment.objects.filter(pk__in=old, live=True).update(live=False)
    activated = Segment.objects.filter(pk__in=new, live=False).update(live=True)
    if retired != len(old) or activated != len(new):
        raise Conflict("Another process sealed these turns.", code="sealed_elsewhere")


def _delete_replaced() -> None:
    """Delete segments that are not live: replaced, or left by a process that ended."""
    for key in list(Segment.objects.filter(live=False).values_list("pk", flat=True)):
        while columns := list(SegmentColumn.objects.filter(segment=key).values_list("pk", flat=True)[:DELETE_COLUMNS]):
            writer.write(partial(SegmentColumn.objects.filter(pk__in=columns)._raw_delete, "default"))
        writer.write(Segment.objects.filter(pk=key, live=False).delete)

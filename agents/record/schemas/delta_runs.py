"""Consecutive deltas as one: their text, and the lengths by which it is cut into deltas again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from agents.record.schemas.events import Delta


@dataclass(slots=True)
class DeltaRun:
    """Consecutive deltas of one channel after one event. ``text`` is None where the step has it; ``logprobs`` are those
    of each delta, and empty where the deltas have none."""

    after: int
    step: int
    channel: Any
    index: int
    offset: int
    ordinal: int
    lengths: list[int]
    text: str | None
    logprobs: list[Sequence[dict[str, Any]]] = field(default_factory=list)

    @property
    def last(self) -> int:
        """Return the ordinal of the last delta."""
        return self.ordinal + len(self.lengths) - 1

    def row(self) -> list[Any]:
        row = [self.after, self.step, self.channel, self.index, self.offset, self.ordinal, self.lengths, self.text]
        return [*row, self.logprobs] if self.logprobs else row

    def deltas(self, after: int = 0) -> Iterator[Delta]:
        """Yield the deltas behind an ordinal."""
        skipped = min(max(after + 1 - self.ordinal, 0), len(self.lengths))
        start = sum(self.lengths[:skipped])
        assert self.text is not None  # filled in by the reader
        for number in range(skipped, len(self.lengths)):
            length = self.lengths[number]
            text, offset = self.text[start : start + length], self.offset + start
            logprobs = self.logprobs[number] if self.logprobs else ()
            yield Delta(self.step, self.channel, offset, text, self.after, self.ordinal + number, self.index, logprobs)
            start += length

    def without(self, ordinal: int) -> DeltaRun:
        """Return the run without its deltas up to an ordinal."""
        count = max(ordinal + 1 - self.ordinal, 0)
        size = sum(self.lengths[:count])
        start = (self.after, self.step, self.channel, self.index, self.offset + size, self.ordinal + count)
        return DeltaRun(*start, self.lengths[count:], (self.text or "")[size:], self.logprobs[count:])


def runs_of(deltas: Iterable[Delta]) -> list[DeltaRun]:
    """Join deltas in order to runs; repeated ones (a batch sent twice) are dropped."""
    runs: list[DeltaRun] = []
    texts: list[str] = []
    run: DeltaRun | None = None
    after, ordinal, offset = -1, 0, 0
    for delta in deltas:
        # nearly all are texts that go on, and compared here first
        if (
            run is not None
            and delta.ordinal == ordinal + 1
            and delta.after == after
            and delta.offset == offset
            and delta.channel == run.channel
            and delta.step == run.step
            and delta.index == run.index
            and not (delta.logprobs or run.logprobs)
        ):
            length = len(delta.text)
            run.lengths.append(length)
            texts.append(delta.text)
            ordinal += 1
            offset += length
            continue
        if delta.after <= after and (delta.after < after or delta.ordinal <= ordinal):
            continue
        if (
            run is None
            or (delta.ordinal, delta.offset, delta.after) != (ordinal + 1, offset, after)
            or (delta.step, delta.channel, delta.index) != (run.step, run.channel, run.index)
            or bool(delta.logprobs) != bool(run.logprobs)
        ):
            _close(runs, texts)
            start = (delta.after, delta.step, delta.channel, delta.index, delta.offset, delta.ordinal)
            run = DeltaRun(*start, [], None)
            runs.append(run)
        length = len(delta.text)
        run.lengths.append(length)
        if delta.logprobs:
            run.logprobs.append(delta.logprobs)
        texts.append(delta.text)
        after, ordinal, offset = delta.after, delta.ordinal, delta.offset + length
    _close(runs, texts)
    return runs


def _close(runs: list[DeltaRun], texts: list[str]) -> None:
    if runs:
        runs[-1].text = "".join(texts)
    texts.clear()


def joined(runs: Iterable[DeltaRun]) -> list[DeltaRun]:
    """Join consecutive runs; what was stored twice is dropped. It joins whole texts, and creates no deltas."""
    out: list[DeltaRun] = []
    texts: list[str] = []
    for run in runs:
        last = out[-1] if out else None
        if last and last.after == run.after and run.ordinal <= last.last:
            run = run.without(last.last)
        if not run.lengths:
            continue
        if last and _follows(last, sum(map(len, texts)), run):
            last.lengths.extend(run.lengths)
            last.logprobs.extend(run.logprobs)
        else:
            _close(out, texts)
            out.append(run)
        texts.append(run.text or "")
    _close(out, texts)
    return out


def _follows(last: DeltaRun, size: int, run: DeltaRun) -> bool:
    same = (last.after, last.step, last.channel, last.index) == (run.after, run.step, run.channel, run.index)
    same = same and bool(last.logprobs) == bool(run.logprobs)
    return same and (last.last + 1, last.offset + size) == (run.ordinal, run.offset)

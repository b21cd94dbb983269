"""Worker process that reads one large trace, which takes seconds and hundreds of megabytes, so that the server's other
requests wait for neither. Run as ``python -m agents.telemetry.reading.trace_worker``.

It receives frames (`agents.telemetry.reading.worker_frames`): the number of the trace's spans, then its reports (JSON
lists of spans), and, after the `TraceSummary`, the reports of the others of its conversation; an empty frame ends the
reports of each trace, and another all of them. It sends frames, too: `TraceSummary`, and of each turn a `TurnHead` and
all of its steps in order, `STEPS_PER_SLICE` at a time; None after the last turn, or `ReadFailure` instead of all that
would follow.
"""

from __future__ import annotations

import gc
import os
import resource
import sys
import traceback
from collections.abc import Iterator
from typing import BinaryIO

from msgspec.structs import replace

from agents.telemetry.reading import turns
from agents.telemetry.reading.merging import is_same
from agents.telemetry.reading.prepared_turns import prepare_beginning, prepare_steps, prepare_turns
from agents.telemetry.reading.spans import Span
from agents.telemetry.reading.stored_spans import first_spans, format_of
from agents.telemetry.reading.worker_frames import Answer, ReadFailure, TraceSummary, TurnHead, answer_frame, frames

STEPS_PER_SLICE = 256
"""Steps that are sent together, and stored together."""
MEMORY_BYTES = 6 * 2**30
"""Address space of the process: a trace that needs more cannot be read."""
NICENESS = 5


def slice_count(steps: int) -> int:
    """Return the number of frames that hold a turn's steps."""
    return -(-steps // STEPS_PER_SLICE)


def _read_trace(stream: BinaryIO) -> list[Span]:
    """Read the spans of one trace; those beyond the bound are skipped."""
    reports = frames(stream)
    spans = _interned(first_spans(reports))
    for _ in reports:  # read on to the end of this trace, where the next one begins
        pass
    return spans


def _interned(spans: list[Span]) -> list[Span]:
    """Share equal texts and resources between spans, to save memory."""
    interned: dict[str, str] = {}
    last: Span | None = None
    for span in spans:
        for name in ("trace", "parent", "name", "scope", "scope_version"):
            value = getattr(span, name)
            setattr(span, name, interned.setdefault(value, value))
        if last is not None and is_same(span.resource, last.resource):
            span.resource = last.resource
        last = span
    return spans


def answers(stream: BinaryIO) -> Iterator[Answer]:
    """Read the traces from the stream and iterate over all answers."""
    reported = int(next(frames(stream)))
    spans = _read_trace(stream)
    count, format_ = len(spans), format_of(spans)
    links, records = turns.build_turns_and_links(spans)
    yield TraceSummary(links)
    others: list[Span] = []
    while trace_spans := _read_trace(stream):
        others += trace_spans
    if others:
        _, records = turns.build_turns_and_links([*spans, *others])
    del spans, others
    while records:
        record = records.pop(0)
        steps = list(record.steps)
        [turn] = prepare_turns([replace(record, steps=())], format_, count, reported)
        yield TurnHead(turn, prepare_beginning(record, format_), [(step.id, step.started_us) for step in steps])
        del record, turn
        for start in range(0, len(steps), STEPS_PER_SLICE):
            yield prepare_steps(steps[start : start + STEPS_PER_SLICE])
    yield None


def main() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    os.nice(NICENESS)
    gc.disable()  # reference cycles are few, and the process ends with the trace
    try:
        problem = _send_answers()
    except MemoryError:
        problem = "It needs more memory than a trace may have."  # sent below, where the trace's memory is free again
    if problem:
        _send(ReadFailure(problem))


def _send_answers() -> str:
    """Send all answers; return why that failed, or ''."""
    try:
        for answer in answers(sys.stdin.buffer):
            _send(answer)
    except BrokenPipeError:
        os._exit(1)  # the server has closed the pipe
    except MemoryError:
        raise
    except Exception:  # noqa: BLE001 - returned as text, which the server raises again
        return traceback.format_exc(limit=-5)
    return ""


def _send(answer: Answer) -> None:
    sys.stdout.buffer.write(answer_frame(answer))
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()

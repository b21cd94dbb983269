"""Worker process that reads small traces, many at a time, so that a server that gets more than it can read on one core
has another for it. Run as ``python -m agents.telemetry.reading.batch_worker``.

It receives frames (`agents.telemetry.reading.worker_frames`), each with traces, and sends for each trace, in order, a
frame with `ReadTrace` or `ReadFailure`. It ends with its input.
"""

from __future__ import annotations

import gc
import os
import sys
import threading
import traceback
from collections.abc import Iterator
from queue import SimpleQueue
from typing import BinaryIO

from agents.base.store import encoding
from agents.telemetry.reading import turns
from agents.telemetry.reading.prepared_turns import prepare_turns
from agents.telemetry.reading.stored_spans import first_spans, format_of
from agents.telemetry.reading.trace_worker import NICENESS
from agents.telemetry.reading.worker_frames import (
    ReadFailure,
    ReadTrace,
    SmallTrace,
    answer_frame,
    decode_batch,
    frames,
)

TRACES_PER_COLLECTION = 2_000


def read_trace(trace: SmallTrace) -> ReadTrace:
    """Read a trace. Raises whatever its spans bring about."""
    spans = first_spans(encoding.unpack(kind, body) for kind, body in trace.bodies)
    links, records = turns.build_turns_and_links(spans)
    return ReadTrace(links, prepare_turns(records, format_of(spans), len(spans), trace.reported), len(spans))


def answers(stream: BinaryIO) -> Iterator[bytes]:
    """Read traces from the stream and iterate over the answers, as frames."""
    count = 0
    for body in frames(stream):
        for trace in decode_batch(body):
            yield _answer(trace)
            count += 1
            if count % TRACES_PER_COLLECTION == 0:
                gc.collect()


def _answer(trace: SmallTrace) -> bytes:
    try:
        return answer_frame(read_trace(trace))
    except Exception:  # noqa: BLE001 - returned as text, which the server logs; one trace must not end the others
        return answer_frame(ReadFailure(traceback.format_exc(limit=-5)))


def main() -> None:
    os.nice(NICENESS)
    gc.disable()  # the spans of a trace are many objects and few cycles, which `answers` collects
    unsent: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_send, args=(unsent,), daemon=True).start()
    for answer in answers(sys.stdin.buffer):
        unsent.put(answer)
    os._exit(0)  # the server has closed the pipe


def _send(unsent: SimpleQueue[bytes]) -> None:
    """Send all answers that there are, again and again, while the others are read: the server takes them when it has
    stored those before, and a pipe holds few. Many at a time, because a thread that computes lends this one Python's
    lock only every five milliseconds."""
    try:
        while True:
            ready = [unsent.get()]
            while not unsent.empty():
                ready.append(unsent.get())
            sys.stdout.buffer.write(b"".join(ready))
            sys.stdout.buffer.flush()
    except BrokenPipeError:
        os._exit(1)  # the server has closed the pipe


if __name__ == "__main__":
    main()

"""Makes the files of a batch that has run, and ends it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from agents.base import ids
from agents.base.access import Actor
from agents.batches.store import work
from agents.batches.store.work import BatchClaim, EndedLine
from agents.batches.wire import lines as wire
from agents.batches.wire.lines import CANCELLED, EXPIRED
from agents.knowledge.store import files
from agents.knowledge.store.files import NewFile

_REASONS = {"expired": EXPIRED, "cancelled": CANCELLED, "completed": CANCELLED}


def finish(held: BatchClaim, actor: Actor, ending: str) -> None:
    """Make the files that are not made yet, and end the batch as ``completed``, ``expired`` or ``cancelled``."""
    output, error = work.made_files(held)
    if output is None:
        _make(held, actor, "output", _lines(work.answered(held, is_completed=True)))
    if error is None:
        errors, without = work.answered(held, is_completed=False), work.unanswered(held)
        _make(held, actor, "error", _lines(chain(errors, without), _REASONS[ending]))
    if work.set_status(held, ending, of=("finalizing", "cancelling", "in_progress", "validating")):
        work.clear_lines(held)


def _lines(requests: Iterable[EndedLine], reason: str = "") -> Iterator[bytes]:
    """Encode requests; those that have no answer have none for this reason."""
    for request in requests:
        if request.answer:
            yield wire.answer_line(request.public_id, request.custom_id, request.answer)
        else:
            yield wire.error_line(request.public_id, request.custom_id, reason)


def _make(held: BatchClaim, actor: Actor, kind: str, lines: Iterator[bytes]) -> None:
    first = next(lines, None)
    if first is None:
        return

    def pieces() -> Iterator[bytes]:
        yield first
        yield from lines

    new = NewFile(f"{held.public_id}_{kind}.jsonl", "batch_output", "application/jsonl", held.output_lives_s)
    file = files.create(actor, new, files.even_blocks(pieces()))
    if not work.set_file(held, f"{kind}_file", file.key):
        files.delete(actor, ids.openai(ids.Kind.FILE, file.key))

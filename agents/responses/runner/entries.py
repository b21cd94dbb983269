"""The entries of a response that was just started, wherever it runs."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence

from agents.record import live
from agents.record.bus import Take
from agents.record.schemas.events import LAST_ORDINAL, Entry
from agents.responses.runner.requests import StartedResponse

Batches = AsyncGenerator[Sequence[Entry], None]


async def entries_of(started: StartedResponse, *, with_following: bool = False, take: Take | None = None) -> Batches:
    """Yield a response's entries from its first event on, and those of the responses that follow it because its client
    steers it, if asked for; an empty batch is a keep-alive. ``take`` is that of `live.follow`."""
    if started.loop is None:
        is_over = False
        try:
            async for batch in live.follow(
                started.turn,
                (started.first_seq - 1, LAST_ORDINAL),
                until_response=started.first_seq,
                with_following=with_following,
                take=take,
            ):
                yield batch
            is_over = True
        finally:
            if started.cancel is not None and not is_over:
                started.cancel()
        return
    # a response that is not stored runs here, and ends when its reader disconnects
    with started.hold_slot():
        yield started.opening
        async for entry in started.loop.events():
            if started.spending is not None:
                await started.spending.count(entry)
            yield (entry,)

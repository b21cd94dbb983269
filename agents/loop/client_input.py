"""Takes what the client sends while its turn runs: before the next inference, as a step of the turn.

Where it is stored until then, and who tells of it, `agents.loop.tasks` knows. What comes too late for the last
inference of a turn becomes a turn of its own (`agents.loop.service.Service.start_left_input`).
"""

from __future__ import annotations

from collections.abc import AsyncIterator

from agents.loop.progress import RunProgress
from agents.loop.replayed_steps import apply_recorded_step, take_stored_end
from agents.record.schemas.events import USER_INPUT, Entry, OtherDetail
from agents.record.schemas.items import messages_in
from agents.record.schemas.turns import MESSAGES

STEP_NAME = "client input"


async def take(progress: RunProgress) -> AsyncIterator[Entry]:
    """Take what has arrived, if anything has. The messages are in the next inference, and in the input that shields
    check."""
    recorded = progress.replay.take_step("other", STEP_NAME)
    if recorded is not None:
        for event in apply_recorded_step(progress, recorded):
            yield event
        _hear(progress, recorded.detail)
        return
    if progress.stored and not progress.stored.begins_with(STEP_NAME):
        return  # nothing was taken here
    arrived = None if progress.stored else await progress.read_input()
    if not progress.stored and arrived is None:
        return
    started = progress.step_started("other", STEP_NAME)
    yield started
    ended = take_stored_end(progress, started)
    if ended is None:
        arrived = arrived or await progress.read_input()
        data = (
            {"messages": MESSAGES.dump_python(list(arrived.messages), mode="json", exclude_none=True)}
            if arrived
            else {}
        )
        detail = OtherDetail(kind=USER_INPUT, data={**data, "ids": list(arrived.ids) if arrived else []})
        ended = progress.step_ended(started, detail)
    yield ended
    _hear(progress, ended.detail)


def _hear(progress: RunProgress, detail: object) -> None:
    if isinstance(detail, OtherDetail):
        progress.heard += messages_in(detail.data)

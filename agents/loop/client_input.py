"""Takes what the client sends while its turn runs: before the next inference, as a step of the turn. A client of
OpenAI's Responses *steers* with it: the response ends there, and the step is the first of the turn's next response.

Where it is stored until then, and who tells of it, `agents.loop.tasks` knows. What comes too late for the last
inference of a turn becomes a turn of its own (`agents.loop.service.Service.start_left_input`).
"""

from __future__ import annotations

from collections.abc import AsyncIterator

from agents.loop.progress import RunProgress
from agents.loop.replayed_steps import apply_recorded_step, take_stored_end
from agents.loop.run import ClientInput, Resume
from agents.record.schemas.events import USER_INPUT, Event, OtherDetail, Steering
from agents.record.schemas.items import messages_in
from agents.record.schemas.turns import MESSAGES

STEP_NAME = "client input"


async def take(progress: RunProgress) -> AsyncIterator[Event]:
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
        ended = progress.step_ended(started, _detail(arrived or await progress.read_input()))
    yield ended
    _hear(progress, ended.detail)


async def steering(progress: RunProgress) -> Resume | None:
    """Return the response that begins with what has arrived; None where nothing has, or where a run that is taken over
    went on. Of one that was about to be steered only the check of its output may be stored."""
    went_on = progress.stored and not progress.stored.begins_with("assistant-output")
    arrived = None if went_on else await progress.read_input()
    return progress.steering(arrived) if arrived else None


def steered(progress: RunProgress, steering: Steering) -> list[Event]:
    """Return the step that says what a response begins with."""
    started = progress.step_started("other", STEP_NAME)
    detail = _detail(ClientInput(steering.messages, steering.ids))
    ended = take_stored_end(progress, started) or progress.step_ended(started, detail)
    _hear(progress, ended.detail)
    return [started, ended]


def _detail(said: ClientInput | None) -> OtherDetail:
    if said is None:
        return OtherDetail(kind=USER_INPUT, data={"ids": []})
    messages = MESSAGES.dump_python(list(said.messages), mode="json", exclude_none=True)
    return OtherDetail(kind=USER_INPUT, data={"messages": messages, "ids": list(said.ids)})


def _hear(progress: RunProgress, detail: object) -> None:
    if isinstance(detail, OtherDetail):
        progress.heard += messages_in(detail.data)

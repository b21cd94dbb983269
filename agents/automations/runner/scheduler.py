"""Runs what is due, in each process that runs turns."""

from __future__ import annotations

import logging
from collections.abc import Callable

import msgspec

from agents.automations.runner import changes
from agents.automations.runner.delivery import deliver
from agents.automations.schemas.records import AutomationRecord
from agents.automations.store import automations, runs
from agents.automations.wire.objects import automation_json
from agents.base import ids
from agents.base.due_work import DueWork
from agents.base.errors import InvalidRequest
from agents.base.reading import read

log = logging.getLogger(__name__)

MAX_PLANNED = 100
"""Automations that are looked at together."""
MAX_BEGINNING = 16
"""Runs that a process begins at once."""


def plan() -> int:
    """Write the runs of automations whose time has come; returns how many. Of the times that have passed since, while
    no server ran, none is made up for. Blocking."""
    planned = 0
    for automation in automations.due(ids.now_us(), MAX_PLANNED):
        try:
            snapshot = msgspec.json.encode(automation_json(automation)).decode()
        except ValueError:  # what cannot be read any more must keep no other back
            log.exception("automation=%s: its target cannot be read", automation.public_id)
            continue
        planned += runs.plan(automation, _next(automation), snapshot)
    return planned


def _next(automation: AutomationRecord) -> int | None:
    if not automation.is_periodic:
        return None
    try:
        return changes.next_time(automation.schedule, ids.now_us())
    except InvalidRequest as error:  # a time zone that the machine knows no more
        log.warning("automation=%s: has no next time: %s", automation.public_id, error.message)
        return None


class Scheduler:
    """The scheduler of a process, whose name may change (``process``). `start` it on the loop of the server."""

    def __init__(self, process: Callable[[], str]) -> None:
        self._process = process
        self._work = DueWork("automations", runs.news, self._run_and_look)
        self.start, self.stop, self.settle = self._work.start, self._work.stop, self._work.settle

    async def _run_and_look(self) -> int | None:
        """Begin what is due, if anything is; returns when the next thing is."""
        due = await read(runs.next_due)
        if due is not None and due <= ids.now_us():
            await self.run_due()
            due = await read(runs.next_due)
        return due

    async def run_due(self) -> None:
        """Write the runs whose time has come, and begin those that are due, as far as there is room."""
        while await read(plan) == MAX_PLANNED:
            pass
        room = MAX_BEGINNING - self._work.under_way
        if room <= 0:
            return
        now = ids.now_us()
        for run in await read(runs.claim, await read(runs.due, now, room), self._process(), now):
            self._work.begin(f"run={run.public_id}", deliver(run))

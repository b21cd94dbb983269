"""The threads that make turns of what came in: one for large traces, so that no other waits for these. Outside a
server (commands, tests) there are none: whoever wakes them does their work."""

from __future__ import annotations

import logging
import threading
import time

from django.db import close_old_connections, connection

from agents.base.store import failures
from agents.telemetry.store.external import projection, reader_process
from agents.telemetry.store.external.projection import TRANSIENT, Sender

log = logging.getLogger(__name__)

IDLE_S = 1.0
"""Between two looks where nobody wakes it: another process may have taken something in."""
SHYNESS_S = 5.0
"""How long a trace rests with which the database failed, so that it holds up no other."""
PATIENCE = 3.0
"""A trace that grows is looked at again after so many times what the last look took: it costs at most a
quarter of the time, however large it is."""
PATIENCE_APART = 1.0
"""The same of a large one, which is read elsewhere, and stored with pauses."""


class Projector:
    """One thread, for the large traces or for all others. `start` it once a process; `stop` lets it finish the
    traces it is at."""

    def __init__(self, *, large: bool = False) -> None:
        self._large = large
        self._patience = PATIENCE_APART if large else PATIENCE
        self._news = threading.Event()
        self._ends = False
        self._thread: threading.Thread | None = None
        self._not_before: dict[int, float] = {}
        self._suspects: set[int] = set()
        self._served: Sender = None

    def start(self) -> None:
        self._ends = False
        self._thread = threading.Thread(
            target=self._work, name="large traces" if self._large else "projector", daemon=True
        )
        self._thread.start()

    def stop(self, timeout_s: float = 10.0) -> None:
        if self._thread is not None:
            self._ends = True
            self._news.set()
            self._thread.join(timeout_s)
            self._thread = None

    def wake(self) -> None:
        """Something came."""
        if self._thread is None:
            self._all_at_once()
        else:
            self._news.set()

    def _all_at_once(self) -> None:
        """Each trace once, whatever comes of it: this must end."""
        seen: set[int] = set()
        while traces := self._next(seen):
            seen.update(traces)
            projection.project(traces)

    def _work(self) -> None:
        while not self._ends:
            self._news.wait(IDLE_S)
            self._news.clear()
            try:
                self._pass_on()
            except TRANSIENT as error:
                if failures.unavailable(error, "projection") is None:
                    log.warning("projection failed, to be tried again: %s", error)
                close_old_connections()
            except Exception:  # logged; one trace must not end the thread that all of them need
                log.exception("projection failed")
        connection.close()

    def _pass_on(self) -> None:
        """Pass after pass, until nothing waits."""
        while not self._ends:
            now = time.monotonic()
            resting = {trace for trace, until in self._not_before.items() if until > now}
            ready = self._of_one_pass(self._next(resting))
            if not ready:
                return
            self._project(ready)

    def _next(self, resting: set[int]) -> list[int]:
        """Traces of one sender: they come in turn, so that nobody waits for all that another has sent."""
        senders = projection.senders()
        place = senders.index(self._served) + 1 if self._served in senders else 0
        for sender in (*senders[place:], *senders[:place]):
            ready = projection.due_of(sender, resting, large=self._large)
            if ready:
                self._served = sender
                return ready
        return []

    def _of_one_pass(self, ready: list[int]) -> list[int]:
        """A trace whose pass failed goes alone: it shows which it was."""
        if not ready:
            self._suspects.clear()
        if ready and ready[0] in self._suspects:
            return ready[:1]
        return [trace for trace in ready if trace not in self._suspects]

    def _project(self, traces: list[int]) -> None:
        began = time.monotonic()
        try:
            projection.project(traces)
        except TRANSIENT:
            self._rest(traces, began)
            raise
        self._suspects.difference_update(traces)
        took = time.monotonic() - began
        until = began + took * (1 + self._patience / len(traces))
        self._not_before.update((trace, until) for trace in traces)
        if len(self._not_before) > 10_000:
            self._not_before = {key: at for key, at in self._not_before.items() if at > began}

    def _rest(self, traces: list[int], began: float) -> None:
        """The database failed: its own trouble, or what one of these asks of it."""
        if len(traces) == 1:
            self._not_before[traces[0]] = began + SHYNESS_S
        else:
            self._suspects.update(traces)


class Projectors:
    """That of large traces and that of all others."""

    def __init__(self) -> None:
        self._all = Projector(), Projector(large=True)

    def start(self) -> None:
        for one in self._all:
            one.start()

    def stop(self) -> None:
        reader_process.stop()
        for one in self._all:
            one.stop()

    def wake(self) -> None:
        """Something came."""
        for one in self._all:
            one.wake()


projector = Projectors()
"""The process's projectors."""

"""The threads that project traces into turns: one for large traces, so that no other waits for these. Outside a
server (commands, tests) there are none: `Projector.wake` does their work in the caller's thread."""

from __future__ import annotations

import logging
import threading
import time

from django.db import close_old_connections, connection

from agents.base.store import failures
from agents.telemetry.store.external import projection, reader_process
from agents.telemetry.store.external.projection import TRANSIENT_ERRORS, Sender

log = logging.getLogger(__name__)

IDLE_S = 1.0
"""Time between two looks without a wake-up: another process may have stored something."""
RETRY_AFTER_S = 5.0
"""How long a trace rests after the database failed with it, so that it holds up no other."""
BACKOFF_FACTOR = 3.0
"""A trace that grows is projected again after this many times what the last projection took: it costs at most a
quarter of the time, however large it is."""
LARGE_BACKOFF_FACTOR = 1.0
"""The same for a large one, which another process reads, and which is stored with pauses."""


class Projector:
    """One thread, for the large traces or for all others. `start` it once a process; `stop` lets it finish the
    current traces."""

    def __init__(self, *, large: bool = False) -> None:
        self._large = large
        self._backoff_factor = LARGE_BACKOFF_FACTOR if large else BACKOFF_FACTOR
        self._wakeup = threading.Event()
        self._is_stopping = False
        self._thread: threading.Thread | None = None
        self._resting_until: dict[int, float] = {}
        self._failing: set[int] = set()
        self._last_sender: Sender = None

    def start(self) -> None:
        self._is_stopping = False
        self._thread = threading.Thread(
            target=self._work, name="large traces" if self._large else "projector", daemon=True
        )
        self._thread.start()

    def stop(self, timeout_s: float = 10.0) -> None:
        if self._thread is not None:
            self._is_stopping = True
            self._wakeup.set()
            self._thread.join(timeout_s)
            self._thread = None

    def wake(self) -> None:
        """Something came."""
        if self._thread is None:
            self._project_all()
        else:
            self._wakeup.set()

    def _project_all(self) -> None:
        """Project each trace once, even where that fails: this must end."""
        seen: set[int] = set()
        while traces := self._next_traces(seen):
            seen.update(traces)
            projection.project(traces)

    def _work(self) -> None:
        while not self._is_stopping:
            self._wakeup.wait(IDLE_S)
            self._wakeup.clear()
            try:
                self._run_passes()
            except TRANSIENT_ERRORS as error:
                if failures.unavailable(error, "projection") is None:
                    log.warning("projection failed, to be tried again: %s", error)
                close_old_connections()
            except Exception:  # logged; one trace must not end the thread that all of them need
                log.exception("projection failed")
        connection.close()

    def _run_passes(self) -> None:
        """Run passes until no trace waits."""
        while not self._is_stopping:
            now = time.monotonic()
            resting = {trace for trace, until in self._resting_until.items() if until > now}
            ready = self._select_batch(self._next_traces(resting))
            if not ready:
                return
            self._project(ready)

    def _next_traces(self, resting: set[int]) -> list[int]:
        """The traces of the next sender: senders take turns, so that none waits for all that another has sent."""
        senders = projection.senders()
        start = senders.index(self._last_sender) + 1 if self._last_sender in senders else 0
        for sender in (*senders[start:], *senders[:start]):
            ready = projection.due_traces_of(sender, resting, large=self._large)
            if ready:
                self._last_sender = sender
                return ready
        return []

    def _select_batch(self, ready: list[int]) -> list[int]:
        """Select what one pass projects. After a failed pass each of its traces goes alone, to find the culprit."""
        if not ready:
            self._failing.clear()
        if ready and ready[0] in self._failing:
            return ready[:1]
        return [trace for trace in ready if trace not in self._failing]

    def _project(self, traces: list[int]) -> None:
        started = time.monotonic()
        try:
            projection.project(traces)
        except TRANSIENT_ERRORS:
            self._postpone(traces, started)
            raise
        self._failing.difference_update(traces)
        duration = time.monotonic() - started
        until = started + duration * (1 + self._backoff_factor / len(traces))
        self._resting_until.update((trace, until) for trace in traces)
        if len(self._resting_until) > 10_000:
            self._resting_until = {key: at for key, at in self._resting_until.items() if at > started}

    def _postpone(self, traces: list[int], started: float) -> None:
        """Let traces rest after the database failed: because of itself, or because of one of them."""
        if len(traces) == 1:
            self._resting_until[traces[0]] = started + RETRY_AFTER_S
        else:
            self._failing.update(traces)


class Projectors:
    """The projector of large traces and that of all others."""

    def __init__(self) -> None:
        self._all = Projector(), Projector(large=True)

    def start(self) -> None:
        for projector in self._all:
            projector.start()

    def stop(self) -> None:
        reader_process.stop_all()
        for projector in self._all:
            projector.stop()

    def wake(self) -> None:
        """Something came."""
        for projector in self._all:
            projector.wake()


projector = Projectors()
"""The process's projectors."""

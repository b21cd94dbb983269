"""The threads that project traces into turns: one for large traces, so that no other waits for these. Outside a
server (commands, tests) there are none: `Projector.wake` does their work in the caller's thread.

Processes on one database share the work by sender: whoever projects the traces of one has claimed it. Turns of one
sender are in the same sessions and depend on each other, so two workers would mostly wait for each other, and each
would make small commits. Reports do not wait for a claim; what they add meanwhile is due again."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Collection, Iterator, Sequence

from django.db import close_old_connections, connection

from agents.base.store import failures
from agents.base.store.claims import WAIT_S, ClaimKind, Claims
from agents.telemetry.store.external import due_traces, projection, reader_process
from agents.telemetry.store.external.batch_reader import batch_reader
from agents.telemetry.store.external.due_traces import Sender
from agents.telemetry.store.external.projection import TRANSIENT_ERRORS

log = logging.getLogger(__name__)

IDLE_S = 1.0
"""Time between two looks without a wake-up: another process may have stored something."""
SHARED_S = 0.25
"""The same while a sender is claimed, here or by another process: its reports come to all of them."""
HOLD_S = 5.0
"""How long a process keeps several senders, before it lets others have some."""
PASS_S = 1.0
"""How long a pass goes on with more traces of a sender that is the only one."""
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
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._resting_until: dict[int, float] = {}
        self._failing: set[int] = set()
        self._last_sender: Sender = None
        self._senders = _ClaimedSenders(large=large)

    def start(self) -> None:
        self._stop.clear()
        self._thread = threading.Thread(
            target=self._work, name="large traces" if self._large else "projector", daemon=True
        )
        self._thread.start()

    def stop(self, timeout_s: float = 10.0) -> None:
        if self._thread is not None:
            self._stop.set()
            self._wakeup.set()
            self._thread.join(timeout_s)
            self._thread = None
        self._senders.close()

    def wake(self) -> None:
        """Something came."""
        if self._thread is None:
            self._project_all()
        else:
            self._wakeup.set()

    def _project_all(self) -> None:
        """Project each trace once, even where that fails: this must end."""
        seen: set[int] = set()
        try:
            while traces := self._next_traces(seen):
                seen.update(traces)
                projection.project([traces])
        finally:
            self._senders.close()
            batch_reader.stop()

    def _work(self) -> None:
        while not self._stop.is_set():
            self._wait()
            try:
                self._run_passes()
            except TRANSIENT_ERRORS as error:
                if failures.unavailable(error, "projection") is None:
                    log.warning("projection failed, to be tried again: %s", error)
                close_old_connections()
            except Exception:  # logged; one trace must not end the thread that all of them need
                log.exception("projection failed")
        connection.close()

    def _wait(self) -> None:
        """Wait until there may be something to do."""
        if self._senders.are_elsewhere:
            self._stop.wait(SHARED_S)  # reports that come meanwhile are most likely of the same senders
        elif not self._wakeup.wait(SHARED_S if self._senders.are_held else IDLE_S):
            self._senders.rest()
        self._wakeup.clear()

    def _run_passes(self) -> None:
        """Run passes until no trace waits."""
        self._senders.are_elsewhere = False
        while not self._stop.is_set():
            ready = self._select_batch(self._next_traces(self._resting(time.monotonic())))
            if not ready:
                return
            self._project(ready)

    def _next_traces(self, resting: set[int]) -> list[int]:
        """The traces of the next sender: senders take turns, so that none waits for all that another has sent."""
        senders = due_traces.senders()
        start = senders.index(self._last_sender) + 1 if self._last_sender in senders else 0
        if self._senders.should_pass_on(senders):
            return []
        for sender in (*senders[start:], *senders[:start]):
            if not self._senders.claim(sender):
                continue
            ready = due_traces.pass_of(sender, resting, large=self._large)
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

    def _project(self, first: list[int]) -> None:
        started = time.monotonic()
        traces = list(first)
        try:
            projection.project(self._chunks(traces))
        except TRANSIENT_ERRORS:
            self._postpone(traces, started)
            raise
        self._failing.difference_update(traces)
        duration = time.monotonic() - started
        until = started + duration * (1 + self._backoff_factor / len(traces))
        self._resting_until.update((trace, until) for trace in traces)
        if len(self._resting_until) > 10_000:
            self._resting_until = {key: at for key, at in self._resting_until.items() if at > started}

    def _chunks(self, traces: list[int]) -> Iterator[Sequence[int]]:
        """These traces, and those that follow of the same sender for `PASS_S`, while it is the only one: they are added
        to the list."""
        until = time.monotonic() + PASS_S
        chunk: Sequence[int] = traces[:]
        while chunk:
            yield chunk
            if self._large or self._failing or self._stop.is_set() or time.monotonic() > until:
                return
            if due_traces.senders() != [self._last_sender]:
                return
            resting = self._resting(time.monotonic()) | set(traces)
            chunk = due_traces.pass_of(self._last_sender, resting)
            traces.extend(chunk)

    def _resting(self, now: float) -> set[int]:
        return {trace for trace, until in self._resting_until.items() if until > now}

    def _postpone(self, traces: list[int], started: float) -> None:
        """Let traces rest after the database failed: because of itself, or because of one of them."""
        if len(traces) == 1:
            self._resting_until[traces[0]] = started + RETRY_AFTER_S
        else:
            self._failing.update(traces)


class _ClaimedSenders:
    """The senders that one projector has claimed. ``are_elsewhere`` tells that another process had one."""

    def __init__(self, *, large: bool = False) -> None:
        self._claims = Claims(ClaimKind.SENDER)
        self._large = large
        self._held: set[Sender] = set()
        self._since = 0.0
        self.are_elsewhere = False

    @property
    def are_held(self) -> bool:
        return bool(self._held)

    def claim(self, sender: Sender) -> bool:
        """Claim a sender; returns whether this projector has it."""
        if sender in self._held:
            return True
        if not self._claims.take([_claim_key(sender, self._large)]):
            self.are_elsewhere = True
            return False
        if not self._held:
            self._since = time.monotonic()
        self._held.add(sender)
        return True

    def should_pass_on(self, senders: Collection[Sender]) -> bool:
        """Give all up as soon as none of them is among these, which have something new. Returns True where they are
        given up because there are several and they were held for long: others are to get some of them now."""
        passes_on = len(self._held) > 1 and time.monotonic() - self._since > HOLD_S
        if self._held and (passes_on or self._held.isdisjoint(senders)):
            self._held.clear()
            self._claims.release()
        self.are_elsewhere |= passes_on
        return passes_on

    def rest(self) -> None:
        """Close a connection that is not needed now."""
        if not self._held:
            self._claims.close()

    def close(self) -> None:
        self._held.clear()
        self._claims.close()


def _claim_key(sender: Sender, large: bool) -> int:
    """Large traces take long: no other of their sender waits for them."""
    return 2 * (sender or 0) + large


def project_at_once(sender: Sender, traces: Sequence[int]) -> None:
    """Project these traces of a sender in the caller's thread; where another worker has claimed the sender, wait until
    it has projected them, or until it gives the sender up. Raises OperationalError, InterfaceError."""
    large = due_traces.large_among(traces)
    for key, part in (
        (_claim_key(sender, False), [trace for trace in traces if trace not in large]),
        (_claim_key(sender, True), sorted(large)),
    ):
        claims, due = Claims(ClaimKind.SENDER), set(part)
        try:
            while due and not claims.take([key]):
                time.sleep(WAIT_S)
                due &= due_traces.still_due(due)
            projection.project(_chunks([trace for trace in part if trace in due]))
        finally:
            claims.close()


def _chunks(traces: Sequence[int]) -> Iterator[Sequence[int]]:
    size = due_traces.MAX_TRACES_PER_PASS
    return (traces[start : start + size] for start in range(0, len(traces), size))


class Projectors:
    """The projector of large traces and that of all others."""

    def __init__(self) -> None:
        self._all = Projector(), Projector(large=True)
        self._is_left = False

    def leave_to_others(self, left: bool = True) -> None:
        """Project nothing in this process: others do."""
        self._is_left = left

    def start(self) -> None:
        for projector in self._all:
            projector.start()

    def stop(self) -> None:
        reader_process.stop_all()
        for projector in self._all:
            projector.stop()

    def wake(self) -> None:
        """Something came."""
        for projector in () if self._is_left else self._all:
            projector.wake()


projector = Projectors()
"""The process's projectors."""

"""Counts the reports that this process has refused, in memory: senders mostly drop what is refused without a word, and
whoever set them up looks here for the reason."""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass, replace

from agents.base import ids
from agents.base.access import Actor
from agents.base.errors import AgentsError
from agents.base.redaction import redact_error

log = logging.getLogger(__name__)

MAX_ENTRIES = 100
"""Entries that are kept: the one that was longest not refused again goes first."""
MAX_REASON_CHARS = 300
LOG_INTERVAL_US = 60_000_000
"""How often an entry is logged at most."""


@dataclass(frozen=True, slots=True)
class RefusedReports:
    """The reports of one sender to one address that were refused with one status. ``key`` is the name of their key, or
    of the user without one, '' where they had none that is valid; ``user_id`` is whose it is. ``reason`` and
    ``refused_at`` (microseconds) are those of the last one."""

    key: str
    user_id: int | None
    path: str
    status: int
    count: int = 0
    reason: str = ""
    refused_at: int = 0
    logged_at: int = 0


class Refusals:
    """The refused reports of one process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._entries: dict[tuple[object, ...], RefusedReports] = {}

    def add(self, actor: Actor | None, path: str, error: AgentsError) -> None:
        """Count a report of this actor, None where it could not be identified; ``path`` has names for its ids."""
        key, user_id = ("", None) if actor is None or actor.is_anonymous else (_printable(actor.name), actor.user_id)
        now_us, reason = ids.now_us(), redact_error(_printable(error.message[:MAX_REASON_CHARS]))
        name = (key, user_id, path, error.status)
        with self._lock:
            entry = self._entries.pop(name, None) or RefusedReports(key, user_id, path, error.status)
            is_due = not entry.logged_at or now_us - entry.logged_at >= LOG_INTERVAL_US
            logged_at = now_us if is_due else entry.logged_at
            entry = replace(entry, count=entry.count + 1, reason=reason, refused_at=now_us, logged_at=logged_at)
            self._entries[name] = entry
            if len(self._entries) > MAX_ENTRIES:
                del self._entries[next(iter(self._entries))]
        if is_due:
            who = entry.key or "no valid key"
            log.warning(
                "report refused: key=%s path=%s status=%s count=%s: %s", who, path, error.status, entry.count, reason
            )

    def visible_to(self, actor: Actor) -> list[RefusedReports]:
        """Return those that an actor may see, the latest first: its own, an administrator all."""
        with self._lock:
            entries = list(self._entries.values())[::-1]
        if actor.is_admin:
            return entries
        return [entry for entry in entries if entry.user_id is not None and entry.user_id == actor.user_id]

    def clear(self) -> None:
        """Forget all of them."""
        with self._lock:
            self._entries.clear()


def _printable(text: str) -> str:
    """Blank the characters that would control a terminal on which the log is read."""
    return "".join(character if character.isprintable() else " " for character in text)


refusals = Refusals()
"""Those of this process."""

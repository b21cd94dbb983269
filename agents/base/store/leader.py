"""Of the processes on one database, the one that does the rounds which one of them is enough for: it deletes what has
expired, seals segments, looks after the planner.

It holds a claim, which goes with its process or its connection; another process has it at its next look. Between the
loss of a connection and the next look there may be two for a moment: a round must be right also if two do it, and the
claim only spares the work.
"""

from __future__ import annotations

from django.db.utils import Error

from agents.base.store import failures
from agents.base.store.claims import ClaimKind, Claims

RENEW_S = 3.0
"""How often a process looks whether it leads: the longest that nobody does."""


class Leader:
    """Whether this process leads. `renew` it every `RENEW_S` seconds; `resign` at the end."""

    def __init__(self) -> None:
        self._claims = Claims(ClaimKind.ROUNDS)
        self.leads = False

    def renew(self) -> bool:
        """Go on leading, or begin where nobody does; returns whether this process leads."""
        try:
            self.leads = self._claims.is_held() or bool(self._claims.take([0]))
        except Error as error:
            self.leads = False
            if failures.unavailable(error, "leading") is None:
                raise
        if not self.leads:
            self._claims.close()  # one connection, of the one that leads
        return self.leads

    def resign(self) -> None:
        """Let another process lead."""
        self.leads = False
        self._claims.close()


leader = Leader()
"""That of this process."""

"""A client of a Turnlog server's log, for programs: `Turnlog`, and `AsyncTurnlog` to be awaited.

::

    from turnlog.client import Turnlog

    log = Turnlog()
    for turn in log.turns("status:failed", sort="-cost"):
        print(turn.id, turn.error_message, turn.cost_usd)
"""

from turnlog.client.clients import AsyncTurnlog, Turnlog
from turnlog.client.errors import (
    Conflict,
    InvalidRequest,
    NotAllowed,
    NotAuthenticated,
    NotFound,
    RateLimited,
    TurnlogError,
    Unreachable,
)

__all__ = [
    "AsyncTurnlog",
    "Conflict",
    "InvalidRequest",
    "NotAllowed",
    "NotAuthenticated",
    "NotFound",
    "RateLimited",
    "Turnlog",
    "TurnlogError",
    "Unreachable",
]

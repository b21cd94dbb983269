"""Turns that were reported to a server."""

from __future__ import annotations

import time
from typing import Any
from urllib.parse import quote

from tests.support.live.caller import Caller

PATIENCE_S = 30.0


def reported(caller: Caller, session: str) -> dict[str, Any]:
    """The row of the first turn of a session, once it is made."""
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        rows: list[dict[str, Any]] = caller.get(f"/v1/logs/turns?q={quote(f'session:{session}')}").json["data"]
        if rows:
            return rows[-1]
    raise AssertionError(f"no turn of session {session} in {PATIENCE_S} s")

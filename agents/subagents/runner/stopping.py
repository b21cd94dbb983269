"""Stops what sub-agents do for a turn when that ends without having waited for them: it was cancelled, it took too
long, its server stopped.

They are stopped in the transaction that stores the end, whichever process writes that: none of them is forgotten when
a process is lost. The processes that ran them can write nothing more from then on; this one is told at once, others
notice it when they write.
"""

from __future__ import annotations

from functools import partial

from django.db import transaction

from agents.base.errors import Unavailable
from agents.loop.current_service import service
from agents.record.schemas.events import TurnAwaiting, TurnEnded
from agents.record.store import agent_calls


def stop_below(turn: int, event: TurnAwaiting | TurnEnded) -> None:
    """Stop what a turn has called that is not over, in the caller's transaction."""
    if isinstance(event, TurnEnded) and event.status != "completed":
        for called, epoch in agent_calls.close_below(turn):
            transaction.on_commit(partial(_let_go, called, epoch))


def _let_go(turn: int, epoch: int) -> None:
    try:
        service().runner.let_go_of(turn, epoch)
    except Unavailable:
        return  # no turns run in this process

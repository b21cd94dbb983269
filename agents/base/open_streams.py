"""Limits the open streams and sockets of a process, with a fair share for each caller."""

from __future__ import annotations

from functools import partial

from django.conf import settings
from django.http import HttpRequest

from agents.base.access import Actor
from agents.base.errors import RateLimited
from agents.base.shares import Shares

RETRY_AFTER_S = 5
ON_RESPONSE_END = "agents.when_over"
"""Key of a list in the scope of a request: functions to call once its response has ended. Without a server there is
none."""


class OpenStreams(Shares):
    """Shares of the responses that have not ended, and of the sockets."""

    def refusal(self, held: int, waiting: int) -> RateLimited:
        message = f"You have {held} streams and sockets open: no more now."
        return RateLimited(message, code="too_many_streams", headers={"Retry-After": str(RETRY_AFTER_S)})


streams = OpenStreams(settings.MAX_STREAMS)
"""The process's open streams."""


def begin(request: HttpRequest, actor: Actor) -> None:
    """Count a request as open until its response has ended. Call it before any work is done for the request. Raises
    RateLimited."""
    callbacks = getattr(request, "scope", {}).get(ON_RESPONSE_END)
    if callbacks is not None and not actor.is_anonymous:
        callbacks.append(partial(streams.leave, streams.enter(actor.caller)))

"""What callers keep open, answers and sockets together: each has a fair share of what a process bears."""

from __future__ import annotations

from functools import partial

from django.conf import settings
from django.http import HttpRequest

from agents.base.access import Actor
from agents.base.errors import RateLimited
from agents.base.shares import Shares

RETRY_AFTER_S = 5
ON_RESPONSE_END = "agents.when_over"
"""Where the scope of a request has what is to be called once its answer is over. Without a server there is none."""


class OpenStreams(Shares):
    """Answers that are not over, and sockets."""

    def refusal(self, held: int, waiting: int) -> RateLimited:
        message = f"You have {held} streams and sockets open: no more now."
        return RateLimited(message, code="too_many_streams", headers={"Retry-After": str(RETRY_AFTER_S)})


streams = OpenStreams(settings.MAX_STREAMS)
"""Those of the process."""


def begin(request: HttpRequest, actor: Actor) -> None:
    """Count a request as open until its answer is over: before anything is begun for it. Raises RateLimited."""
    callbacks = getattr(request, "scope", {}).get(ON_RESPONSE_END)
    if callbacks is not None and not actor.is_anonymous:
        callbacks.append(partial(streams.leave, streams.enter(actor.caller)))

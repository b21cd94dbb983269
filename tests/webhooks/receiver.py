"""A receiver of webhooks on this machine: it keeps what comes, and answers as it is told."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.support.http_endpoint import Reply, Request, answering


@dataclass
class Receiver:
    """``replies`` are given one after the other, the last again and again; ``taken`` are the requests that came."""

    replies: list[Reply] = field(default_factory=lambda: [Reply()])
    taken: list[Request] = field(default_factory=list)
    url: str = ""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, request: Request) -> Reply:
        with self._lock:
            self.taken.append(request)
            return self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]

    def will(self, *statuses: int) -> None:
        """Answer with these statuses from now on."""
        self.replies = [Reply(_words(status), status) for status in statuses]

    @property
    def events(self) -> list[dict[str, Any]]:
        return [json.loads(request.body) for request in self.taken]

    @property
    def types(self) -> list[str]:
        return [event["type"] for event in self.events]

    @property
    def ids(self) -> list[str]:
        return [str(request.headers["webhook-id"]) for request in self.taken]


def _words(status: int) -> bytes:
    return b"" if status in (204, 304) else f"said {status}".encode()


@contextmanager
def receiving(replies: Sequence[Reply] = (Reply(),)) -> Iterator[Receiver]:
    receiver = Receiver(list(replies))
    with answering(receiver.answer) as url:
        receiver.url = f"{url}/hook"
        yield receiver

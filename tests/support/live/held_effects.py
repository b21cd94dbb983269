"""A tool whose calls a test holds in its hands: a server can be killed in the middle of one."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tests.support.http_endpoint import Reply, Request, answering, json_reply

PATIENCE_S = 60.0


@dataclass
class Effects:
    """The orders of the calls of ``charge`` so far; they are answered once ``release`` is set."""

    environment: dict[str, str] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)
    release: threading.Event = field(default_factory=threading.Event)

    def answer(self, request: Request) -> Reply:
        self.calls.append(json.loads(request.body)["order"])
        self.release.wait(PATIENCE_S)
        return json_reply({"said": "charged"})


@contextmanager
def held_effects() -> Iterator[Effects]:
    """The effects, and what makes a server offer the tool in the group ``orders``."""
    effects = Effects()
    with answering(effects.answer) as url:
        effects.environment["TOOL_FUNCTIONS"] = json.dumps({"orders": ["tests.support.live.counting_tools:charge"]})
        effects.environment["COUNTING_URL"] = url
        try:
            yield effects
        finally:
            effects.release.set()

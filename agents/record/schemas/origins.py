"""Turns of agents that run elsewhere: what is known of where they came from, beside their steps."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

MADE = "made:"
"""Begins the foreign id of a step that no span tells of; what follows is the call's id."""


class TurnReport(msgspec.Struct):
    """What its senders say of a turn; ``hidden``: its words were not captured."""

    warnings: list[str] = []
    hidden: bool = False
    agents: list[str] = []
    traces: list[str] = []


class _Request(msgspec.Struct):
    foreign: TurnReport = msgspec.field(default_factory=TurnReport)


def report_of(request: str) -> TurnReport:
    """From what is kept as the request of such a turn."""
    try:
        return msgspec.json.decode(request or "{}", type=_Request).foreign
    except (msgspec.MsgspecError, RecursionError):
        return TurnReport()


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a turn's spans came from: the service, the SDK that sent them, and the libraries that made them,
    each with its version where it has one. ``spans`` is how many are kept."""

    service: str = ""
    sdk: str = ""
    scopes: tuple[str, ...] = ()
    spans: int = 0

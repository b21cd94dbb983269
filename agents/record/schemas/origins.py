"""The origin of external turns: what is known of their senders, beside their steps."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

INFERRED_PREFIX = "made:"
"""Begins the id of a step that no span reports; the call's id follows."""


class Provenance(msgspec.Struct):
    """The facts about an external turn that its steps do not have; ``hidden``: its texts were not captured."""

    warnings: list[str] = []
    hidden: bool = False
    agents: list[str] = []
    traces: list[str] = []


class _Request(msgspec.Struct):
    foreign: Provenance = msgspec.field(default_factory=Provenance)


def parse_provenance(request: str) -> Provenance:
    """Parse the JSON that is stored as the request of an external turn."""
    try:
        return msgspec.json.decode(request or "{}", type=_Request).foreign
    except (msgspec.MsgspecError, RecursionError):
        return Provenance()


@dataclass(frozen=True, slots=True)
class SpanOrigin:
    """The origin of a turn's spans: the service, the SDK that sent them, and the libraries that made them, each with
    its version where it has one. ``spans`` is how many are stored."""

    service: str = ""
    sdk: str = ""
    scopes: tuple[str, ...] = ()
    spans: int = 0

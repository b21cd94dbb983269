"""Turns of agents that run elsewhere, for the tests of their pages."""

from __future__ import annotations

from typing import Any

from agents.base import ids
from agents.base.access import Actor
from agents.logs.store import listing, rows
from agents.query.parser import read
from agents.telemetry.reading.otlp import traces_from_json
from agents.telemetry.store.external import inbox
from agents.telemetry.store.external.projector import projector
from tests.telemetry.reading import reports


def tell(actor: Actor, *spans: Any, **resource: Any) -> None:
    """As if a request with these spans had come."""
    inbox.accept(actor, traces_from_json(reports.request(*spans, **resource)).spans)
    projector.wake()


def turn(actor: Actor, query: str = "") -> Any:
    """The row of the one turn there is."""
    found = listing.page(actor, read(query, now_us=ids.now_us(), level="turn"))
    [row] = rows.of("turn", found.keys)
    return row


def url(actor: Actor, query: str = "") -> str:
    return f"/turns/{ids.public(ids.Kind.TURN, turn(actor, query).id)}/"

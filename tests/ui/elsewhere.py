"""Turns of agents that run elsewhere, for the tests of their pages."""

from __future__ import annotations

from typing import Any

from agents import ids
from agents.access import Actor
from agents.ingest.otlp import traces_from_json
from agents.query.parser import read
from agents.store import listing, rows
from agents.store.foreign import inbox
from agents.store.foreign.projector import projector
from tests.ingest import reports


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

"""Finds the first run of a request that is sent again.

A client names a request by ``Idempotency-Key``; the SDKs send none, but count their retries. A
repeat attaches to the first run and is never run twice.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from django.db import connection

from agents.base import ids
from agents.base.access import Actor
from agents.base.errors import Conflict, InvalidRequest
from agents.base.store.sql import execute_later
from agents.record.models.turns import Response

WINDOW_US = 600_000_000
"""How long a counted retry finds its first run."""
KEY_WINDOW_US = 86_400_000_000
MAX_KEY_LENGTH = 256

_LOCK_CLASS = 0x61676E72
"""First half of PostgreSQL's advisory locks of requests; the second half is made of the fingerprint."""


@dataclass(frozen=True, slots=True)
class Retry:
    """``fingerprint`` finds the first run; ``named`` tells whether the client chose it by key."""

    fingerprint: str
    body_hash: str
    named: bool
    count: int


class AlreadyRun(Conflict):
    """A repeated request reached the store after its first run had begun: the caller attaches to that run."""

    def __init__(self, turn: int, number: int) -> None:
        super().__init__("This request is being run already.", code="already_run")
        self.turn, self.number = turn, number


def read(actor: Actor, route: str, body: bytes, key: str | None, count: str | None) -> Retry:
    """Parse the retry headers of a request. Raises InvalidRequest for an invalid key."""
    body_hash = hashlib.sha256(body).hexdigest()
    caller = f"{actor.user_id}:{actor.key_id}:{actor.name}:{route}"
    if key:
        if len(key) > MAX_KEY_LENGTH or not key.isprintable() or not key.isascii():
            raise InvalidRequest("Idempotency-Key: at most 256 printable ASCII characters.", param="Idempotency-Key")
        return Retry(_digest("key", caller, key), body_hash, named=True, count=0)
    number = int(count) if count and count.isdecimal() and len(count) < 4 else 0
    return Retry(_digest("body", caller, body_hash), body_hash, named=False, count=number)


def _digest(*parts: str) -> str:
    return hashlib.sha256("\x00".join(parts).encode()).hexdigest()


def hold(retry: Retry) -> None:
    """Keep other processes from beginning a run of the same request until this transaction ends: it is stored then,
    and they find it. SQLite has one writer, and needs no lock."""
    if connection.vendor == "postgresql":
        number = int(retry.fingerprint[:8], 16) & 0x7FFFFFFF
        execute_later("SELECT pg_advisory_xact_lock(%s, %s)", _LOCK_CLASS, number)


def first_run(retry: Retry) -> tuple[int, int] | None:
    """Return (turn, number of the response) that this request already started; None when it is the first. Raises
    InvalidRequest when the key was used for another body."""
    if not retry.named and retry.count == 0:
        return None
    window = KEY_WINDOW_US if retry.named else WINDOW_US
    rows = Response.objects.unscoped("the fingerprint holds the actor").filter(
        fingerprint=retry.fingerprint, id__gte=ids.first_key(ids.now_us() - window)
    )
    row = rows.order_by("-id").values_list("turn_id", "number", "body_hash").first()
    if row is None:
        return None
    check_same(retry, row[2])
    return row[0], row[1]


def check_same(retry: Retry, body_hash: str) -> None:
    """Raise InvalidRequest when the key of a request was used for another body."""
    if body_hash != retry.body_hash:
        raise InvalidRequest(
            "Idempotency-Key: this key was used with another body.",
            param="Idempotency-Key",
            code="idempotency_mismatch",
        )

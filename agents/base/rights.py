"""Whether those who were let in still may: open streams, sockets and runs, all asked about together.

Who opens something holds it here and is told when the rights it was opened with are gone: the user
switched off or deleted, the key revoked, deleted or expired, other attributes or actions, a token
that its issuer no longer stands for. A run is more patient than a connection: it ends when its actor
may not run any more, not because a key or token has expired meanwhile or a right was added.

Belongs to the event loop. `check` costs the same three queries however much is open.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import TypeVar, cast

from agents.base import ids
from agents.base.access import Actor
from agents.base.errors import NotAuthenticated, Unavailable
from agents.base.reading import read
from agents.base.store import keys
from agents.base.store.keys import Rights

T = TypeVar("T")
log = logging.getLogger(__name__)

CHECK_S = 2.0
REASON = "access revoked"
MESSAGE = "Your access has ended or changed, and with it what it had opened."

Reidentify = Callable[[], Actor]
"""Asks anew whose a token is; blocking. Raises NotAuthenticated, Unavailable."""


@dataclass(eq=False, slots=True)
class AccessWatch:
    """Something open. ``tell`` is called once, on the loop, when its actor lost the rights to it."""

    actor: Actor
    on_lost: Callable[[], None]
    reidentify: Reidentify | None = None
    is_run: bool = False

    def is_lost(self, now: Rights | None, now_us: int) -> bool:
        """Whether these rights, None for none, are too little for it."""
        if now is None:
            return True
        if self.is_run:
            return now.actor is not None and "run" not in now.actor.actions
        return now.has_expired(now_us) or now.actor not in (None, self.actor)


_watches: set[AccessWatch] = set()


def watch(
    actor: Actor, on_lost: Callable[[], None], *, reidentify: Reidentify | None = None, is_run: bool = False
) -> AccessWatch:
    """Be told when the actor loses its rights, until `release`. The server itself loses none."""
    access = AccessWatch(actor, on_lost, reidentify, is_run)
    if actor.user_id is not None:
        _watches.add(access)
    return access


def unwatch(access: AccessWatch) -> None:
    _watches.discard(access)


def _lose(access: AccessWatch) -> None:
    if access in _watches:
        _watches.discard(access)
        access.on_lost()


async def check() -> None:
    """Tell those whose users, keys or attributes are no more what they were."""
    watches = list(_watches)
    if not watches:
        return
    current = await read(keys.rights, {_name(access) for access in watches})
    now_us = ids.now_us()
    for held in watches:
        if held.is_lost(current.get(_name(held)), now_us):
            _lose(held)


def _name(access: AccessWatch) -> tuple[int, int | None]:
    return cast(int, access.actor.user_id), access.actor.key_id


async def check_tokens() -> None:
    """The same for tokens, one after the other: whoever issued them may be slow. An issuer that cannot
    be asked takes nobody's rights away."""
    for access in [item for item in _watches if item.reidentify is not None]:
        try:
            same = await read(cast(Reidentify, access.reidentify)) == access.actor
        except NotAuthenticated:
            same = False
        except Unavailable as error:
            log.warning("tokens of open connections could not be checked: %s", error.message)
            return
        if not same:
            _lose(access)


# ------------------------------------------------------------------------------------------ connections


class Connection:
    """What one request keeps open. When its rights are gone, what it waits for is broken off."""

    def __init__(self, actor: Actor, reidentify: Reidentify | None = None) -> None:
        self._waiting: asyncio.Task[object] | None = None
        self._lost = False
        self._access = watch(actor, self._lose, reidentify=reidentify)

    def _lose(self) -> None:
        self._lost = True
        if self._waiting is not None:
            self._waiting.cancel()

    def close(self) -> None:
        unwatch(self._access)

    async def wait(self, awaitable: Awaitable[T]) -> T:
        """What is waited for. Raises NotAuthenticated when the rights end before it comes."""
        task = asyncio.current_task()
        assert task is not None  # on the loop there is one
        if self._lost:
            _forget(awaitable)
            raise _revoked()
        self._waiting = task
        try:
            return await awaitable
        except asyncio.CancelledError:
            if self._lost and task.uncancel() == 0:
                raise _revoked() from None
            raise
        finally:
            self._waiting = None


def _forget(awaitable: Awaitable[object]) -> None:
    """A coroutine that nobody will await."""
    close = getattr(awaitable, "close", None)
    if close is not None:
        close()


def _revoked() -> NotAuthenticated:
    return NotAuthenticated(MESSAGE, code="access_revoked")


async def while_allowed(actor: Actor, reidentify: Reidentify | None, work: Callable[[], Awaitable[T]]) -> T:
    """What this gives, while its actor may wait for it. Raises NotAuthenticated."""
    connection = Connection(actor, reidentify)
    try:
        return await connection.wait(work())
    finally:
        connection.close()


async def parts_while_allowed(
    actor: Actor, reidentify: Reidentify | None, parts: AsyncIterator[T], last: Callable[[NotAuthenticated], T] | None
) -> AsyncGenerator[T, None]:
    """The parts of a stream, while its actor may read it, and then ``last``. Without that it breaks off, so that
    nobody takes a part for the whole: raises NotAuthenticated."""
    connection = Connection(actor, reidentify)
    try:
        async with aclosing(cast(AsyncGenerator[T, None], parts)):
            while True:
                try:
                    part = await connection.wait(anext(parts))
                except StopAsyncIteration:
                    return
                yield part
    except NotAuthenticated as error:
        if last is None or error.code != "access_revoked":
            raise
        yield last(error)
    finally:
        connection.close()

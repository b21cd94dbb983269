"""Checks again and again that the actors of open streams, sockets and runs still have their rights.

Whoever opens one registers an `AccessWatch`, and is called back when the rights it was opened with are
lost: the user disabled or deleted, the key revoked, deleted or expired, attributes or actions changed, a
token no longer valid. A run is more tolerant than a connection: it ends when its actor
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
"""Identifies the owner of a token again; blocking. Raises NotAuthenticated, Unavailable."""


@dataclass(eq=False, slots=True)
class AccessWatch:
    """Watches the rights of the actor of a stream, socket or run. ``on_lost`` is called once, on the loop, when they
    are lost."""

    actor: Actor
    on_lost: Callable[[], None]
    reidentify: Reidentify | None = None
    is_run: bool = False

    def is_lost(self, now: Rights | None, now_us: int) -> bool:
        """Tell whether the current rights (None: no rights) no longer suffice."""
        if now is None:
            return True
        if self.is_run:
            return now.actor is not None and "run" not in now.actor.actions
        return now.has_expired(now_us) or now.actor not in (None, self.actor)


_watches: set[AccessWatch] = set()


def watch(
    actor: Actor, on_lost: Callable[[], None], *, reidentify: Reidentify | None = None, is_run: bool = False
) -> AccessWatch:
    """Call ``on_lost`` when the actor loses its rights, until `unwatch`. The server itself loses none."""
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
    """Compare the users, keys and attributes of all watches with the store, and call back those that lost rights."""
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
    """Check the tokens of all watches, one after the other: their issuer may be slow. Nobody loses rights while the
    issuer cannot be reached."""
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
    """A request that stays open. When its rights are lost, what it waits for is cancelled."""

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
        """Await something. Raises NotAuthenticated when the rights are lost meanwhile."""
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
    """Close a coroutine that nobody will await, which would be warned about."""
    close = getattr(awaitable, "close", None)
    if close is not None:
        close()


def _revoked() -> NotAuthenticated:
    return NotAuthenticated(MESSAGE, code="access_revoked")


async def while_allowed(actor: Actor, reidentify: Reidentify | None, work: Callable[[], Awaitable[T]]) -> T:
    """Await work while its actor has the rights to. Raises NotAuthenticated."""
    connection = Connection(actor, reidentify)
    try:
        return await connection.wait(work())
    finally:
        connection.close()


async def parts_while_allowed(
    actor: Actor, reidentify: Reidentify | None, parts: AsyncIterator[T], last: Callable[[NotAuthenticated], T] | None
) -> AsyncGenerator[T, None]:
    """Yield the parts of a stream while its actor may read it, and then ``last``. Without ``last`` it raises
    NotAuthenticated, so that nobody takes a part for the whole."""
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

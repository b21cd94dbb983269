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
from agents.base.errors import AgentsError, NotAuthenticated, Unavailable
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
_just_lost: dict[tuple[tuple[int, int | None], bool], Actor] = {}
"""Who lost rights at the last check, by (name, whether to run). A request that was let in before that check may open
its connection after it: it is to be told of the loss, and not only that its run was cancelled."""


def watch(
    actor: Actor, on_lost: Callable[[], None], *, reidentify: Reidentify | None = None, is_run: bool = False
) -> AccessWatch:
    """Call ``on_lost`` when the actor loses its rights, until `unwatch`. The server itself loses none."""
    access = AccessWatch(actor, on_lost, reidentify, is_run)
    if actor.user_id is not None:
        _watches.add(access)
        if _has_just_lost(access):
            _lose(access)
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
    current = await read(keys.rights, {_name(access) for access in watches}) if watches else {}
    now_us = ids.now_us()
    lost = [held for held in watches if held.is_lost(current.get(_name(held)), now_us)]
    _just_lost.clear()
    _just_lost.update({(_name(held), held.is_run): held.actor for held in lost})
    for held in [*lost, *filter(_has_just_lost, _watches)]:
        _lose(held)


def _has_just_lost(access: AccessWatch) -> bool:
    """Tell whether its actor has lost its rights, as they were, at the last check. Who may not run may nothing."""
    kinds = (True,) if access.is_run else (True, False)
    return any(_just_lost.get((_name(access), is_run)) == access.actor for is_run in kinds)


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


class ConnectionEnded(Exception):
    """A request that stayed open was ended from outside, by this ``error``."""

    def __init__(self, error: AgentsError) -> None:
        super().__init__(error.message)
        self.error = error


class Connection:
    """A request that stays open. When its rights are lost, or the server stops, what it waits for is cancelled."""

    def __init__(self, actor: Actor, reidentify: Reidentify | None = None) -> None:
        self._waiting: asyncio.Task[object] | None = None
        self._error: AgentsError | None = None
        self._access = watch(actor, self._lose, reidentify=reidentify)
        _connections.add(self)

    def _lose(self) -> None:
        self.end(NotAuthenticated(MESSAGE, code="access_revoked"))

    def end(self, error: AgentsError) -> None:
        """Cancel what it waits for, for this reason."""
        self._error = self._error or error
        if self._waiting is not None:
            self._waiting.cancel()

    def close(self) -> None:
        unwatch(self._access)
        _connections.discard(self)

    async def wait(self, awaitable: Awaitable[T]) -> T:
        """Await something. Raises ConnectionEnded when it is ended meanwhile."""
        task = asyncio.current_task()
        assert task is not None  # on the loop there is one
        if self._error is not None:
            _forget(awaitable)
            raise ConnectionEnded(self._error)
        self._waiting = task
        try:
            return await awaitable
        except asyncio.CancelledError:
            if self._error is not None and task.uncancel() == 0:
                raise ConnectionEnded(self._error) from None
            raise
        finally:
            self._waiting = None


_connections: set[Connection] = set()


def end_connections(error: AgentsError) -> None:
    """End all requests that are open, with this error for an answer or a last frame: the server stops."""
    for connection in list(_connections):
        connection.end(error)


def _forget(awaitable: Awaitable[object]) -> None:
    """Close a coroutine that nobody will await, which would be warned about."""
    close = getattr(awaitable, "close", None)
    if close is not None:
        close()


async def while_allowed(actor: Actor, reidentify: Reidentify | None, work: Callable[[], Awaitable[T]]) -> T:
    """Await work while its actor has the rights to. Raises NotAuthenticated, or Unavailable when the server stops."""
    connection = Connection(actor, reidentify)
    try:
        return await connection.wait(work())
    except ConnectionEnded as ended:
        raise ended.error from None
    finally:
        connection.close()


async def parts_while_allowed(
    actor: Actor, reidentify: Reidentify | None, parts: AsyncIterator[T], last: Callable[[AgentsError], T] | None
) -> AsyncGenerator[T, None]:
    """Yield the parts of a stream while its actor may read it and the server runs, and then ``last``. Without ``last``
    it raises NotAuthenticated or Unavailable, so that nobody takes a part for the whole."""
    connection = Connection(actor, reidentify)
    try:
        async with aclosing(cast(AsyncGenerator[T, None], parts)):
            while True:
                try:
                    part = await connection.wait(anext(parts))
                except StopAsyncIteration:
                    return
                yield part
    except ConnectionEnded as ended:
        if last is None:
            raise ended.error from None
        yield last(ended.error)
    finally:
        connection.close()

"""Rights of what is open: what ends it, what does not, and what looking costs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import replace
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from agents.base import ids, rights
from agents.base.access import Actor
from agents.base.errors import AgentsError, NotAuthenticated, Unavailable
from agents.base.models.people import ApiKey, GroupAttributes, User
from agents.base.reading import read
from agents.base.store import keys
from agents.base.timestamps import to_datetime

Run = Callable[[Coroutine[Any, Any, Any]], Any]
MakeUser = Callable[..., Actor]


@pytest.fixture
def owner(transactional_db: None, make_user: MakeUser) -> Actor:
    return make_user("owner", teams=["red"])


def by_key(owner: Actor, *actions: str, **more: Any) -> Actor:
    keys.forget()
    return keys.of_secret(keys.create(owner, name="a key", actions=actions or ("read", "run"), **more)[1])


def is_told(run_async: Run, actor: Actor, change: Callable[[], Any], **how: Any) -> bool:
    """Whether somebody who holds something open is told after a change."""
    told: list[bool] = []

    async def flow() -> None:
        held = rights.watch(actor, lambda: told.append(True), **how)
        await rights.check()
        await rights.check_tokens()
        assert told == []
        await read(_changed(change))
        for _ in range(2):  # told once
            await rights.check()
            await rights.check_tokens()
        rights.unwatch(held)

    run_async(flow())
    assert len(told) < 2
    return bool(told)


def _changed(change: Callable[[], Any]) -> Callable[[], None]:
    def job() -> None:
        try:
            change()
        finally:
            connection.close()

    return job


def users(actor: Actor) -> Any:
    return User.objects.filter(pk=actor.user_id or 0)


def rows(actor: Actor) -> Any:
    return ApiKey.objects.filter(pk=actor.key_id or 0)


def another_team() -> None:
    GroupAttributes.objects.update(attributes={"teams": ["blue"]})


@pytest.mark.parametrize("is_run", [False, True])
def test_who_is_switched_off_or_deleted_is_told(
    run_async: Run, owner: Actor, make_user: MakeUser, is_run: bool
) -> None:
    assert is_told(run_async, owner, lambda: users(owner).update(is_active=False), is_run=is_run)
    other = make_user("other")
    assert is_told(run_async, by_key(other), lambda: users(other).delete(), is_run=is_run)


@pytest.mark.parametrize("is_run", [False, True])
def test_who_has_lost_its_key_is_told(run_async: Run, owner: Actor, is_run: bool) -> None:
    for change in (
        lambda key: rows(key).update(revoked_at=to_datetime(ids.now_us())),
        lambda key: rows(key).delete(),
        lambda key: rows(key).update(actions=["read"]),
    ):
        key = by_key(owner)
        assert is_told(run_async, key, lambda key=key, change=change: change(key), is_run=is_run)  # type: ignore[misc]  # bound now


def test_a_run_is_not_ended_by_what_lets_its_actor_go_on(run_async: Run, owner: Actor) -> None:
    expired, past = by_key(owner), to_datetime(ids.now_us())
    for is_run in (False, True):
        assert is_told(run_async, expired, lambda: rows(expired).update(expires_at=past), is_run=is_run) is not is_run
        rows(expired).update(expires_at=None)
        assert is_told(run_async, owner, another_team, is_run=is_run) is not is_run
        GroupAttributes.objects.update(attributes={"teams": ["red"]})


def test_who_may_do_what_it_could_is_told_nothing(run_async: Run, owner: Actor, make_user: MakeUser) -> None:
    make_user("other")
    change = lambda: User.objects.filter(username="other").update(is_active=False)  # noqa: E731 - one of many
    for actor in (owner, by_key(owner), keys.local(), replace(owner, user_id=None)):
        assert not is_told(run_async, actor, change)


@pytest.mark.parametrize("is_run", [False, True])
def test_who_opens_something_right_behind_a_check_is_told(run_async: Run, owner: Actor, is_run: bool) -> None:
    """A run and the request that waits for it begin to be watched one after the other: a check between the two must
    end both for the same reason."""
    told: list[str] = []

    async def flow() -> None:
        held = [rights.watch(owner, lambda: told.append("before"), is_run=is_run)]
        await read(_changed(lambda: users(owner).update(is_active=False)))
        await rights.check()
        held.append(rights.watch(owner, lambda: told.append("behind")))
        assert told == ["before", "behind"]
        await read(_changed(lambda: users(owner).update(is_active=True)))
        await rights.check()
        held.append(rights.watch(owner, lambda: told.append("later")))
        await rights.check()
        for one in held:
            rights.unwatch(one)

    run_async(flow())
    assert told == ["before", "behind"]


def test_a_run_goes_on_whose_connection_lost_what_it_does_not_need(run_async: Run, owner: Actor) -> None:
    told: list[str] = []

    async def flow() -> None:
        held = [rights.watch(owner, lambda: told.append("connection"))]
        await read(_changed(another_team))
        await rights.check()
        held.append(rights.watch(owner, lambda: told.append("run"), is_run=True))
        for one in held:
            rights.unwatch(one)

    run_async(flow())
    assert told == ["connection"]


def test_a_token_is_asked_about_again(run_async: Run, owner: Actor) -> None:
    now: list[Actor | AgentsError] = [owner]

    def again() -> Actor:
        if isinstance(now[0], AgentsError):
            raise now[0]
        return now[0]

    def become(value: Actor | AgentsError) -> bool:
        now[0] = owner
        return is_told(run_async, owner, lambda: now.__setitem__(0, value), reidentify=again)

    assert become(NotAuthenticated("The token has expired."))
    assert become(replace(owner, attributes={}))
    assert not become(Unavailable("The issuer is away.", retry_after_s=5))
    assert not become(owner)


def test_however_much_is_open_is_looked_at_with_three_queries(make_user: MakeUser) -> None:
    whom = set()
    for number in range(20):
        user = make_user(f"user-{number}", teams=["red"])
        whom |= {(user.user_id or 0, None), (user.user_id or 0, by_key(user).key_id)}
    with CaptureQueriesContext(connection) as asked:
        found = keys.rights(whom)
    assert len(found) == 40
    assert len(asked) == 3


# --------------------------------------------------------------------------------------------- streams


async def slow() -> AsyncIterator[bytes]:
    yield b"one"
    await asyncio.Event().wait()


def read_until_lost(owner: Actor, last: Callable[[AgentsError], bytes] | None) -> Coroutine[Any, Any, list[bytes]]:
    async def flow() -> list[bytes]:
        parts = rights.parts_while_allowed(owner, None, slow(), last)
        found = [await anext(parts)]
        reading = asyncio.ensure_future(anext(parts))
        await asyncio.sleep(0)
        await read(_changed(lambda: users(owner).update(is_active=False)))
        await rights.check()
        found.append(await reading)
        assert [part async for part in parts] == []
        return found

    return flow()


def test_a_stream_ends_with_a_last_word(run_async: Run, owner: Actor) -> None:
    assert run_async(read_until_lost(owner, lambda error: str(error.code).encode())) == [b"one", b"access_revoked"]
    assert rights._watches == set()


def test_a_file_breaks_off(run_async: Run, owner: Actor) -> None:
    with pytest.raises(NotAuthenticated, match="access has ended"):
        run_async(read_until_lost(owner, None))
    assert rights._watches == set()


def test_a_reader_that_goes_takes_nobodys_rights(run_async: Run, owner: Actor) -> None:
    async def flow() -> None:
        reading = asyncio.ensure_future(anext(rights.parts_while_allowed(owner, None, slow(), None)))
        assert await reading == b"one"
        parts = rights.parts_while_allowed(owner, None, slow(), None)
        await anext(parts)
        reading = asyncio.ensure_future(anext(parts))
        await asyncio.sleep(0)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        with pytest.raises(StopAsyncIteration):
            await anext(parts)

    run_async(flow())
    assert rights._watches == set()


def test_what_was_lost_between_two_parts_ends_before_the_next(run_async: Run, owner: Actor) -> None:
    async def flow() -> None:
        parts = rights.parts_while_allowed(owner, None, slow(), None)
        await anext(parts)
        await read(_changed(lambda: users(owner).update(is_active=False)))
        await rights.check()
        with pytest.raises(NotAuthenticated):
            await anext(parts)

    run_async(flow())

"""Names registered over the API: whose they are, and who uses which."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from agents.base.access import Actor
from agents.base.errors import Conflict, NotAllowed, NotFound
from agents.base.store.registered import Registration, Registry
from agents.loop.store.registered_models import registered_models
from agents.safety.store import registered_shields

MakeUser = Callable[..., Actor]
NEW = Registration("guard", "rules", "", {"rules": [{"keywords": ["x"]}]})


@pytest.fixture(params=[registered_shields, registered_models], ids=["shields", "models"])
def registry(request: pytest.FixtureRequest) -> Registry:
    found: Registry = request.param
    return found


def test_what_was_registered_is_found(registry: Registry, make_user: MakeUser) -> None:
    me = make_user("me")
    registry.add(me, NEW)
    assert registry.find(me, "guard") == NEW
    assert registry.listing(me) == [NEW]
    assert registry.find(me, "Guard") is None


def test_the_same_again_changes_nothing(registry: Registry, make_user: MakeUser) -> None:
    me = make_user("me")
    registry.add(me, NEW)
    registry.add(me, NEW)
    assert registry.listing(me) == [NEW]


def test_another_of_the_name_is_refused_to_those_who_see_it(registry: Registry, make_user: MakeUser) -> None:
    me, mate, stranger = make_user("me", teams=["red"]), make_user("mate", teams=["red"]), make_user("stranger")
    other = replace(NEW, params={})
    registry.add(me, NEW)
    for actor in (me, mate):
        with pytest.raises(Conflict, match="'guard' is registered already"):
            registry.add(actor, other)
    registry.add(stranger, other)
    assert (registry.find(mate, "guard"), registry.find(stranger, "guard")) == (NEW, other)


def test_who_sees_several_uses_the_oldest(registry: Registry, make_user: MakeUser, admin: Actor) -> None:
    other = replace(NEW, params={})
    registry.add(make_user("first"), NEW)
    registry.add(make_user("second"), other)
    assert registry.find(admin, "guard") == NEW
    assert registry.listing(admin) == [NEW]


def test_only_who_sees_it_forgets_it(registry: Registry, make_user: MakeUser) -> None:
    me, mate, stranger = make_user("me", teams=["red"]), make_user("mate", teams=["red"]), make_user("stranger")
    registry.add(me, NEW)
    with pytest.raises(NotFound, match="'guard' not found"):
        registry.delete(stranger, "guard")
    with pytest.raises(NotAllowed, match="may not manage"):
        registry.delete(replace(mate, actions=frozenset({"read", "run"})), "guard")
    registry.delete(mate, "guard")
    assert registry.find(me, "guard") is None


def test_who_may_only_read_registers_nothing_twice(registry: Registry, make_user: MakeUser) -> None:
    """What decides whether it is there is what may be managed, not what may be read."""
    me = make_user("me")
    manager = replace(me, actions=frozenset({"manage"}))
    registry.add(manager, NEW)
    registry.add(manager, NEW)
    assert registry.listing(me) == [NEW]


def test_one_is_changed_and_dropped_by_its_key_by_those_who_may(registry: Registry, make_user: MakeUser) -> None:
    me = make_user("me", teams=["red"])
    key = registry.add(me, NEW)
    assert registry.add(me, NEW) == key
    stranger, reader = make_user("stranger", teams=["green"]), make_user("reader", teams=["red"], roles=["reader"])
    for actor, refusal in ((stranger, NotFound), (reader, NotAllowed)):
        with pytest.raises(refusal):
            registry.revise(actor, key, replace(NEW, resource="theirs"))
        with pytest.raises(refusal):
            registry.drop(actor, key)
    changed = replace(NEW, provider="scripted", resource="x", params={})
    registry.revise(make_user("mate", teams=["red"]), key, changed)
    assert registry.find(me, "guard") == changed
    registry.drop(me, key)
    assert registry.find(me, "guard") is None

"""Registered groups of tools: who sees them, what is the same again, and that headers are sealed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from agents.base.access import Actor
from agents.base.errors import Conflict, NotAllowed, NotFound
from agents.base.store import sealed
from agents.record.schemas.content import ToolDef
from agents.tools import store as toolgroups
from agents.tools.models import ToolGroup
from agents.tools.store import NewGroup

pytestmark = pytest.mark.django_db

URL, HEADERS = "https://mcp.example/mcp", {"Authorization": "Bearer kanarie"}
NEW = NewGroup("mcp::one", "model-context-protocol", URL, {"limit": 3}, HEADERS)
MakeUser = Callable[..., Actor]


@pytest.fixture
def owner(make_user: MakeUser) -> Actor:
    return make_user("owner", teams=["red"])


def test_it_is_read_back_as_it_was_registered(owner: Actor) -> None:
    record = toolgroups.register(owner, NEW)

    assert toolgroups.find(owner, "mcp::one") == record
    assert (record.name, record.provider_id, record.uri) == ("mcp::one", "model-context-protocol", URL)
    assert (record.args, record.headers, record.tools) == ({"limit": 3}, HEADERS, [])
    assert (record.listed_at, record.note) == (None, "")
    assert toolgroups.listing(owner) == [record]
    assert "kanarie" not in repr(record)


def test_the_same_again_changes_nothing(owner: Actor) -> None:
    assert toolgroups.register(owner, NEW).key == toolgroups.register(owner, NEW).key


@pytest.mark.parametrize(
    "other",
    [
        NewGroup("mcp::one", "model-context-protocol", "https://mcp.example/other", {"limit": 3}, HEADERS),
        NewGroup("mcp::one", "model-context-protocol", URL, {"limit": 4}, HEADERS),
        NewGroup("mcp::one", "model-context-protocol", URL, {"limit": 3}),
    ],
)
def test_another_of_the_same_name_is_a_conflict(owner: Actor, other: NewGroup) -> None:
    first = toolgroups.register(owner, NEW)
    with pytest.raises(Conflict, match="registered already"):
        toolgroups.register(owner, other)
    assert toolgroups.find(owner, "mcp::one") == first


def test_it_is_for_those_who_see_it(owner: Actor, make_user: MakeUser, admin: Actor) -> None:
    mate, stranger = make_user("mate", teams=["red"]), make_user("stranger", teams=["green"])
    record = toolgroups.register(owner, NEW)

    assert toolgroups.find(mate, "mcp::one") == toolgroups.find(admin, "mcp::one") == record
    assert toolgroups.find(stranger, "mcp::one") is None
    assert toolgroups.listing(stranger) == []
    with pytest.raises(NotFound):
        toolgroups.unregister(stranger, "mcp::one")
    theirs = toolgroups.register(stranger, NewGroup("mcp::one", "model-context-protocol", "https://green.example/"))
    assert theirs.key != record.key
    assert toolgroups.find(stranger, "mcp::one") == theirs
    assert toolgroups.find(mate, "mcp::one") == record


def test_it_is_changed_and_dropped_by_those_who_may(owner: Actor, make_user: MakeUser) -> None:
    key = toolgroups.register(owner, NEW).key
    stranger, reader = make_user("stranger", teams=["green"]), make_user("reader", teams=["red"], roles=["reader"])
    for actor, refusal in ((stranger, NotFound), (reader, NotAllowed)):
        with pytest.raises(refusal):
            toolgroups.revise(actor, key, NewGroup("mcp::one", "model-context-protocol", "https://evil.example/"))
        with pytest.raises(refusal):
            toolgroups.delete(actor, key)
    assert toolgroups.get(owner, key).headers == HEADERS

    other = NewGroup("mcp::one", "model-context-protocol", "https://mcp.example/other", {}, {"X-Key": "new"})
    changed = toolgroups.revise(make_user("mate", teams=["red"]), key, other)
    assert (changed.key, changed.uri, changed.headers) == (key, other.uri, other.headers)
    toolgroups.delete(owner, key)
    with pytest.raises(NotFound, match="This tool group was not found"):
        toolgroups.get(owner, key)


def test_it_is_gone_once_unregistered(owner: Actor) -> None:
    toolgroups.register(owner, NEW)
    toolgroups.unregister(owner, "mcp::one")
    assert toolgroups.find(owner, "mcp::one") is None
    with pytest.raises(NotFound, match="Tool group 'mcp::one' not found"):
        toolgroups.unregister(owner, "mcp::one")


def test_a_bad_listing_keeps_the_good_one(owner: Actor) -> None:
    key = toolgroups.register(owner, NEW).key
    tool = ToolDef(name="greet", description="NUL \0 too", input_schema={"type": "object", "properties": {}})
    toolgroups.store_listing(key, [tool], "")
    toolgroups.store_listing(key, None, "it cannot be reached " * 100)

    record = toolgroups.find(owner, "mcp::one")
    assert record is not None
    assert [one.name for one in record.tools] == ["greet"]
    assert record.listed_at is not None
    assert record.note.startswith("it cannot be reached")


def test_headers_are_sealed(owner: Actor) -> None:
    record = toolgroups.register(owner, NEW)
    row = ToolGroup.objects.unscoped("the test").values().get(pk=record.key)
    assert "kanarie" not in str(row)


def test_headers_are_for_their_url_alone(owner: Actor) -> None:
    record = toolgroups.register(owner, NEW)
    ToolGroup.objects.unscoped("the test").filter(pk=record.key).update(uri="https://evil.example/mcp")

    moved = toolgroups.find(owner, "mcp::one")
    assert moved is not None
    assert moved.headers == {}
    assert "can no longer be read" in moved.note


def test_another_key_opens_nothing_unless_it_is_a_former_one(settings: Any) -> None:
    token = sealed.seal(URL, HEADERS)
    former, settings.SECRET_KEY = settings.SECRET_KEY, "another one"
    assert sealed.unseal(URL, token) is None
    settings.SECRET_KEY_FALLBACKS = [former]
    assert sealed.unseal(URL, token) == HEADERS
    assert sealed.unseal("https://evil.example/", token) is None


def test_nothing_is_nothing() -> None:
    assert sealed.seal(URL, {}) == ""
    assert sealed.unseal(URL, "") == {}
    assert sealed.unseal(URL, "junk") is None

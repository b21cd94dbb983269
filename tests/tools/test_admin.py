"""Tool groups in the admin: made, changed and deleted as over the API, their secrets never shown."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from agents.base import ids
from agents.base.access import Actor, system
from agents.base.errors import NotFound
from agents.base.ids import Kind
from agents.record.schemas.content import ToolDef
from agents.tools import store as toolgroups
from agents.tools.models import ToolGroup
from agents.tools.store import NewGroup
from tests.fixtures.admin import Browser
from tests.support.inprocess import close_readers, idle_service
from tests.support.pages.markup import elements, words

pytestmark = pytest.mark.django_db(transaction=True)

LIST, ADD = "/admin/agents/toolgroup/", "/admin/agents/toolgroup/add/"
SERVER = system("the tests")
PROVIDER, DEAD, OTHER = "model-context-protocol", "http://127.0.0.1:9/mcp", "http://127.0.0.1:9/other"
SECRET = {"Authorization": "Bearer kanarie"}
ALL = tuple(f"{verb}_toolgroup" for verb in ("view", "add", "change", "delete"))
GREET = ToolDef(
    name="greet",
    description="Says <b>hello</b>",
    input_schema={"type": "object", "properties": {"name": {}, "tone": {}}, "required": ["name"]},
)


@pytest.fixture(autouse=True)
def _served(transactional_db: None) -> Iterator[None]:
    with idle_service():
        yield
    close_readers()


def given(**fields: Any) -> dict[str, str]:
    whole = {"name": "mcp::orders", "provider_id": PROVIDER, "uri": DEAD, "args": "", "headers": "", **fields}
    return {name: value if isinstance(value, str) else json.dumps(value) for name, value in whole.items()}


def registered(actor: Actor = SERVER, name: str = "mcp::orders", **more: Any) -> int:
    return toolgroups.register(actor, NewGroup(name, PROVIDER, DEAD, {"limit": 3}, SECRET, **more)).key


def url(key: int, page: str = "change") -> str:
    return f"{LIST}{ids.public(Kind.TOOLGROUP, key)}/{page}/"


def errors(answer: Any) -> dict[str, str]:
    return {name: " ".join(said) for name, said in answer.context["adminform"].form.errors.items()}


# ------------------------------------------------------------------------------------------- making


def test_it_registers_a_group_and_asks_it_what_it_has(boss: Browser) -> None:
    answer = boss.post(ADD, given(args={"limit": 3}, headers=SECRET), follow=True)
    group = toolgroups.find(SERVER, "mcp::orders")
    assert group is not None
    assert (group.provider_id, group.uri, group.args, group.headers) == (PROVIDER, DEAD, {"limit": 3}, SECRET)
    assert group.note  # nobody is there
    assert group.note in words(answer.content.decode())
    assert "kanarie" not in answer.content.decode()


WRONG: list[tuple[dict[str, Any], str, str]] = [
    ({"name": ""}, "name", "required"),
    ({"name": "a/b"}, "name", "must not hold a '/'"),
    ({"name": "x" * 201}, "name", "at most 200"),
    ({"name": "builtin::demo"}, "name", "of this server's settings"),
    ({"provider_id": "brave-search"}, "provider_id", "takes no groups"),
    ({"uri": ""}, "uri", "required"),
    ({"uri": "file:///etc/passwd"}, "uri", "This URL is refused"),
    ({"uri": "http://169.254.169.254/mcp"}, "uri", "This URL is refused"),
    ({"args": []}, "args", "valid dictionary"),
    ({"args": "{"}, "args", "This is not JSON"),
    ({"headers": {"Host": "evil"}}, "headers", "not a header that can be sent"),
    ({"headers": {"X-Key": 5}}, "headers", "must be printable ASCII"),
    ({"headers": ["x"]}, "headers", "must be an object"),
    ({"args": {"headers": {"Host": "evil"}}}, "headers", "not a header that can be sent"),
]


@pytest.mark.parametrize(("fields", "field", "said"), WRONG)
def test_it_refuses_what_the_api_refuses_at_its_field(
    boss: Browser, fields: dict[str, Any], field: str, said: str
) -> None:
    found = errors(boss.post(ADD, given(**fields)))
    assert list(found) == [field]
    assert said in found[field]
    assert not ToolGroup.objects.unscoped("a test's").exists()


def test_a_name_is_registered_once(boss: Browser) -> None:
    registered()
    assert "registered already" in errors(boss.post(ADD, given(headers=SECRET)))["name"]
    assert ToolGroup.objects.unscoped("a test's").count() == 1


# ------------------------------------------------------------------------------------------ changing


def test_what_is_left_empty_keeps_the_headers(boss: Browser) -> None:
    key = registered()
    assert boss.post(url(key), given(args={"limit": 4})).status_code == 302
    group = toolgroups.get(SERVER, key)
    assert (group.name, group.args, group.headers) == ("mcp::orders", {"limit": 4}, SECRET)


@pytest.mark.parametrize("headers", [{}, {"X-Key": "new"}])
def test_headers_are_replaced_or_removed(boss: Browser, headers: dict[str, str]) -> None:
    key = registered()
    assert boss.post(url(key), given(headers=headers, uri=OTHER)).status_code == 302
    group = toolgroups.get(SERVER, key)
    assert (group.uri, group.headers) == (OTHER, headers)


def test_a_stored_secret_is_never_sent_elsewhere(boss: Browser) -> None:
    """Who may change a group may not read its headers, and could otherwise by naming an own server."""
    key = registered()
    assert "for the former URL" in errors(boss.post(url(key), given(uri=OTHER)))["headers"]
    assert toolgroups.get(SERVER, key).uri == DEAD


def test_another_url_has_no_listing_yet(boss: Browser) -> None:
    key = registered()
    toolgroups.store_listing(key, [GREET], "")
    boss.post(url(key), given(headers={}))
    assert [tool.name for tool in toolgroups.get(SERVER, key).tools] == ["greet"]
    boss.post(url(key), given(headers={}, uri=OTHER))
    assert not toolgroups.get(SERVER, key).tools


def test_its_name_stays(boss: Browser) -> None:
    key = registered()
    boss.post(url(key), given(name="mcp::other"))
    assert toolgroups.get(SERVER, key).name == "mcp::orders"


# ----------------------------------------------------------------------------------------- reading


def test_its_tools_are_shown_and_its_secrets_never(boss: Browser, staff: Callable[..., Browser]) -> None:
    key = registered()
    toolgroups.store_listing(key, [GREET], "2 of its tools cannot be offered to a model.")
    token = ToolGroup.objects.unscoped("a test's").get(pk=key).secrets
    for browser in (boss, staff("ruth", "view_toolgroup", roles=["admin"])):
        for path in (LIST, url(key), url(key, "history")):
            text = browser.read(path)
            assert "kanarie" not in text
            assert token not in text
        read = words(browser.read(url(key)))
        for said in ("greet", "Says <b>hello</b>", "name*, tone", "2 of its tools", "Authorization: ***"):
            assert said in read
        assert all(said in browser.read(url(key)) for said in ("limit", DEAD))
    names = {each.get("name"): each for each in elements(boss.read(url(key)), "textarea")}
    assert set(names) >= {"args", "headers"}


def test_asking_again_tells_who_does_not_answer(boss: Browser) -> None:
    key = registered()
    said = words(boss.act(LIST, "ask_again", key).content.decode())
    assert "0 groups have answered." in said
    assert "“mcp::orders”: " in said
    assert toolgroups.get(SERVER, key).note


# ----------------------------------------------------------------------------------------- deleting


def test_the_chosen_one_of_several_of_a_name_is_deleted(boss: Browser, make_user: Callable[..., Actor]) -> None:
    """Over the API the oldest would be."""
    older, newer = registered(make_user("ann", teams=["red"])), registered(make_user("ben", teams=["blue"]))
    assert "Tool groups: 1" in words(boss.read(url(newer, "delete")))
    assert boss.post(url(newer, "delete"), {"post": "yes"}).headers["Location"] == LIST
    assert toolgroups.get(SERVER, older).key == older
    with pytest.raises(NotFound):
        toolgroups.get(SERVER, newer)


# ------------------------------------------------------------------------------------------- rights


def test_staff_see_what_their_actor_sees(staff: Callable[..., Browser], make_user: Callable[..., Actor]) -> None:
    mine = registered(make_user("friend", teams=["red"]), "mcp::mine")
    theirs = registered(make_user("stranger", teams=["blue"]), "mcp::theirs")
    rita = staff("rita", *ALL, teams=["red"])
    assert "mcp::theirs" not in rita.read(LIST)
    assert rita.get(url(theirs)).status_code == 302
    assert rita.post(url(mine), given(args={"limit": 9})).status_code == 302
    rita.post(url(theirs), given(args={"limit": 9}))
    rita.act(LIST, "delete_selected", theirs, post="yes")
    rita.post(url(theirs, "delete"), {"post": "yes"})
    assert toolgroups.get(SERVER, mine).args == {"limit": 9}
    assert toolgroups.get(SERVER, theirs).args == {"limit": 3}


def test_what_staff_make_is_their_own(staff: Callable[..., Browser]) -> None:
    assert staff("rita", *ALL, teams=["red"]).post(ADD, given()).status_code == 302
    group = ToolGroup.objects.unscoped("a test's").select_related("owner", "scope").get()
    assert (str(group.owner), group.scope.attributes) == ("rita", {"teams": ["red"]})


def test_a_permission_is_not_enough_without_the_action(staff: Callable[..., Browser]) -> None:
    key = registered()
    reader = staff("reader", *ALL, roles=["admin", "reader"])
    runner = staff("runner", "view_toolgroup", roles=["admin"])
    assert runner.get(ADD).status_code == 403
    assert runner.post(url(key), given()).status_code == 403
    runner.act(LIST, "delete_selected", key, post="yes")
    runner.act(LIST, "ask_again", key)
    assert toolgroups.get(SERVER, key).note == ""
    assert "mcp::orders" in reader.read(LIST)
    nobody = staff("nobody", roles=["admin"])
    assert nobody.get(LIST).status_code == 403
    plain = staff("plain", *ALL, roles=["reader"])
    assert plain.get(ADD).status_code == 403

"""Every page for every actor and every object: the login for strangers, nothing of anyone else.

Pages know logins and no keys. The pages are read from the URL table; one that only takes forms is
found by asking it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client

from agents.base.access import Action
from agents.base.lazy_import import LazyFunction
from agents.base.models.people import User
from agents.server.pages.urls import urlpatterns
from agentsite import documentation
from tests.access.asking import PARAM, Cell, filled, leaks
from tests.access.matrix import OWNED, Target, Who, World, admins, page_status
from tests.support.cases import sparing
from tests.support.inprocess import told

FORMS: dict[str, dict[str, str]] = {
    "agent-try": {"text": "hello"},
    "session-say": {"text": "hello"},
    "turn-say": {"text": "hello"},
    "view-save": {"name": "by the matrix", "q": "status:failed"},
    "groups-pin": {"act": "pin"},
    "view-change": {"act": "share"},
    "log-act": {"action": "compare", "level": "turn", "ids": "no-id"},
    "webhook-change": {"enabled": "true"},
    "budget-change": {"tokens": "5000"},
    "automation-change": {"enabled": "true"},
    "webhook-test": {"event_type": "turn.failed"},
    "login": {"username": "nobody", "password": "wrong"},
}
DONE = {
    "agent-try": 400,  # the agent is disabled, which only those are told who may see it
    "session-say": 400,
    "turn-say": 400,
    "response": 302,
    "conversation": 302,
    "conversations": 302,
    "step": 302,
    "turn-answer": 409,  # the turn does not wait
    "turn-decide": 400,  # nothing is decided
    "turn-cancel": 302,
    "key-revoke": 302,
    "prices-apply": 302,
    "view-save": 302,
    "groups-pin": 302,
    "view-change": 302,
    "log-act": 400,  # what is chosen is no id
    "automation-change": 302,
    "automation-run": 302,
    "automation-delete": 302,
    "budget-change": 302,
    "budget-delete": 302,
    "webhook-change": 302,
    "webhook-test": 302,
    "webhook-resend": 302,
    "webhook-delete": 302,
    "language": 400,  # none is named
    "login": 400,
    "logout": 302,
    "welcome": 404,
    "turn-span": 404,  # what ran here has no spans
}
"""The answers of pages to those let in, where it is not 200."""
ASKED_FOR = {
    **{"log-values": "?field=model", "turn-value": "?part=input-0", "turn-read": "?part=input-0", "welcome": ""},
    "agent-state": "?act=delete",
}
FREE = {"token": "no-token", "span_id": "no-span"}
"""Parameters that name nothing of anyone's."""
POST_ONLY = {
    *("agent-try", "session-say", "turn-say", "turn-answer", "turn-decide", "turn-cancel"),
    *("key-revoke", "logout"),
    *("view-save", "view-change", "groups-pin", "log-act", "prices-apply", "language"),
    *("budget-change", "budget-delete"),
    *("automation-change", "automation-run", "automation-delete"),
    *("webhook-change", "webhook-rotate", "webhook-test", "webhook-resend", "webhook-delete"),
}


DESTROYS = {"key-revoke", "webhook-delete", "budget-delete", "automation-delete"}
"""Forms after which what they named is gone."""


def login(world: World, who: Who) -> Client:
    client = Client(raise_request_exception=False)
    if who.login is not None:
        client.force_login(User.objects.get(pk=who.login))
    return client


def cells(world: World, who: Who) -> Iterator[tuple[str, Cell]]:
    for pattern in urlpatterns:
        assert isinstance(pattern.callback, LazyFunction)
        page: Any = pattern.callback.imported
        action: Action | None = page.action
        route, name = f"/{pattern.pattern}", str(pattern.name)
        params = PARAM.findall(route)
        owned = [param for param in params if param in OWNED]
        assert set(params) <= {*OWNED, *FREE}, f"teach the matrix what {route} names"
        method = "post" if name in POST_ONLY else "get"
        for target in world.targets(owned) if owned else [Target("all", {})]:
            done, only = DONE.get(name, 200), page.admins_only
            expected = admins(who, only, page_status(who, action, target, done), done)
            if name in DESTROYS and expected == DONE[name]:
                target = Target("fresh", {param: world.fresh().ids[param] for param in owned}, "red")
            path = filled(route, {**FREE, **target.ids}) + ASKED_FOR.get(name, "")
            yield name, Cell(method, path, target, expected, FORMS.get(name, {}) if method == "post" else None)


def ask(client: Client, cell: Cell, **headers: str) -> Any:
    return getattr(client, cell.method)(cell.path, cell.body, headers=headers)


VISITORS = ["anonymous", "outsider", "reader", "owner", "admin", "read key", "wrong key"]


@pytest.mark.parametrize("name", sparing(VISITORS, "anonymous", "outsider", "owner"))
def test_pages_do_what_the_rule_says(name: str, world: World) -> None:
    who, wrong, seen = world.who[name], [], 0
    client = login(world, who)
    for page, cell in cells(world, who):
        if page in {"login", "logout"}:
            continue  # these end the login they are asked with
        response = ask(client, cell, **who.headers)
        seen += 1
        found = leaks(told(response), who, world, f"{cell}{cell.body}")
        if response.status_code != cell.expected or found or _lost(response, who, cell):
            wrong.append(
                f"{cell} was answered {response.status_code} {response.headers.get('Location', '')}, telling {found}"
            )
    assert seen > 90
    assert not wrong, "\n".join(wrong)


def _lost(response: Any, who: Who, cell: Cell) -> bool:
    """Whether someone without a login was led elsewhere than to the login."""
    asked_in = who.login is None and cell.expected == 302
    return asked_in and not response.headers.get("Location", "").startswith("/login/?next=/")


def test_pages_that_change_something_take_no_get(world: World) -> None:
    client = login(world, world.who["owner"])
    for page, cell in cells(world, world.who["owner"]):
        if page in POST_ONLY and cell.target.name in {"all", "red", "fresh"}:
            assert (client.get(cell.path).status_code, page) == (405, page)


def test_forms_from_elsewhere_are_refused(world: World) -> None:
    who = world.who["owner"]
    assert who.login is not None
    client = Client(enforce_csrf_checks=True)
    client.force_login(User.objects.get(pk=who.login))
    refused = 0
    for page, cell in cells(world, who):
        response = client.post(cell.path, FORMS.get(page, {}))
        if page == "docs" and documentation.is_built():  # files, of which nothing can be changed
            assert response.status_code == 405
        elif page != "logout" or response.status_code != 302:
            assert (response.status_code, page) == (403, page)
            refused += 1
    assert refused > 90


TOKEN = re.compile(rb'name="csrfmiddlewaretoken" value="\w+"')


@pytest.mark.parametrize("name", sparing(["outsider", "owner", "reader"], "owner"))
def test_what_may_not_be_seen_is_as_what_never_was(name: str, world: World) -> None:
    """The pages of a foreign, a deleted, an unknown and a malformed id differ in the id alone."""
    who = world.who[name]
    client = login(world, who)
    first: dict[tuple[str, str], bytes] = {}
    for page, cell in cells(world, who):
        is_seen = page == "turn-span" and cell.target.chain in who.sees  # the turn is there, without spans
        if cell.expected == 404 and page != "welcome" and not is_seen:
            response = ask(client, cell)
            body = TOKEN.sub(b"", response.content).replace(response["x-request-id"].encode(), b"")
            lost = cell.target.lost_at or next(iter(cell.target.ids))
            body = body.replace(cell.target.ids[lost].encode(), b"ID")
            assert body == first.setdefault((page, lost), body), cell
    assert len(first) > 10

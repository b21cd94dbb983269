"""The pages of webhooks: making, testing, changing, rotating and deleting endpoints; what was sent, and again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.test import Client

from agents.base import ids
from agents.base.access import Actor
from agents.base.models.people import GroupAttributes, User
from agents.base.store import keys
from agents.webhooks.models import WebhookDelivery, WebhookEndpoint
from agents.webhooks.schemas.event_types import BY_NAME
from agents.webhooks.store import deliveries, endpoints
from tests.fixtures.admin import Browser
from tests.support.builders import make_turn
from tests.support.http_endpoint import Reply
from tests.support.inprocess import idle_service
from tests.support.pages.markup import unsafe, words
from tests.webhooks.conftest import Registered, Send
from tests.webhooks.receiver import Receiver


@pytest.fixture(autouse=True)
def _serving(transactional_db: None) -> Iterator[None]:
    with idle_service():
        yield


@pytest.fixture
def browser(owner: Actor) -> Client:
    client = Client()
    client.force_login(User.objects.get(username=owner.name))
    return client


def shown(answer: Any, status: int = 200) -> str:
    assert answer.status_code == status, answer.headers
    text: str = answer.content.decode()
    assert unsafe(text) == []
    return text


def form(receiver: Receiver, **more: Any) -> dict[str, Any]:
    return {"name": "Order desk", "url": receiver.url, "event_types": ["turn.completed", "turn.failed"], **more}


def test_an_endpoint_is_made_and_its_secret_shown_once(browser: Client, receiver: Receiver) -> None:
    assert "None yet." in shown(browser.get("/webhooks/"))
    made = browser.post("/webhooks/", form(receiver))
    assert made.headers["Cache-Control"].startswith("max-age=0, no-cache, no-store")
    [secret] = {word for word in words(shown(made, 201)).split() if word.startswith("whsec_") and len(word) > 20}
    row = WebhookEndpoint.objects.unscoped("test").get()
    path = f"/webhooks/{ids.openai(ids.Kind.WEBHOOK_ENDPOINT, row.pk)}/"
    for again in (shown(browser.get("/webhooks/")), shown(browser.get(path))):
        assert secret not in again
        assert "Order desk" in again
    assert f"whsec_…{secret[-4:]}" in shown(browser.get(path))


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"name": ""}, "A name of at most 200 characters is required."),
        ({"url": ""}, "A URL of at most 2,000 characters is required."),
        ({"url": "ftp://x"}, "it must begin with http:// or https://"),
        ({"url": "https://169.254.169.254/"}, "leads to an address that may not be asked"),
        ({"event_types": []}, "Choose at least one event."),
        ({"event_types": ["batch.completed"]}, "Choose at least one event."),
    ],
)
def test_what_is_wrong_is_said_at_the_form(
    wrong: dict[str, Any], said: str, browser: Client, receiver: Receiver, owner: Actor, registered: Registered
) -> None:
    assert said in words(shown(browser.post("/webhooks/", form(receiver, **wrong)), 400))
    assert not WebhookEndpoint.objects.unscoped("test").exists()
    path = f"/webhooks/{registered(owner)[0].public_id}/change/"
    assert said in words(shown(browser.post(path, form(receiver, **wrong)), 400))


def test_each_type_says_when_it_is_sent(browser: Client) -> None:
    text = shown(browser.get("/webhooks/"))
    assert [name for name in BY_NAME if f'value="{name}"' not in text] == []


def test_deliveries_are_shown_with_what_was_answered(
    browser: Client, owner: Actor, receiver: Receiver, registered: Registered, send: Send
) -> None:
    endpoint, _ = registered(owner, "turn.completed")
    path = f"/webhooks/{endpoint.public_id}/"
    assert "Nothing has been sent yet." in shown(browser.get(path))
    receiver.replies = [Reply(b"<b>full</b> & busy", 503), Reply(b"taken", 200)]
    turn = make_turn(owner)
    send()
    text = shown(browser.get(path))
    assert "&lt;b&gt;full&lt;/b&gt; &amp; busy" in text
    assert f'href="/turns/{turn.public_id}/"' in text
    assert {"503", "pending", "failing"} <= set(words(text).split())
    [delivery] = WebhookDelivery.objects.all()
    again = browser.post(f"{path}deliveries/{ids.openai(ids.Kind.WEBHOOK_DELIVERY, delivery.pk)}/resend/")
    assert again.headers["Location"] == path
    assert "It is sent again." in shown(browser.get(path))
    send()
    assert {"200", "delivered", "enabled"} <= set(words(shown(browser.get(path))).split())


def test_older_deliveries_are_a_page_away(browser: Client, owner: Actor, registered: Registered) -> None:
    endpoint, _ = registered(owner)
    for _ in range(51):
        deliveries.claim_sample(endpoint.key, BY_NAME["turn.failed"], "{}", ids.now_us())
    first = shown(browser.get(f"/webhooks/{endpoint.public_id}/"))
    assert first.count(">a test<") == 50
    last = WebhookDelivery.objects.order_by("-pk")[49].pk
    link = f"?after={ids.openai(ids.Kind.WEBHOOK_DELIVERY, last)}"
    assert f'href="{link}"' in first
    assert shown(browser.get(f"/webhooks/{endpoint.public_id}/{link}")).count(">a test<") == 1


def test_a_test_tells_what_was_answered(
    browser: Client, owner: Actor, receiver: Receiver, registered: Registered
) -> None:
    endpoint, _ = registered(owner)
    path = f"/webhooks/{endpoint.public_id}/"
    for status in (204, 500):
        receiver.will(status)
        browser.post(f"{path}test/", {"event_type": "turn.failed"})
        assert f"“mine” has answered {status}." in words(shown(browser.get(path)))
    endpoints.change(owner, endpoint.public_id, endpoints.EndpointChanges(url="http://127.0.0.1:9/"))
    browser.post(f"{path}test/", {"event_type": "turn.failed"})
    assert "“mine” could not be reached." in words(shown(browser.get(path)))
    browser.post(f"{path}test/", {"event_type": "nothing"})
    assert "Choose an event." in words(shown(browser.get(path)))
    assert receiver.types == ["turn.failed"] * 2


def test_it_is_changed_rotated_switched_and_deleted(
    browser: Client, owner: Actor, receiver: Receiver, registered: Registered
) -> None:
    endpoint, secret = registered(owner)
    path = f"/webhooks/{endpoint.public_id}/"
    assert browser.post(f"{path}change/", form(receiver, name="Renamed")).headers["Location"] == path
    assert "Renamed" in shown(browser.get(path))
    rotated = words(shown(browser.post(f"{path}rotate/", {"keep": "true"})))
    [new] = {word for word in rotated.split() if word.startswith("whsec_") and len(word) > 20}
    assert new != secret
    assert "The one before it signs as well until" in rotated
    browser.post(f"{path}change/", {"enabled": "false"})
    assert "It is disabled." in shown(browser.get(path))
    browser.post(f"{path}change/", {"enabled": "true"})
    assert "It is disabled." not in shown(browser.get(path))
    assert browser.post(f"{path}delete/").headers["Location"] == "/webhooks/"
    assert browser.get(path).status_code == 404


def test_who_may_only_look_gets_no_forms(
    make_user: Callable[..., Actor], registered: Registered, receiver: Receiver
) -> None:
    reader = make_user("rita")
    endpoint, _ = registered(reader)
    _with_role("rita", "reader")
    client = Client()
    client.force_login(User.objects.get(username="rita"))
    for path in ("/webhooks/", f"/webhooks/{endpoint.public_id}/"):
        assert "<form" not in shown(client.get(path)).partition("<main")[2]
    assert client.post("/webhooks/", form(receiver)).status_code == 403


def test_keys_in_a_url_are_not_shown(browser: Client, boss: Browser, owner: Actor) -> None:
    url = "http://127.0.0.1:9/hook?token=" + "kanarie7f3a9b2c"
    made, _ = endpoints.create(owner, name="mine", url=url, event_types=["turn.failed"])
    for text in (shown(browser.get("/webhooks/")), boss.read("/admin/agents/webhookendpoint/")):
        assert "127.0.0.1:9/hook" in text
        assert "kanarie7f3a9b2c" not in text
    head = shown(browser.get(f"/webhooks/{made.public_id}/")).partition("</header>")[0]
    assert "kanarie7f3a9b2c" not in head


@pytest.mark.parametrize("language", ["de", "fr"])
def test_it_speaks_the_readers_language(language: str, browser: Client, owner: Actor, registered: Registered) -> None:
    endpoint, _ = registered(owner)
    endpoints.change(owner, endpoint.public_id, endpoints.EndpointChanges(enabled=False))
    text = shown(browser.get(f"/webhooks/{endpoint.public_id}/", headers={"Accept-Language": language}))
    assert {"de": "Er ist abgeschaltet.", "fr": "Il est désactivé."}[language] in text


def test_the_admin_lists_switches_and_deletes(
    boss: Browser, owner: Actor, receiver: Receiver, registered: Registered, send: Send
) -> None:
    endpoint, secret = registered(owner, "turn.completed")
    make_turn(owner)
    send()
    assert {"mine", "olga", "turn.completed", "enabled"} <= set(
        words(boss.read("/admin/agents/webhookendpoint/")).split()
    )
    detail = boss.read(f"/admin/agents/webhookendpoint/{ids.public(ids.Kind.WEBHOOK_ENDPOINT, endpoint.key)}/change/")
    assert secret not in detail
    assert {"mine", "delivered", "200"} <= set(words(boss.read("/admin/agents/webhookdelivery/")).split())
    boss.act("/admin/agents/webhookendpoint/", "disable", endpoint.key)
    assert endpoints.get(owner, endpoint.public_id).disabled_reason == "switched off"
    boss.act("/admin/agents/webhookendpoint/", "enable", endpoint.key)
    assert endpoints.get(owner, endpoint.public_id).disabled_at is None
    boss.act("/admin/agents/webhookendpoint/", "delete_selected", endpoint.key, post="yes")
    assert not WebhookEndpoint.objects.unscoped("test").exists()
    assert not WebhookDelivery.objects.exists()


def _with_role(name: str, role: str) -> User:
    user, group = User.objects.get(username=name), Group.objects.create(name=f"each {role}")
    GroupAttributes.objects.create(group=group, attributes={"roles": [role]})
    user.groups.add(group)
    keys.forget()
    return user

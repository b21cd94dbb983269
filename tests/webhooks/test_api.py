"""``/v1/webhook_endpoints``: what is refused, whose an endpoint is, and what of its secret is told."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.test import Client

from agents.base import ids
from agents.base.access import Actor
from agents.webhooks.models import WebhookDelivery, WebhookEndpoint
from agents.webhooks.store import endpoints
from agents.webhooks.store.endpoints import MAX_ENDPOINTS
from tests.support.builders import make_turn
from tests.support.inprocess import idle_service
from tests.webhooks.conftest import Registered, Send
from tests.webhooks.receiver import Receiver

Ask = Callable[..., Any]
PATH = "/v1/webhook_endpoints"
GOOD = {"name": "mine", "url": "https://93.184.215.14/hook", "event_types": ["turn.completed"]}


@pytest.fixture(autouse=True)
def _serving() -> Iterator[None]:
    with idle_service():
        yield


@pytest.fixture
def ask_as(client_of: Callable[[Actor], Client]) -> Callable[[Actor], Ask]:
    """Someone who asks with a key of theirs."""

    def with_key(actor: Actor) -> Ask:
        client = client_of(actor)

        def ask(method: str, path: str = "", body: Any = None) -> Any:
            return getattr(client, method)(PATH + path, body, content_type="application/json")

        return ask

    return with_key


@pytest.fixture
def ask(ask_as: Callable[[Actor], Ask], owner: Actor) -> Ask:
    return ask_as(owner)


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/hook",
        "http://localhost:8000/",
        "https://10.0.0.7/",
        "https://192.168.1.1/",
        "https://169.254.169.254/latest/meta-data",
        "https://[::1]/",
        "https://[::ffff:127.0.0.1]/",
        "http://0.0.0.0/",
        "http://2130706433/",
        "http://0x7f.1/",
    ],
)
@pytest.mark.parametrize("changes", [False, True])
def test_private_addresses_are_refused(
    url: str, changes: bool, ask: Ask, settings: Any, registered: Registered, owner: Actor
) -> None:
    path = f"/{registered(owner)[0].public_id}" if changes else ""
    settings.FETCH_ALLOW_PRIVATE = False
    answer = ask("post", path, {"url": url} if changes else {**GOOD, "url": url})
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["param"]) == (400, "url_refused", "url")


@pytest.mark.parametrize(
    ("wrong", "param"),
    [
        ({"url": "ftp://93.184.215.14/"}, "url"),
        ({"url": "https://user:word@93.184.215.14/"}, "url"),
        ({"url": "not a url"}, "url"),
        ({"url": "https://93.184.215.14:99999/"}, "url"),
        ({"url": ""}, "url"),
        ({"url": f"https://93.184.215.14/{'x' * 2000}"}, "url"),
        ({"url": None}, "url"),
        ({"name": " "}, "name"),
        ({"name": "x" * 201}, "name"),
        ({"name": 5}, "name"),
        ({"event_types": []}, "event_types"),
        ({"event_types": ["turn.completed", "batch.completed"]}, "event_types.1"),
        ({"event_types": ["turn.completed"] * 101}, "event_types"),
        ({"event_types": "turn.completed"}, "event_types"),
    ],
)
def test_what_is_wrong_is_refused_by_its_name(wrong: dict[str, Any], param: str, ask: Ask) -> None:
    answer = ask("post", "", {**GOOD, **wrong})
    assert answer.status_code == 400
    assert answer.json()["error"]["param"] == param
    assert not WebhookEndpoint.objects.unscoped("test").exists()


def test_a_type_that_is_not_there_is_told_with_those_that_are(ask: Ask) -> None:
    message = ask("post", "", {**GOOD, "event_types": ["eval.run.failed"]}).json()["error"]["message"]
    assert "turn.completed, turn.failed" in message


def test_one_owner_has_only_so_many(ask: Ask, owner: Actor, admin: Actor, registered: Registered) -> None:
    for _ in range(MAX_ENDPOINTS):
        registered(owner)
    refused = ask("post", "", GOOD)
    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "too_many_endpoints")
    registered(admin)


def test_what_is_the_same_changes_nothing(ask: Ask, clock: Any) -> None:
    made = ask("post", "", {**GOOD, "event_types": ["turn.failed", "turn.completed", "turn.failed"]}).json()
    assert made["event_types"] == ["turn.completed", "turn.failed"]
    clock.pass_s(10)
    same = ask("post", f"/{made['id']}", {"name": made["name"], "url": made["url"]}).json()
    assert same["updated_at"] == made["updated_at"]
    assert ask("post", f"/{made['id']}", {"name": "other"}).json()["updated_at"] == made["updated_at"] + 10


def test_a_secret_is_told_once_and_sealed(ask: Ask, owner: Actor) -> None:
    made = ask("post", "", GOOD).json()
    secret = made["signing_secret"]
    row = WebhookEndpoint.objects.unscoped("test").get()
    assert secret not in row.secrets
    assert secret.removeprefix("whsec_") not in row.secrets
    rotated = ask("post", f"/{made['id']}/rotate_secret", {"keep_old_secret_active_for_24_hours": True}).json()
    told = [ask("get").content, ask("get", f"/{made['id']}").content, ask("post", f"/{made['id']}", {}).content]
    assert not [one for one in told for each in (secret, rotated["signing_secret"]) if each.encode() in one]
    assert rotated["signing_secret_hint"] == f"whsec_…{rotated['signing_secret'][-4:]}"


def test_an_endpoint_is_its_owners_alone(
    ask: Ask, ask_as: Callable[[Actor], Ask], member: Actor, owner: Actor, admin: Actor, registered: Registered
) -> None:
    made, _ = registered(owner)
    of_member, of_admin = ask_as(member), ask_as(admin)
    assert of_member("get").json()["data"] == []
    for method, path in (("get", ""), ("post", ""), ("delete", ""), ("post", "/rotate_secret"), ("get", "/deliveries")):
        answer = of_member(method, f"/{made.public_id}{path}", {} if method == "post" else None)
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "webhook_endpoint_not_found"), path
    assert [one["id"] for one in of_admin("get").json()["data"]] == [made.public_id]
    assert ask("delete", f"/{made.public_id}").json() == {
        "id": made.public_id,
        "object": "webhook_endpoint.deleted",
        "deleted": True,
    }
    assert ask("get", f"/{made.public_id}").status_code == 404


def test_lists_have_pages(ask: Ask, owner: Actor, registered: Registered) -> None:
    made = [registered(owner, name=str(number))[0].public_id for number in range(3)]
    first = ask("get", "?limit=2").json()
    assert ([one["id"] for one in first["data"]], first["has_more"]) == (made[:0:-1], True)
    rest = ask("get", f"?limit=2&after={first['last_id']}").json()
    assert ([one["id"] for one in rest["data"]], rest["has_more"]) == (made[:1], False)
    assert ask("get", "?after=we_none").json()["error"]["param"] == "after"


def test_a_test_is_sent_once_and_stands_among_the_deliveries(
    ask: Ask, owner: Actor, receiver: Receiver, registered: Registered, send: Send
) -> None:
    made, _ = registered(owner, "turn.failed")
    receiver.will(500)
    tested = ask("post", f"/{made.public_id}/test", {"event_type": "response.completed"})
    assert (tested.status_code, tested.json()["status_code"]) == (200, 500)
    [event] = receiver.events
    assert ids.parse_openai(ids.Kind.RESPONSE, event["data"]["id"]) is not None
    [delivery] = ask("get", f"/{made.public_id}/deliveries").json()["data"]
    assert (delivery["status"], delivery["is_test"], delivery["status_code"]) == ("failed", True, 500)
    assert (delivery["subject_id"], delivery["next_attempt_at"]) == (None, None)
    refused = ask("post", f"/{made.public_id}/deliveries/{delivery['id']}/resend")
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "webhook_delivery_is_test")
    assert endpoints.get(owner, made.public_id).failing_since is None
    send()
    assert len(receiver.taken) == 1


def test_a_test_that_reaches_nobody_says_so(ask: Ask, owner: Actor, registered: Registered) -> None:
    made, _ = registered(owner)
    ask("post", f"/{made.public_id}", {"url": "http://127.0.0.1:9/"})
    refused = ask("post", f"/{made.public_id}/test", {"event_type": "turn.failed"})
    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "webhook_endpoint_unreachable")


def test_a_disabled_endpoint_says_why_and_is_enabled(
    ask: Ask, owner: Actor, receiver: Receiver, registered: Registered, send: Send
) -> None:
    made, _ = registered(owner, "turn.completed")
    make_turn(owner)
    send()
    off = ask("post", f"/{made.public_id}", {"enabled": False}).json()
    assert (off["enabled"], off["disabled_reason"]) == (False, "switched off")
    [delivery] = WebhookDelivery.objects.all()
    path = f"/{made.public_id}/deliveries/{ids.openai(ids.Kind.WEBHOOK_DELIVERY, delivery.pk)}/resend"
    assert (
        ask("post", path).status_code
        == ask("post", f"/{made.public_id}/test", {"event_type": "turn.failed"}).status_code
        == 409
    )
    on = ask("post", f"/{made.public_id}", {"enabled": True}).json()
    assert (on["enabled"], on["disabled_reason"]) == (True, None)
    assert ask("post", path).json()["status"] == "pending"
    send()
    assert len(receiver.taken) == 2


@pytest.mark.parametrize("what", ["nobody's", "we_0", "x" * 5000, "..", "%00"])
def test_ids_that_are_none_are_not_found(what: str, ask: Ask) -> None:
    for method, path in (("get", ""), ("delete", ""), ("post", "/rotate_secret"), ("get", "/deliveries")):
        assert ask(method, f"/{what}{path}").status_code in {404, 414}

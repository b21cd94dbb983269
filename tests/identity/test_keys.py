"""The page of API keys: listing, making one whose secret is shown once, revoking."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.sessions.models import Session as Login
from django.test import Client

from agents.base.access import Actor
from agents.base.models.people import ApiKey, User
from agents.base.store import keys
from agents.base.timestamps import to_us
from tests.conftest import START_US, Clock
from tests.support.pages.markup import elements, unsafe, words

pytestmark = pytest.mark.django_db

DAY_US = 86_400_000_000


@pytest.fixture
def logged_in(make_user: Callable[..., Actor]) -> Callable[..., Client]:
    def enter(name: str, **attributes: list[str]) -> Client:
        make_user(name, **attributes)
        client = Client()
        client.force_login(User.objects.get(username=name))
        return client

    return enter


def page(client: Client, status: int = 200) -> str:
    answer = client.get("/keys/")
    assert answer.status_code == status
    text: str = answer.content.decode()
    assert unsafe(text) == []
    return text


def make(client: Client, **given: Any) -> Any:
    return client.post("/keys/", {"name": "export", "actions": ["read", "run"], "expires": "90", **given})


def secret_of(answer: Any) -> str:
    found = {word for word in words(answer.content.decode()).replace("'", " ").split() if keys.is_well_formed(word)}
    assert len(found) == 1
    return found.pop()


# ---------------------------------------------------------------------------------------------- one


def test_it_makes_a_key_that_works(client: Client) -> None:
    answer = make(client)
    assert answer.status_code == 201
    assert unsafe(answer.content.decode()) == []
    secret = secret_of(answer)
    api = client.get("/v1/agents", headers={"Authorization": f"Bearer {secret}"})
    assert api.status_code == 200
    assert keys.of_secret(secret).actions == {"read", "run"}


@pytest.mark.parametrize(("chosen", "keeps"), [("", None), ("yes", True), ("no", False)])
def test_it_says_whether_the_log_keeps_what_is_not_to_be_stored(
    client: Client, chosen: str, keeps: bool | None
) -> None:
    assert keys.of_secret(secret_of(make(client, keeps=chosen))).keeps_unstored is keeps
    assert make(client, keeps="maybe").status_code == 400


def test_the_secret_is_shown_once_and_kept_nowhere(client: Client) -> None:
    answer = make(client)
    secret = secret_of(answer)
    assert "no-store" in answer.headers["Cache-Control"]
    assert "Location" not in answer.headers
    assert secret not in page(client)
    assert secret not in page(client, 200)
    kept = [str(row) for model in (ApiKey, Login) for row in model.objects.values_list()]
    assert not any(secret in row or secret[4:30] in row for row in kept)


def test_its_examples_name_the_server_and_the_key(client: Client) -> None:
    answer = make(client)
    text = words(answer.content.decode())
    secret = secret_of(answer)
    assert f"curl http://testserver/v1/agents \\ -H 'Authorization: Bearer {secret}'" in text
    assert f'base_url="http://testserver", api_key="{secret}"' in text


@pytest.mark.parametrize(("chosen", "days"), [("7", 7), ("30", 30), ("90", 90), ("365", 365), ("never", None)])
def test_it_lives_as_long_as_was_chosen(client: Client, clock: Clock, chosen: str, days: int | None) -> None:
    make(client, expires=chosen)
    expires = ApiKey.objects.get().expires_at
    assert (expires and to_us(expires)) == (days and START_US + days * DAY_US)


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"name": ""}, "name: 1 to 100 characters."),
    ({"name": "  "}, "name: 1 to 100 characters."),
    ({"name": "x" * 101}, "name: 1 to 100 characters."),
    ({"actions": []}, "actions: choose from"),
    ({"actions": ["read", "everything"]}, "only grant permissions that you have yourself"),
    ({"expires": "1000000"}, "Choose when the key expires."),
    ({"expires": ""}, "Choose when the key expires."),
]


@pytest.mark.parametrize(("given", "said"), REFUSED)
def test_it_says_what_is_wrong(client: Client, given: dict[str, Any], said: str) -> None:
    answer = make(client, **given)
    assert answer.status_code == 400
    assert said in words(answer.content.decode())
    assert not ApiKey.objects.exists()


def test_what_was_typed_is_still_there(client: Client) -> None:
    answer = make(client, name="my export", actions=["manage"], expires="x")
    fields = elements(answer.content.decode(), "input")
    assert [each["value"] for each in fields if each.get("name") == "name"] == ["my export"]
    assert [each["value"] for each in fields if each.get("name") == "actions" and "checked" in each] == ["manage"]


@pytest.mark.parametrize(
    "name", ["<script>alert(1)</script>", "a\0b", "\u202egnp.exe", '"><img src=x onerror=alert(1)>']
)
def test_a_hostile_name_stays_text(client: Client, name: str) -> None:
    assert make(client, name=name).status_code == 201
    page(client)


# ---------------------------------------------------------------------------------------------- list


def test_it_offers_only_what_one_may_do(logged_in: Callable[..., Client]) -> None:
    reader = logged_in("ruth", roles=["reader"])
    offered = [each["value"] for each in elements(page(reader), "input") if each.get("name") == "actions"]
    assert offered == ["read"]
    assert make(reader, actions=["read", "run"]).status_code == 400
    assert keys.of_secret(secret_of(make(reader, actions=["read"]))).actions == {"read"}


def test_everyone_sees_their_own_and_admins_all(logged_in: Callable[..., Client]) -> None:
    rita, ada = logged_in("rita", teams=["support"]), logged_in("ada", roles=["admin"])
    make(rita, name="key of rita")
    make(ada, name="key of ada")
    assert "key of ada" not in page(rita)
    assert all(name in page(ada) for name in ("key of rita", "key of ada"))


def test_it_says_which_are_over(client: Client, clock: Clock) -> None:
    make(client, name="short", expires="7")
    make(client, name="long", expires="365")
    clock.pass_s(8 * 86_400)
    read = words(page(client))
    assert read.index("long") < read.index("short")
    assert "expired" in read
    assert "active" in read


def test_it_says_when_one_was_used(client: Client) -> None:
    secret = secret_of(make(client))
    assert "never" in words(page(client))
    client.get("/v1/agents", headers={"Authorization": f"Bearer {secret}"})
    assert [each for each in elements(page(client), "time") if "data-ago" in each]


def test_an_empty_list_says_so(client: Client) -> None:
    assert "None yet." in words(page(client))


# -------------------------------------------------------------------------------------------- revoke


def revoke_path(client: Client) -> str:
    return next(each["action"] for each in elements(page(client), "form") if "revoke" in each.get("action", ""))


def test_a_revoked_key_stops_at_once(client: Client) -> None:
    secret = secret_of(make(client))
    path = revoke_path(client)
    assert client.get(path).status_code == 405
    assert client.post(path).headers["Location"] == "/keys/"
    assert client.get("/v1/agents", headers={"Authorization": f"Bearer {secret}"}).status_code == 401
    assert "revoked" in words(page(client))


def test_nobody_revokes_the_keys_of_others(logged_in: Callable[..., Client]) -> None:
    rita, mallory = logged_in("rita"), logged_in("mallory")
    secret = secret_of(make(rita))
    path = revoke_path(rita)
    assert mallory.post(path).status_code == 404
    assert keys.of_secret(secret).name == "rita (export)"
    assert mallory.post("/keys/nonsense/revoke/").status_code == 404


def test_strangers_are_sent_to_the_login(client: Client, settings: Any) -> None:
    settings.REQUIRE_LOGIN = True
    assert client.get("/keys/").headers["Location"] == "/login/?next=/keys/"
    assert make(client).status_code == 302
    assert not ApiKey.objects.exists()

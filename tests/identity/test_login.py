"""Logging in and out, the first password by its link, changing it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.test import Client

from agents.base.access import Actor
from agents.base.models.people import User
from agents.identity.pages.login_attempts import attempts
from agents.identity.store import accounts
from tests.support.pages.hashing import Counting
from tests.support.pages.markup import elements, unsafe, words

pytestmark = pytest.mark.django_db

RIGHT = "correct horse battery"
NEW = "battery staple horse"


@pytest.fixture(autouse=True)
def _counted_afresh() -> Iterator[None]:
    attempts.clear()
    yield
    attempts.clear()


@pytest.fixture
def rita(make_user: Callable[..., Actor]) -> Actor:
    return make_user("rita", teams=["support"])


@pytest.fixture
def locked(settings: Any) -> None:
    settings.REQUIRE_LOGIN = True


def log_in(client: Client, password: str = RIGHT, username: str = "rita", **more: Any) -> Any:
    headers = more.pop("headers", {})
    return client.post("/login/", {"username": username, "password": password, **more}, headers=headers)


def page(client: Client, path: str, status: int = 200) -> str:
    answer = client.get(path)
    assert answer.status_code == status
    text: str = answer.content.decode()
    assert unsafe(text) == []
    return text


# --------------------------------------------------------------------------------------------- login


def test_it_logs_in(client: Client, rita: Actor, locked: None) -> None:
    assert client.get("/logs/").headers["Location"] == "/login/?next=/logs/"
    answer = log_in(client)
    assert (answer.status_code, answer.headers["Location"]) == (302, "/logs/")
    assert client.get("/logs/").status_code == 200


def test_the_page_asks_for_name_and_password(client: Client, locked: None) -> None:
    text = page(client, "/login/")
    fields = {each["name"]: each for each in elements(text, "input")}
    assert fields["username"]["autocomplete"] == "username"
    assert fields["password"]["autocomplete"] == "current-password"
    assert "turnlog admin_link" in words(text)


def test_the_session_gets_a_new_key(client: Client, rita: Actor) -> None:
    client.session["planted"] = "by an attacker"
    client.session.save()
    before = client.session.session_key
    log_in(client)
    assert client.session.session_key not in {None, before}
    assert "planted" not in client.session


def test_it_leads_where_the_reader_was_going(client: Client, rita: Actor) -> None:
    answer = log_in(client, next="/agents/?start=50")
    assert answer.headers["Location"] == "/agents/?start=50"


ELSEWHERE = [
    "https://evil.example/",
    "//evil.example/",
    "///evil.example",
    "/\\evil.example",
    "\\\\evil.example",
    "http:///evil.example",
    "https:evil.example",
    "javascript:alert(1)",
    "data:text/html,x",
    "\t//evil.example",
    "/\t/evil.example",
    "http://testserver.evil.example/",
    "http://testserver@evil.example/",
    "ftp://testserver/",
    "\x00//evil.example",
    " //evil.example",
]


@pytest.mark.parametrize("target", ELSEWHERE)
def test_it_leads_nowhere_else(client: Client, rita: Actor, target: str) -> None:
    answer = log_in(client, next=target)
    assert answer.headers["Location"] == "/logs/"
    assert "evil" not in page(Client(), f"/login/?next={target}")


def test_a_wrong_password_and_an_unknown_name_get_the_same_answer(client: Client, rita: Actor) -> None:
    wrong, unknown = log_in(client, "wrong"), log_in(client, "wrong", "nobody")
    assert wrong.status_code == unknown.status_code == 400
    said = [words(each.content.decode()) for each in (wrong, unknown)]
    assert said[0] == said[1]
    assert "_auth_user_id" not in client.session


def test_an_unknown_name_costs_as_much_work(client: Client, rita: Actor, settings: Any) -> None:
    settings.PASSWORD_HASHERS = ["tests.support.pages.hashing.Counting"]
    User.objects.filter(username="rita").update(password=Counting().encode(RIGHT, "salt"))
    Counting.seen.clear()
    log_in(client, "wrong")
    known = len(Counting.seen)
    log_in(client, "wrong", "nobody")
    assert (known, len(Counting.seen)) == (1, 2)


def test_a_user_switched_off_cannot_log_in(client: Client, rita: Actor) -> None:
    User.objects.update(is_active=False)
    assert log_in(client).status_code == 400


def test_the_local_user_cannot_log_in(client: Client) -> None:
    client.get("/logs/")  # makes it
    for password in ("", "local", "!"):
        assert log_in(client, password, "local").status_code == 400


@pytest.mark.parametrize("given", [{}, {"username": "rita"}, {"password": "x"}, {"username": "\0", "password": "\0"}])
def test_a_form_that_is_not_filled_in_is_shown_again(client: Client, given: dict[str, str]) -> None:
    assert client.post("/login/", given).status_code == 400


def test_a_form_from_elsewhere_is_refused(rita: Actor) -> None:
    strict = Client(enforce_csrf_checks=True)
    answer = log_in(strict)
    assert answer.status_code == 403
    assert unsafe(answer.content.decode()) == []


def test_hostile_text_in_the_form_stays_text(client: Client) -> None:
    answer = log_in(client, "x", '"><script>alert(1)</script>')
    assert unsafe(answer.content.decode()) == []


# -------------------------------------------------------------------------------------------- limits


def test_the_sixth_wrong_password_is_refused_even_if_it_is_right(client: Client, rita: Actor) -> None:
    assert [log_in(client, "wrong").status_code for _ in range(5)] == [400] * 5
    refused = log_in(client)
    assert refused.status_code == 429
    assert 0 < int(refused.headers["Retry-After"]) <= 300
    assert "Too many attempts. Try again in 5 minutes." in words(refused.content.decode())


def test_an_unknown_name_is_refused_alike(client: Client) -> None:
    assert [log_in(client, "x", "nobody").status_code for _ in range(6)] == [400] * 5 + [429]


def test_one_address_cannot_try_many_accounts(client: Client) -> None:
    statuses = [log_in(client, "x", f"user-{number}").status_code for number in range(22)]
    assert statuses == [400] * 20 + [429] * 2


def test_a_right_password_does_not_count(client: Client, rita: Actor) -> None:
    assert {log_in(client).status_code for _ in range(12)} == {302}


def test_a_missing_password_neither_counts_nor_forgives(client: Client, rita: Actor) -> None:
    for _ in range(4):
        log_in(client, "wrong")
        log_in(client, "")
    log_in(client, "wrong")
    assert log_in(client).status_code == 429


def test_a_forged_address_does_not_help(client: Client, rita: Actor) -> None:
    for number in range(20):
        log_in(client, "x", f"user-{number}", headers={"X-Forwarded-For": f"10.0.0.{number}"})
    assert log_in(client, headers={"X-Forwarded-For": "10.9.9.9"}).status_code == 429


def fail_from(addresses: int, username: str = "rita", each: int = 5) -> list[int]:
    """The answers to strangers who guess at an account, each from an address of its own."""
    strangers = [f"203.0.113.{number}" for number in range(addresses) for _ in range(each)]
    return [log_in(Client(REMOTE_ADDR=address), "wrong", username).status_code for address in strangers]


def test_a_wrong_password_keeps_only_its_sender_out(client: Client, rita: Actor) -> None:
    assert fail_from(1, each=6) == [400] * 5 + [429]
    assert log_in(Client(REMOTE_ADDR="203.0.113.0")).status_code == 429
    assert log_in(client).status_code == 302


def test_guesses_from_everywhere_are_slowed(client: Client, rita: Actor) -> None:
    assert fail_from(5) == [400] * 20 + [429] * 5
    refused = log_in(client)
    assert refused.status_code == 429
    assert 0 < int(refused.headers["Retry-After"]) <= 60


def test_guesses_from_everywhere_at_nobody_are_slowed_alike(client: Client) -> None:
    assert fail_from(5, "nobody") == [400] * 20 + [429] * 5


def known_device() -> Client:
    """A browser in which rita has been logged in."""
    browser = Client()
    log_in(browser)
    browser.post("/logout/")
    return browser


def test_strangers_never_keep_out_whoever_was_here_before(rita: Actor) -> None:
    browser = known_device()
    fail_from(6)
    assert log_in(browser).status_code == 302


def test_nor_do_neighbours_behind_the_same_address(client: Client, rita: Actor) -> None:
    browser = known_device()
    for number in range(25):
        log_in(client, "wrong", f"user-{number}")
    assert log_in(client).status_code == 429
    assert log_in(browser).status_code == 302


def test_a_known_device_has_a_count_of_its_own(client: Client, rita: Actor) -> None:
    browser = known_device()
    assert [log_in(browser, "wrong").status_code for _ in range(11)] == [400] * 10 + [429]
    assert log_in(client).status_code == 302


def test_a_device_is_known_for_its_own_account_alone(rita: Actor, make_user: Callable[..., Actor]) -> None:
    make_user("RITA")
    browser = known_device()
    for name in ("RITA", "ada"):
        attempts.clear()
        assert [log_in(browser, "wrong", name).status_code for _ in range(6)] == [400] * 5 + [429]


def device_cookie(browser: Client) -> Any:
    [cookie] = [morsel for name, morsel in browser.cookies.items() if name.startswith(("device", "__Host-device"))]
    return cookie


def test_a_device_keeps_one_cookie_for_each_account(rita: Actor, make_user: Callable[..., Actor]) -> None:
    make_user("ada")
    browser = known_device()
    log_in(browser, username="ada")
    browser.post("/logout/")
    fail_from(6)
    fail_from(6, "ada")
    assert [log_in(browser, username=name).status_code for name in ("rita", "ada")] == [302, 302]


def test_a_made_up_device_is_none(client: Client, rita: Actor) -> None:
    cookie = device_cookie(known_device())
    fail_from(6)
    for value in (cookie.value[:-1] + ("a" if cookie.value[-1] != "a" else "b"), "x", "", "\0", "rita", "x" * 5000):
        client.cookies[cookie.key] = value
        assert log_in(client).status_code == 429


def test_a_new_password_makes_all_other_devices_strangers(rita: Actor) -> None:
    browser, other = known_device(), known_device()
    log_in(browser)
    given = {"old_password": RIGHT, "new_password1": NEW, "new_password2": NEW}
    assert browser.post("/account/password/", given).status_code == 302
    browser.post("/logout/")
    fail_from(6)
    assert [log_in(each, NEW).status_code for each in (browser, other)] == [302, 429]


def test_a_devices_cookie_tells_scripts_and_other_sites_nothing(rita: Actor, settings: Any) -> None:
    cookie = device_cookie(known_device())
    assert (cookie["httponly"], cookie["samesite"], cookie["path"], cookie["secure"]) == (True, "Strict", "/", "")
    settings.BEHIND_TLS = True
    cookie = device_cookie(known_device())
    assert (cookie.key[:7], cookie["secure"]) == ("__Host-", True)


def test_the_link_makes_a_device_known(client: Client, locked: None) -> None:
    client.post(link(), {"new_password1": NEW, "new_password2": NEW})
    client.post("/logout/")
    fail_from(6, "admin")
    assert log_in(client, NEW, "admin").status_code == 302


def test_behind_a_proxy_the_address_is_the_one_the_proxy_saw(client: Client, rita: Actor, settings: Any) -> None:
    settings.BEHIND_TLS = True
    for number in range(20):
        log_in(client, "x", f"user-{number}", headers={"X-Forwarded-For": f"10.0.0.{number}, 192.0.2.1"})
    assert log_in(client, headers={"X-Forwarded-For": "10.1.1.1, 192.0.2.1"}).status_code == 429
    assert log_in(client, headers={"X-Forwarded-For": "192.0.2.1, 192.0.2.2"}).status_code == 302


# -------------------------------------------------------------------------------------------- logout


def test_it_logs_out(client: Client, rita: Actor, locked: None) -> None:
    log_in(client)
    assert client.get("/logout/").status_code == 405
    assert client.post("/logout/").headers["Location"] == "/login/"
    assert client.get("/logs/").status_code == 302


def test_without_a_needed_login_one_is_local_again(client: Client, rita: Actor) -> None:
    log_in(client)
    assert client.post("/logout/").headers["Location"] == "/logs/"
    assert client.get("/logs/").status_code == 200


# ----------------------------------------------------------------------------------------- the link


def link() -> str:
    found = accounts.admin_link("http://testserver")
    assert found is not None
    return found.removeprefix("http://testserver")


def test_the_link_leads_to_a_password_and_in(client: Client, locked: None) -> None:
    path = link()
    assert "admin" in words(page(client, path))
    answer = client.post(path, {"new_password1": NEW, "new_password2": NEW})
    assert (answer.status_code, answer.headers["Location"]) == (302, "/logs/")
    assert client.get("/admin/").status_code == 200
    page(client, path, status=404)


@pytest.mark.parametrize(
    ("first", "second"), [("short", "short"), ("password1234", "password1234"), (NEW, "another one")]
)
def test_a_bad_password_is_refused_and_the_link_stays(client: Client, first: str, second: str) -> None:
    path = link()
    answer = client.post(path, {"new_password1": first, "new_password2": second})
    assert answer.status_code == 400
    assert "_auth_user_id" not in client.session
    page(client, path)


THEIRS = ["ritaritarita", "Rita.Miller", "rita123456", "MillerMiller1", "83920174650"]


@pytest.mark.parametrize("password", THEIRS)
def test_a_password_that_is_known_with_its_user_is_refused(client: Client, rita: Actor, password: str) -> None:
    User.objects.filter(username="rita").update(email="rita.miller@example.org")
    log_in(client)
    given = {"old_password": RIGHT, "new_password1": password, "new_password2": password}
    assert client.post("/account/password/", given).status_code == 400
    assert log_in(Client()).status_code == 302  # with the old one


@pytest.mark.parametrize("password", ["adminadmin", "Admin12345", "83920174650"])
def test_the_first_password_is_not_the_name_either(client: Client, password: str) -> None:
    path = link()
    assert client.post(path, {"new_password1": password, "new_password2": password}).status_code == 400
    page(client, path)


def test_a_wrong_link_is_not_found(client: Client) -> None:
    assert "admin_link" in words(page(client, "/welcome/nonsense", status=404))


# ----------------------------------------------------------------------------------------- password


def test_one_can_change_ones_password(client: Client, rita: Actor, locked: None) -> None:
    other = Client()
    log_in(client)
    log_in(other)
    page(client, "/account/password/")
    answer = client.post("/account/password/", {"old_password": RIGHT, "new_password1": NEW, "new_password2": NEW})
    assert (answer.status_code, answer.headers["Location"]) == (302, "/keys/")
    assert client.get("/keys/").status_code == 200
    assert other.get("/keys/").status_code == 302
    assert log_in(Client(), NEW).status_code == 302


def test_strangers_keep_nobody_from_changing_theirs(client: Client, rita: Actor) -> None:
    log_in(client)
    fail_from(6)
    given = {"old_password": RIGHT, "new_password1": NEW, "new_password2": NEW}
    assert client.post("/account/password/", given).status_code == 302


def test_the_old_password_cannot_be_guessed_there(client: Client, rita: Actor) -> None:
    log_in(client)
    given = {"old_password": "wrong", "new_password1": NEW, "new_password2": NEW}
    assert [client.post("/account/password/", given).status_code for _ in range(11)] == [400] * 10 + [429]
    assert client.post("/account/password/", {**given, "old_password": RIGHT}).status_code == 429


def test_a_bad_new_password_is_no_failed_attempt(client: Client, rita: Actor) -> None:
    log_in(client)
    given = {"old_password": RIGHT, "new_password1": "short", "new_password2": "short"}
    assert {client.post("/account/password/", given).status_code for _ in range(8)} == {400}


def test_the_local_user_has_no_password(client: Client) -> None:
    assert client.get("/account/password/").headers["Location"] == "/login/?next=/account/password/"

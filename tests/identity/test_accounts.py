"""The first superuser's link: works once, for a while, and for its account only."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.contrib.auth import authenticate
from django.core import signing
from django.core.management import CommandError, call_command

from agents.base.access import Actor
from agents.base.errors import InvalidRequest, NotFound
from agents.base.models.people import User
from agents.base.store import keys
from agents.identity.store import accounts

pytestmark = pytest.mark.django_db

BASE = "http://localhost:8321"
PASSWORD = "a long enough one"


def token_of(link: str | None) -> str:
    assert link is not None
    assert link.startswith(f"{BASE}/welcome/")
    return link.removeprefix(f"{BASE}/welcome/")


def test_it_makes_a_superuser_without_a_password() -> None:
    accounts.admin_link(BASE)
    user = User.objects.get(username="admin")
    assert (user.is_superuser, user.is_staff, user.is_active) == (True, True, True)
    assert not user.has_usable_password()
    assert keys.of_user(user).is_admin


def test_the_link_sets_the_password() -> None:
    token = token_of(accounts.admin_link(BASE))
    assert accounts.use_link(token, PASSWORD).username == "admin"
    assert authenticate(username="admin", password=PASSWORD) is not None


def test_the_link_works_once() -> None:
    token = token_of(accounts.admin_link(BASE))
    accounts.use_link(token, PASSWORD)
    with pytest.raises(NotFound, match="used already"):
        accounts.use_link(token, "another long one")
    with pytest.raises(NotFound):
        accounts.user_of_link(token)
    assert authenticate(username="admin", password=PASSWORD) is not None


def test_all_links_of_an_account_die_with_the_first_used() -> None:
    first, second = token_of(accounts.admin_link(BASE)), token_of(accounts.admin_link(BASE))
    accounts.use_link(second, PASSWORD)
    with pytest.raises(NotFound):
        accounts.user_of_link(first)


def test_looking_does_not_use_it_up() -> None:
    token = token_of(accounts.admin_link(BASE))
    assert accounts.user_of_link(token) == accounts.user_of_link(token)


def test_the_link_ages(monkeypatch: pytest.MonkeyPatch) -> None:
    token = token_of(accounts.admin_link(BASE))
    now = signing.time.time()  # type: ignore[attr-defined]  # the clock that signing reads
    monkeypatch.setattr(signing.time, "time", lambda: now + accounts.LINK_AGE_S - 1)  # type: ignore[attr-defined]  # the same
    accounts.user_of_link(token)
    monkeypatch.setattr(signing.time, "time", lambda: now + accounts.LINK_AGE_S + 2)  # type: ignore[attr-defined]  # the same
    with pytest.raises(NotFound, match="15 minutes"):
        accounts.user_of_link(token)


@pytest.mark.parametrize("token", ["", "x", "a:b:c", "WzEsIngiXQ:1abcde:forged", "\0", "…" * 500])
def test_a_forged_link_is_none(token: str) -> None:
    accounts.admin_link(BASE)
    with pytest.raises(NotFound):
        accounts.user_of_link(token)


def test_a_token_signed_for_something_else_is_none() -> None:
    accounts.admin_link(BASE)
    user = User.objects.get(username="admin")
    with pytest.raises(NotFound):
        accounts.user_of_link(signing.dumps([user.pk, "x"], salt="other"))


def test_there_is_no_link_once_a_superuser_has_a_password() -> None:
    accounts.use_link(token_of(accounts.admin_link(BASE)), PASSWORD)
    assert accounts.admin_link(BASE) is None


def test_a_superuser_who_is_switched_off_does_not_count() -> None:
    User.objects.create_superuser("gone", password=PASSWORD, is_active=False)
    assert accounts.admin_link(BASE) is not None


def test_an_account_keeps_its_password_until_the_link_is_used(make_user: Callable[..., Actor]) -> None:
    make_user("rita", teams=["support"])
    token = token_of(accounts.link_for("rita", BASE))
    assert authenticate(username="rita", password="correct horse battery") is not None
    accounts.use_link(token, PASSWORD)
    assert authenticate(username="rita", password="correct horse battery") is None
    assert User.objects.get(username="rita").is_superuser


def test_a_login_ends_the_link(make_user: Callable[..., Actor]) -> None:
    make_user("rita")
    token = token_of(accounts.link_for("rita", BASE))
    user = User.objects.get(username="rita")
    user.last_login = user.date_joined
    user.save()
    with pytest.raises(NotFound):
        accounts.user_of_link(token)


@pytest.mark.parametrize("name", ["local", "", "a b", "x" * 200, "a\nb"])
def test_a_name_that_cannot_log_in_is_refused(name: str) -> None:
    with pytest.raises(InvalidRequest):
        accounts.link_for(name, BASE)
    assert not User.objects.exclude(username="local").exists()


def test_the_command_prints_a_link(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("admin_link", username="ada", base_url=f"{BASE}/")
    token = token_of(capsys.readouterr().out.strip())
    assert accounts.user_of_link(token).username == "ada"


def test_the_command_says_what_is_wrong() -> None:
    with pytest.raises(CommandError, match="built-in user"):
        call_command("admin_link", username="local")

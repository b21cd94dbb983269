"""Users, groups with their attributes, keys and scopes in the admin; and its frame."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.test import Client

from agents.base import ids
from agents.base.access import Actor
from agents.base.ids import Kind
from agents.base.models.people import ApiKey, GroupAttributes, User
from agents.base.models.scopes import Scope
from agents.base.store import keys
from tests.fixtures.admin import Browser
from tests.support.builders import make_agent
from tests.support.pages.markup import elements, words

pytestmark = pytest.mark.django_db

GROUPS, USERS, KEYS = "/admin/auth/group/", "/admin/agents/user/", "/admin/agents/apikey/"
NO_ATTRIBUTES = {"attributes-TOTAL_FORMS": "0", "attributes-INITIAL_FORMS": "0"}


def key_of(secret: str) -> ApiKey:
    return ApiKey.objects.get(digest=keys._digest(secret))


# ------------------------------------------------------------------------------------------- groups


def group(text: str) -> dict[str, str]:
    return {
        "name": "support",
        "attributes-TOTAL_FORMS": "1",
        "attributes-INITIAL_FORMS": "0",
        "attributes-0-attributes": text,
    }


def test_a_group_gives_its_members_attributes(boss: Browser, make_user: Callable[..., Actor]) -> None:
    make_user("rita")
    answer = boss.post(f"{GROUPS}add/", group('{"teams": ["support", "night"], "roles": []}'))
    assert answer.status_code == 302
    found = Group.objects.get()
    assert GroupAttributes.objects.get(group=found).attributes == {"teams": ["night", "support"]}
    rita = User.objects.get(username="rita")
    rita.groups.add(found)
    assert keys.of_user(rita).attributes == {"teams": frozenset({"night", "support"})}
    assert "teams: night support" in words(boss.read(GROUPS))


WRONG: list[tuple[str, str]] = [
    ('{"rolls": ["x"]}', "unknown category"),
    ('{"roles": "admin"}', "roles must be a list of non-empty texts"),
    ('{"roles": [1]}', "roles must be a list of non-empty texts"),
    ('["admin"]', "A JSON object with lists of texts is required"),
    ('{"roles": [', "This is not JSON"),
    ('{"roles": ["a\\u0000b"]}', "NUL characters"),
]


@pytest.mark.parametrize(("text", "said"), WRONG)
def test_wrong_attributes_are_an_error_of_the_form(boss: Browser, text: str, said: str) -> None:
    answer = boss.post(f"{GROUPS}add/", group(text))
    assert answer.status_code == 200
    assert said in words(answer.content.decode())
    assert not Group.objects.exists()


def test_a_change_of_attributes_holds_at_once(
    boss: Browser, make_user: Callable[..., Actor], django_capture_on_commit_callbacks: Any
) -> None:
    make_user("rita", roles=["reader"])
    user = User.objects.get(username="rita")
    attributes = GroupAttributes.objects.get()
    assert keys.of_user_id(user.pk).actions == {"read"}  # type: ignore[union-attr]  # it is there
    given = group('{"roles": ["operator"]}')
    given |= {"attributes-INITIAL_FORMS": "1", "attributes-0-id": str(attributes.pk)}
    given |= {"attributes-0-group": str(attributes.group_id), "name": "renamed"}
    with django_capture_on_commit_callbacks(execute=True):
        assert boss.post(f"{GROUPS}{attributes.group_id}/change/", given).status_code == 302
    assert keys.of_user_id(user.pk).actions == {"read", "run", "ingest"}  # type: ignore[union-attr]  # it is there


# -------------------------------------------------------------------------------------------- users


def user_form(user: User, **more: Any) -> dict[str, Any]:
    return {"username": user.username, "first_name": "", "last_name": "", "email": "", "is_active": "on", **more}


def test_a_user_gets_groups(boss: Browser, make_user: Callable[..., Actor]) -> None:
    make_user("rita")
    user, team = User.objects.get(username="rita"), Group.objects.create(name="support")
    assert boss.post(f"{USERS}{user.pk}/change/", user_form(user, groups=[team.pk])).status_code == 302
    assert list(user.groups.all()) == [team]


def test_a_new_user_can_log_in(boss: Browser) -> None:
    given = {
        "username": "rita",
        "usable_password": "true",
        "password1": "a long enough one",
        "password2": "a long enough one",
    }
    assert boss.post(f"{USERS}add/", given).status_code == 302
    assert Client().login(username="rita", password="a long enough one")


@pytest.mark.parametrize("password", ["ritaritarita", "Rita-12345", "83920174650", "password1234", "short"])
def test_a_new_user_gets_a_password_that_is_none_to_guess(boss: Browser, password: str) -> None:
    given = {"username": "rita", "usable_password": "true", "password1": password, "password2": password}
    assert boss.post(f"{USERS}add/", given).status_code == 200  # the form again
    assert not User.objects.filter(username="rita").exists()


@pytest.mark.parametrize("password", ["bossbossboss", "Boss4boss4", "83920174650"])
def test_a_user_gets_such_a_password_later_too(boss: Browser, password: str) -> None:
    user = User.objects.get(username="boss")
    given = {"password1": password, "password2": password, "usable_password": "true"}
    assert boss.post(f"{USERS}{user.pk}/password/", given).status_code == 200
    user.refresh_from_db()
    assert user.check_password("correct horse battery")


def test_the_local_user_cannot_be_made_by_hand(boss: Browser) -> None:
    """Its keys act with the local user's rights."""
    given = {
        "username": "local",
        "usable_password": "true",
        "password1": "a long enough one",
        "password2": "a long enough one",
    }
    answer = boss.post(f"{USERS}add/", given)
    assert "This name is the built-in user" in words(answer.content.decode())
    assert not User.objects.filter(username="local").exists()


def test_users_are_switched_off_and_never_deleted(boss: Browser, make_user: Callable[..., Actor]) -> None:
    rita = make_user("rita")
    _, secret = keys.create(rita, name="k", actions=["read"])
    user = User.objects.get(username="rita")
    assert boss.post(f"{USERS}{user.pk}/delete/", {"post": "yes"}).status_code == 403
    form = user_form(user)
    del form["is_active"]
    boss.post(f"{USERS}{user.pk}/change/", form)
    keys.forget()
    with pytest.raises(Exception, match="not valid"):
        keys.of_secret(secret)


def test_staff_cannot_raise_themselves(staff: Callable[..., Browser], boss: Browser) -> None:
    rita = staff("rita", "view_user", "change_user", "add_user")
    user, powerful = User.objects.get(username="rita"), Group.objects.create(name="admins")
    given = user_form(user, is_superuser="on", is_staff="on", groups=[powerful.pk])
    assert rita.post(f"{USERS}{user.pk}/change/", given).status_code == 302
    user.refresh_from_db()
    assert not user.is_superuser
    assert not user.groups.filter(pk=powerful.pk).exists()


def test_staff_do_not_touch_superusers(staff: Callable[..., Browser], boss: Browser) -> None:
    rita = staff("rita", "view_user", "change_user")
    chief = User.objects.get(username="boss")
    assert rita.post(f"{USERS}{chief.pk}/change/", user_form(chief, email="x@example.org")).status_code == 403
    password = {"password1": "a long enough one", "password2": "a long enough one", "usable_password": "true"}
    assert rita.post(f"{USERS}{chief.pk}/password/", password).status_code == 403
    chief.refresh_from_db()
    assert chief.check_password("correct horse battery")


def test_no_page_shows_a_password(boss: Browser) -> None:
    user = User.objects.get(username="boss")
    assert user.password not in boss.read(f"{USERS}{user.pk}/change/")


# --------------------------------------------------------------------------------------------- keys


def test_keys_are_listed_without_secrets_and_revoked(boss: Browser, make_user: Callable[..., Actor]) -> None:
    public_id, secret = keys.create(make_user("rita"), name="export", actions=["read", "run"])
    key = key_of(secret)
    for path in (KEYS, f"{KEYS}{public_id}/change/"):
        text = boss.read(path)
        assert "export" in words(text)
        assert f"…{secret[-4:]}" in words(text)
        assert secret not in text
        assert key.digest not in text
    assert "1 key revoked." in words(boss.act(KEYS, "revoke", key.pk).content.decode())
    with pytest.raises(Exception, match="not valid"):
        keys.of_secret(secret)
    assert "revoked" in words(boss.read(KEYS))


def test_keys_are_neither_made_nor_changed_there(boss: Browser, make_user: Callable[..., Actor]) -> None:
    public_id, _ = keys.create(make_user("rita"), name="export", actions=["read"])
    assert boss.get(f"{KEYS}add/").status_code == 403
    assert boss.post(f"{KEYS}{public_id}/change/", {"actions": '["manage"]'}).status_code == 403


def test_keys_are_found(boss: Browser, make_user: Callable[..., Actor]) -> None:
    rita, ada = make_user("rita"), make_user("ada")
    first, _ = keys.create(rita, name="export", actions=["read"])
    keys.create(ada, name="import", actions=["read"])
    for text in ("expo", "rita", first):
        found = [ids.public(Kind.KEY, row.pk) for row in boss.get(KEYS, {"q": text}).context["cl"].result_list]
        assert found == [first]


def test_staff_revoke_only_what_is_theirs(staff: Callable[..., Browser], make_user: Callable[..., Actor]) -> None:
    _, secret = keys.create(make_user("ada"), name="of ada", actions=["read"])
    rita = staff("rita", "view_apikey", "change_apikey")
    _, own = keys.create(keys.of_user(User.objects.get(username="rita")), name="of rita", actions=["read"])
    assert "of ada" not in rita.read(KEYS)
    rita.act(KEYS, "revoke", key_of(secret).pk, key_of(own).pk)
    assert key_of(secret).revoked_at is None
    assert key_of(own).revoked_at is not None
    looking = staff("ruth", "view_apikey", roles=["admin"])
    looking.act(KEYS, "revoke", key_of(secret).pk)
    assert key_of(secret).revoked_at is None


# -------------------------------------------------------------------------------------------- scopes


def test_scopes_are_read_only(boss: Browser, make_user: Callable[..., Actor]) -> None:
    make_agent(make_user("rita", teams=["support"]))
    assert "teams: support" in words(boss.read("/admin/agents/scope/"))
    scope = Scope.objects.get()
    boss.read(f"/admin/agents/scope/{scope.pk}/change/")
    assert boss.get("/admin/agents/scope/add/").status_code == 403
    assert boss.post(f"/admin/agents/scope/{scope.pk}/change/", {"attributes": "{}"}).status_code == 403
    assert boss.post(f"/admin/agents/scope/{scope.pk}/delete/", {"post": "yes"}).status_code == 403


# --------------------------------------------------------------------------------------------- frame


def test_strangers_are_led_to_the_products_login(client: Client) -> None:
    answer = client.get("/admin/agents/turn/", follow=True)
    assert answer.redirect_chain[-1][0] == "/login/?next=%2Fadmin%2Fagents%2Fturn%2F"
    assert answer.status_code == 200


def test_a_password_sent_to_the_admins_own_login_is_not_looked_at(client: Client, boss: Browser) -> None:
    answer = client.post("/admin/login/", {"username": "boss", "password": "correct horse battery"})
    assert answer.headers["Location"].startswith("/login/")
    assert "_auth_user_id" not in client.session


def test_the_local_user_is_not_let_in(client: Client) -> None:
    client.get("/logs/")
    assert client.get("/admin/").status_code == 302


def test_someone_who_is_no_staff_is_led_to_the_login_which_says_who_they_are(make_user: Callable[..., Actor]) -> None:
    make_user("rita", roles=["admin"])
    browser = Browser()
    browser.force_login(User.objects.get(username="rita"))
    answer = browser.get("/admin/", follow=True)
    assert "You are logged in as rita" in words(answer.content.decode())


def test_logging_out_and_changing_the_password_are_the_products(boss: Browser) -> None:
    assert boss.get("/admin/password_change/").headers["Location"] == "/account/password/"
    text = boss.read("/admin/")
    assert "/logout/" in [each.get("action") for each in elements(text, "form")]
    assert "/admin/logout/" not in text


def test_the_tables_stand_in_three_groups(boss: Browser) -> None:
    read = words(boss.read("/admin/"))
    order = [
        "Agents",
        "Prices",
        "Record",
        "Sessions",
        "Turns",
        "Steps",
        "Responses",
        "Items",
        "Access",
        "Users",
        "Groups",
    ]
    assert [name for name in order if name in read] == order
    places = [read.index(f"{name} ") for name in ("Prices", "Sessions", "Turns", "Steps", "Users", "Groups")]
    assert places == sorted(places)


def test_pages_name_what_they_load_and_nothing_inline(boss: Browser) -> None:
    """With the policy the middleware sets: scripts, styles and images of our own only."""
    for path in ("/admin/", USERS, f"{USERS}add/", GROUPS, f"{GROUPS}add/", KEYS, "/admin/agents/price/add/"):
        boss.read(path)
        policy = boss.get(path).headers["Content-Security-Policy"]
        assert "script-src 'self';" in policy
        assert "unsafe" not in policy

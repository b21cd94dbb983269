"""Shields and registered models in the admin: made, changed and deleted as over the API."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from agents.base import ids
from agents.base.access import Actor, system
from agents.base.ids import Kind
from agents.base.store.registered import Registration, Registry
from agents.loop.models import RegisteredModel
from agents.loop.store.registered_models import registered_models
from agents.safety.models import Shield
from agents.safety.store import registered_shields
from tests.fixtures.admin import Browser
from tests.support.inprocess import idle_service
from tests.support.pages.markup import words

pytestmark = pytest.mark.django_db

SERVER = system("the tests")
RULES = {"rules": [{"keywords": ["kettle"], "level": "warn"}]}


@pytest.fixture(autouse=True)
def _served(db: None) -> Iterator[None]:
    with idle_service():
        yield


class Table:
    """One of the two, with a valid form."""

    def __init__(self, name: str, registry: Registry, model: Any, kind: Kind, valid: dict[str, Any]) -> None:
        self.name, self.registry, self.model, self.kind, self.valid = name, registry, model, kind, valid
        self.list, self.add = f"/admin/agents/{name}/", f"/admin/agents/{name}/add/"
        self.all = tuple(f"{verb}_{name}" for verb in ("view", "add", "change", "delete"))

    def given(self, **fields: Any) -> dict[str, str]:
        whole = {**self.valid, **fields}
        return {name: value if isinstance(value, str) else json.dumps(value) for name, value in whole.items()}

    def url(self, key: int, page: str = "change") -> str:
        return f"{self.list}{ids.public(self.kind, key)}/{page}/"

    def register(self, actor: Actor = SERVER, name: str = "words") -> int:
        return self.registry.add(actor, Registration(name, "scripted", "fast", {"phrases": ["tea"]}))


SHIELDS = Table(
    "shield",
    registered_shields,
    Shield,
    Kind.SHIELD,
    {"identifier": "words", "provider": "rules", "resource": "", "params": RULES},
)
MODELS = Table(
    "registeredmodel",
    registered_models,
    RegisteredModel,
    Kind.MODEL,
    {"identifier": "words", "provider": "scripted", "resource": "fast", "model_type": "llm", "metadata": {"a": 1}},
)
BOTH = pytest.mark.parametrize("table", [SHIELDS, MODELS], ids=["shield", "model"])


def errors(answer: Any) -> dict[str, str]:
    return {name: " ".join(said) for name, said in answer.context["adminform"].form.errors.items()}


# ------------------------------------------------------------------------------------------- making


def test_it_registers_a_shield(boss: Browser) -> None:
    assert boss.post(SHIELDS.add, SHIELDS.given()).status_code == 302
    assert registered_shields.find(SERVER, "words") == Registration("words", "rules", "", RULES)


def test_it_registers_a_model(boss: Browser) -> None:
    assert boss.post(MODELS.add, MODELS.given(resource="")).status_code == 302
    params = {"model_type": "llm", "metadata": {"a": 1}}
    assert registered_models.find(SERVER, "words") == Registration("words", "scripted", "words", params)


WRONG: list[tuple[Table, dict[str, Any], str, str]] = [
    (SHIELDS, {"identifier": ""}, "identifier", "required"),
    (SHIELDS, {"identifier": "demo_guard"}, "identifier", "of this server's settings"),
    (SHIELDS, {"provider": "nobody"}, "provider", "valid choice"),
    (SHIELDS, {"params": ""}, "params", "rules: Field required"),
    (SHIELDS, {"params": {"rules": [{"pattern": "("}]}}, "params", "rules.0.pattern: not a pattern"),
    (SHIELDS, {"params": [1]}, "params", "valid dictionary"),
    (SHIELDS, {"params": "{"}, "params", "This is not JSON"),
    (SHIELDS, {"provider": "llama-guard", "params": {"excluded_categories": ["S99"]}}, "params", "none of S1"),
    (SHIELDS, {"provider": "moderation", "params": "", "resource": "fast"}, "resource", "has no /moderations"),
    (MODELS, {"identifier": ""}, "identifier", "required"),
    (MODELS, {"identifier": "scripted/other"}, "identifier", "that endpoint's model"),
    (MODELS, {"identifier": "scripted/fast"}, "identifier", "needs no other"),
    (MODELS, {"provider": "nobody"}, "provider", "valid choice"),
    (MODELS, {"model_type": "picture"}, "model_type", "valid choice"),
    (MODELS, {"metadata": [1]}, "metadata", "valid dictionary"),
]


@pytest.mark.parametrize(("table", "fields", "field", "said"), WRONG)
def test_it_refuses_what_the_api_refuses_at_its_field(
    boss: Browser, table: Table, fields: dict[str, Any], field: str, said: str
) -> None:
    found = errors(boss.post(table.add, table.given(**fields)))
    assert list(found) == [field]
    assert said in found[field]
    assert not table.model.objects.unscoped("a test's").exists()


@BOTH
def test_a_name_is_registered_once(boss: Browser, table: Table) -> None:
    table.register()
    assert "registered already" in errors(boss.post(table.add, table.given()))["identifier"]


@BOTH
def test_nothing_is_registered_where_no_server_runs(boss: Browser, table: Table) -> None:
    from agents.loop import current_service

    current_service.use(None)
    answer = boss.post(table.add, table.given())
    assert answer.status_code == 200
    assert not table.model.objects.unscoped("a test's").exists()


# ------------------------------------------------------------------------------------------ changing


@BOTH
def test_it_changes_what_a_name_stands_for_and_not_the_name(boss: Browser, table: Table) -> None:
    key = table.register()
    assert boss.post(table.url(key), table.given(identifier="other", resource="demo")).status_code == 302
    row = table.model.objects.unscoped("a test's").get()
    assert (row.pk, row.identifier, row.resource) == (key, "words", "demo")
    assert "phrases" not in row.params


@BOTH
def test_saving_what_the_form_shows_changes_nothing(boss: Browser, table: Table) -> None:
    boss.post(table.add, table.given())
    row = table.model.objects.unscoped("a test's").get()
    form = boss.get(table.url(row.pk)).context["adminform"].form
    shown = {name: form[name].value() for name in form.fields}
    boss.post(table.url(row.pk), {name: "" if value is None else value for name, value in shown.items()})
    again = table.model.objects.unscoped("a test's").get()
    assert (again.provider, again.resource, again.params) == (row.provider, row.resource, row.params)


# ------------------------------------------------------------------------------------------ reading


@BOTH
def test_it_is_found_and_shown(boss: Browser, staff: Callable[..., Browser], table: Table) -> None:
    key = table.register()
    for text, found in (("wor", [key]), (ids.public(table.kind, key), [key]), ("nothing", [])):
        assert [row.pk for row in boss.get(table.list, {"q": text}).context["cl"].result_list] == found
    for browser in (boss, staff("ruth", f"view_{table.name}", roles=["admin"])):
        assert "words" in words(browser.read(table.list))
        assert ids.public(table.kind, key) in words(browser.read(table.url(key)))


# ----------------------------------------------------------------------------------------- deleting


@BOTH
def test_the_chosen_one_of_several_of_a_name_is_deleted(
    boss: Browser, make_user: Callable[..., Actor], table: Table
) -> None:
    older, newer = table.register(make_user("ann", teams=["red"])), table.register(make_user("ben", teams=["blue"]))
    assert boss.post(table.url(newer, "delete"), {"post": "yes"}).headers["Location"] == table.list
    assert [row.pk for row in table.model.objects.unscoped("a test's")] == [older]
    boss.act(table.list, "delete_selected", older, post="yes")
    assert not table.model.objects.unscoped("a test's").exists()


# ------------------------------------------------------------------------------------------- rights


@BOTH
def test_staff_see_and_change_what_their_actor_may(
    staff: Callable[..., Browser], make_user: Callable[..., Actor], table: Table
) -> None:
    mine = table.register(make_user("friend", teams=["red"]), "mine")
    theirs = table.register(make_user("stranger", teams=["blue"]), "theirs")
    rita = staff("rita", *table.all, teams=["red"])
    assert "theirs" not in rita.read(table.list)
    assert rita.get(table.url(theirs)).status_code == 302
    for key in (mine, theirs):
        rita.post(table.url(key), table.given(resource="demo"))
    rita.act(table.list, "delete_selected", theirs, post="yes")
    changed = dict(table.model.objects.unscoped("a test's").values_list("pk", "resource"))
    assert changed == {mine: "demo", theirs: "fast"}


@BOTH
def test_a_permission_is_not_enough_without_the_action(staff: Callable[..., Browser], table: Table) -> None:
    key = table.register()
    reader = staff("reader", *table.all, roles=["reader"], teams=["red"])
    assert reader.get(table.add).status_code == 403
    looking = staff("looking", f"view_{table.name}", roles=["admin"])
    assert looking.post(table.url(key), table.given()).status_code == 403
    assert looking.post(table.url(key, "delete"), {"post": "yes"}).status_code == 403
    assert staff("nobody", roles=["admin"]).get(table.list).status_code == 403
    assert table.model.objects.unscoped("a test's").get().resource == "fast"

"""The access rule by itself: who sees which row, what a key may do, and managers that refuse."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from django.db.models import ProtectedError

from agents.base import ids
from agents.base.access import ACTIONS, ANONYMOUS, Actor, attributes_of, may_read, readable_scopes, system
from agents.base.errors import InvalidRequest, NotAllowed, NotAuthenticated, NotFound
from agents.base.models.people import ApiKey, User
from agents.base.models.scoped import visible_where
from agents.base.models.scopes import Scope
from agents.base.store import keys, scopes
from agents.base.store.sql import columns
from agents.record.models.agents import Agent, Session
from agents.record.models.turns import Turn
from agents.record.store import agents, read_turns
from tests.conftest import Clock, actor
from tests.support.builders import make_agent, make_session, make_turn

# ------------------------------------------------------------------------------------------- the rule

TEAM = {"teams": ["red"]}
TEAM_AND_PROJECT = {"teams": ["red", "blue"], "projects": ["p1"]}


@pytest.mark.parametrize(
    ("row", "mine", "visible"),
    [
        ({}, {}, False),
        ({}, TEAM, False),
        (TEAM, {}, False),
        (TEAM, TEAM, True),
        (TEAM, {"teams": ["blue"]}, False),
        (TEAM, {"roles": ["red"]}, False),
        (TEAM_AND_PROJECT, TEAM, False),
        (TEAM_AND_PROJECT, {"projects": ["p1"]}, False),
        (TEAM_AND_PROJECT, {"teams": ["blue"], "projects": ["p1", "p2"]}, True),
        (TEAM_AND_PROJECT, {"teams": ["blue"], "projects": ["p2"]}, False),
        (TEAM_AND_PROJECT, {"roles": ["admin"]}, True),
        ({}, {"roles": ["admin"]}, True),
        ({"namespaces": ["n"]}, {"namespaces": ["n"], "roles": ["reader"]}, True),
        ({"namespaces": ["o'brien"]}, {"namespaces": ["%"]}, False),
    ],
)
def test_every_category_on_a_row_must_share_a_value(row: Any, mine: Any, visible: bool) -> None:
    assert may_read(attributes_of(row), actor("someone", 1, **mine)) is visible


@pytest.mark.parametrize(
    "raw",
    [{"tenant": ["a"]}, {"teams": "red"}, {"teams": [""]}, {"teams": [1]}, {"teams": None}, {"teams": ["a", None]}],
)
def test_attributes_of_another_shape_are_refused(raw: Any) -> None:
    with pytest.raises(ValueError, match=r"teams|tenant"):
        attributes_of(raw)


def test_a_category_without_values_is_no_category() -> None:
    assert attributes_of({"teams": [], "roles": ["r"]}) == {"roles": frozenset({"r"})}


def test_nobody_may_do_nothing_and_the_server_itself_everything() -> None:
    assert ANONYMOUS.is_anonymous
    assert not ANONYMOUS.is_admin
    assert system("recovery").is_admin
    assert system("recovery").actions == ACTIONS


# ------------------------------------------------------------------------------------------- the rows

MakeUser = Callable[..., Actor]


@pytest.mark.django_db
def test_the_scopes_an_actor_reads_are_those_the_rule_lets_it(make_user: MakeUser) -> None:
    made = {name: scopes.scope_of(attributes_of(raw)) for name, raw in (("red", TEAM), ("none", {}))}
    made["both"] = scopes.scope_of(attributes_of(TEAM_AND_PROJECT))
    assert readable_scopes(make_user("member", teams=["red"])) == [made["red"]]
    assert set(readable_scopes(make_user("boss", roles=["admin"]))) >= set(made.values())
    assert readable_scopes(make_user("stranger")) == []
    assert readable_scopes(ANONYMOUS) == []


@pytest.mark.django_db
def test_a_row_without_attributes_is_for_its_owner_and_admins(make_user: MakeUser, admin: Actor) -> None:
    owner, other = make_user("owner"), make_user("other")
    mine = make_agent(owner).key
    assert agents.get(owner, mine).key == agents.get(admin, mine).key == mine
    for stranger in (other, actor("nobody"), actor("nobody", None, teams=["red"])):
        with pytest.raises(NotFound):
            agents.get(stranger, mine)
        assert agents.listing(stranger) == ([], False)
    with pytest.raises(NotAllowed):
        agents.listing(ANONYMOUS)


@pytest.mark.django_db
def test_a_team_shares_its_rows_and_the_admin_role_shares_none(make_user: MakeUser, admin: Actor) -> None:
    owner, mate = make_user("owner", teams=["red"]), make_user("mate", teams=["red", "blue"])
    assert agents.get(mate, make_agent(owner).key)
    assert agents.get(owner, make_agent(mate).key)  # one shared value is enough
    with pytest.raises(NotFound):
        agents.get(owner, make_agent(admin).key)


@pytest.mark.django_db
@pytest.mark.parametrize("role", ["reader", "operator"])
def test_a_role_that_grants_actions_shares_no_rows(make_user: MakeUser, role: str) -> None:
    """Else every operator of the server would read what any operator makes."""
    one, other = make_user("one", roles=["operator"]), make_user("other", roles=[role])
    with pytest.raises(NotFound):
        agents.get(other, make_agent(one).key)


@pytest.mark.django_db
def test_a_reader_sees_what_an_operator_of_its_team_makes(make_user: MakeUser) -> None:
    operator = make_user("op", roles=["operator"], teams=["red"])
    reader = make_user("re", roles=["reader"], teams=["red"])
    made = make_turn(operator)
    assert read_turns.turn(reader, made.turn).key == made.turn


@pytest.mark.django_db
def test_the_rule_as_sql_is_the_rule_as_a_query(make_user: MakeUser, admin: Actor) -> None:
    """`visible_where` and `visible_to` let through the same rows, for every actor and action, and refuse the same."""
    owners = [make_user("a", teams=["red"]), make_user("b", teams=["blue"], projects=["p"]), make_user("c")]
    for owner in owners:
        make_session(owner)
    looking = [*owners, admin, ANONYMOUS, actor("keyless", None, teams=["red"]), make_user("r", roles=["reader"])]
    for who, action, model in itertools.product(looking, sorted(ACTIONS), (Agent, Session)):
        if action not in who.actions:
            for rule in (partial(visible_where, who), partial(model.objects.visible_to, who)):
                with pytest.raises(NotAllowed, match=f"may not {action}"):
                    rule(action)
            continue
        where, given = visible_where(who, action)
        table, [column] = model._meta.db_table, columns(model, "id")
        raw = model._base_manager.raw(f"SELECT {column} FROM {table} WHERE {where}", given)
        queried = model.objects.visible_to(who, action).values_list("pk", flat=True)
        assert {row.pk for row in raw} == set(queried), (who.name, action, table)


# ---------------------------------------------------------------------------------------------- roles


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("roles", "actions"),
    [
        (["reader"], {"read"}),
        (["operator"], {"read", "run", "ingest"}),
        (["admin"], ACTIONS),
        (["admin", "reader"], ACTIONS),
        (["reader", "operator"], {"read", "run", "ingest"}),
        (["analyst"], ACTIONS),
        ([], ACTIONS),
    ],
)
def test_a_role_decides_what_a_user_may_do(make_user: MakeUser, roles: list[str], actions: set[str]) -> None:
    assert make_user("someone", roles=roles).actions == actions


# ----------------------------------------------------------------------------------------------- keys


@pytest.mark.django_db
@pytest.mark.parametrize("chosen", [["read"], ["run"], ["ingest"], ["manage"], ["read", "run"], sorted(ACTIONS)])
def test_a_key_narrows_its_user(make_user: MakeUser, chosen: list[str]) -> None:
    owner = make_user("owner", teams=["red"])
    _, secret = keys.create(owner, name="ci", actions=chosen)
    spoken = keys.of_secret(secret)
    assert (spoken.user_id, spoken.attributes, spoken.actions) == (owner.user_id, owner.attributes, frozenset(chosen))
    assert spoken.key_id is not None


@pytest.mark.django_db
def test_a_key_never_widens_its_user(make_user: MakeUser) -> None:
    reader = make_user("reader", roles=["reader"])
    _, secret = keys.create(reader, name="all", actions=sorted(ACTIONS))
    assert keys.of_secret(secret).actions == {"read"}


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("name", "actions"), [("k", []), ("k", ["delete"]), ("k", ["read", ""]), ("", ["read"]), ("x" * 101, ["read"])]
)
def test_an_impossible_key_is_refused(make_user: MakeUser, name: str, actions: list[str]) -> None:
    with pytest.raises(InvalidRequest):
        keys.create(make_user("owner"), name=name, actions=actions)
    assert not ApiKey.objects.exists()


def refused(secret: str) -> bool:
    keys.forget()
    try:
        keys.of_secret(secret)
    except NotAuthenticated as error:
        return error.code == "invalid_api_key"
    return False


@pytest.mark.django_db
def test_a_revoked_key_is_refused_at_once(make_user: MakeUser) -> None:
    owner = make_user("owner")
    public_id, secret = keys.create(owner, name="ci", actions=["read"])
    assert keys.of_secret(secret)
    keys.revoke(owner, public_id)
    with pytest.raises(NotAuthenticated):
        keys.of_secret(secret)  # from the cache nothing either


@pytest.mark.django_db
def test_a_key_ends_at_its_moment(make_user: MakeUser, clock: Clock) -> None:
    _, secret = keys.create(make_user("owner"), name="ci", actions=["read"], expires_at_us=clock.now_us + 10_000_000)
    clock.pass_s(9.9)
    assert not refused(secret)
    clock.pass_s(0.1)
    assert refused(secret)


@pytest.mark.django_db
def test_a_key_of_a_user_that_is_gone_or_switched_off_is_dead(make_user: MakeUser) -> None:
    owner = make_user("owner")
    assert owner.user_id is not None
    _, secret = keys.create(owner, name="ci", actions=["read"])
    User.objects.filter(pk=owner.user_id).update(is_active=False)
    assert refused(secret)
    User.objects.filter(pk=owner.user_id).update(is_active=True)
    assert not refused(secret)
    User.objects.get(pk=owner.user_id).delete()
    assert refused(secret)
    assert not ApiKey.objects.exists()


@pytest.mark.django_db
def test_a_key_follows_its_users_rights(make_user: MakeUser) -> None:
    owner = make_user("owner", roles=["admin"])
    _, secret = keys.create(owner, name="ci", actions=sorted(ACTIONS))
    assert owner.user_id is not None
    User.objects.get(pk=owner.user_id).groups.clear()
    keys.forget()
    assert not keys.of_secret(secret).is_admin


@pytest.mark.django_db
def test_only_ones_own_keys_can_be_revoked(make_user: MakeUser, admin: Actor) -> None:
    owner, other = make_user("owner"), make_user("other")
    public_id, secret = keys.create(owner, name="ci", actions=["read"])
    for wrong in (public_id, ids.public(ids.Kind.KEY, ids.new_key()), "", "x", ids.public(ids.Kind.AGENT, 1)):
        with pytest.raises(NotFound, match=r"^This key was not found\.$"):
            keys.revoke(other, wrong)
    assert [key.public_id for key in keys.listing(other)] == []
    assert [key.public_id for key in keys.listing(admin)] == [public_id]
    keys.revoke(admin, public_id)
    assert refused(secret)


def test_a_secret_with_one_character_changed_is_not_well_formed() -> None:
    secret = keys.new_secret()
    assert keys.is_well_formed(secret)
    changed = [secret[:at] + ("x" if secret[at] != "x" else "y") + secret[at + 1 :] for at in range(len(secret))]
    assert not any(map(keys.is_well_formed, [*changed, secret + "x", secret[:-1], "ask_", "", "ask_\u0661" + secret]))


@pytest.mark.django_db
def test_no_secret_is_kept(make_user: MakeUser) -> None:
    _, secret = keys.create(make_user("owner"), name="ci", actions=["read"])
    kept = " ".join(str(value) for value in ApiKey.objects.values_list().get())
    assert secret not in kept
    assert secret[4:-4] not in kept
    assert secret[-4:] in kept


# -------------------------------------------------------------------------------------- what is left


@pytest.mark.django_db
def test_a_scope_in_use_cannot_be_removed(make_user: MakeUser) -> None:
    make_agent(make_user("owner", teams=["red"]))
    with pytest.raises(ProtectedError):
        Scope.objects.all().delete()


@pytest.mark.django_db
def test_the_rows_of_a_removed_user_are_left_to_its_team_and_admins(make_user: MakeUser, admin: Actor) -> None:
    owner, mate = make_user("owner", teams=["red"]), make_user("mate", teams=["red"])
    private = make_agent(make_user("loner"))
    shared = make_agent(owner)
    User.objects.filter(username__in=["owner", "loner"]).delete()
    assert agents.get(mate, shared.key)
    assert agents.get(admin, private.key)
    assert not Agent.objects.visible_to(actor("keyless")).exists()


@pytest.mark.django_db
def test_the_turns_of_a_stranger_are_not_there(make_user: MakeUser) -> None:
    made = make_turn(make_user("owner", teams=["red"]))
    stranger = make_user("stranger", teams=["blue"])
    with pytest.raises(NotFound):
        read_turns.turn(stranger, made.turn)
    assert read_turns.sizes_of_session(stranger, made.session) == []
    assert Turn.objects.visible_to(stranger).count() == 0

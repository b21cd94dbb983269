"""Who may open a row by a token of an identity provider: its owner, whatever others are called.

Names are chosen by those who bear them, so these tokens are all good: signed by the issuer, for this
server, and of somebody who would like to be taken for somebody else.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest
from django.test import Client

from agents.base.access import Actor
from agents.base.models.people import User
from agents.base.schemas.identity import TokenRequest
from agents.base.store import tokens
from agents.identity import background as identity
from agents.server.api.urls import routes
from tests.access.asking import PARAM, Cell, ask, filled
from tests.access.matrix import OWNED, Chain, Target, build, make_key, make_user
from tests.support.cases import sparing
from tests.support.inprocess import idle_service, told
from tests.support.live import issuer as issuers
from tests.support.live.issuer import CLIENT, SECRET, Issuer

LONG = "alice" * 60
NAMED: dict[str, dict[str, Any]] = {
    "two names": {"sub": "mallory alice"},
    "a name first": {"sub": "alice mallory"},
    "two lines": {"sub": "x\nalice"},
    "a tab": {"sub": "x\talice"},
    "a comma": {"sub": "x,alice"},
    "blanks before": {"sub": " alice"},
    "a blank behind": {"sub": "alice "},
    "a NUL": {"sub": "alice\0"},
    "half a character": {"sub": "alice\ud800"},
    "wide letters": {"sub": "ａｌｉｃｅ"},
    "a letter of another script": {"sub": "аlice"},
    "a ligature": {"sub": "aliﬁce"},
    "a space without width": {"sub": "alice\u200b"},
    "large letters": {"sub": "ALICE"},
    "a long name": {"sub": LONG},
    "the name of the account": {"sub": "token:alice"},
    "an issuer in the name": {"sub": "{issuer} sub:alice"},
    "the role of the name": {"sub": "sub:alice"},
    "username": {"username": "alice"},
    "preferred_username": {"preferred_username": "alice"},
    "email": {"email": "alice"},
    "usernames": {"username": "mallory alice"},
    "a list of names": {"username": ["alice"]},
    "a group": {"groups": ["alice"]},
    "a group of the name's form": {"groups": ["{issuer} sub:alice", "sub:alice"]},
    "groups in a text": {"groups": "alice bob"},
    "a scope": {"scope": "alice"},
    "roles that nobody maps": {"roles": ["alice", "admin"]},
    "an object": {"groups": {"sub": "alice"}, "username": {"sub": "alice"}},
    "a claim with a dot": {"sub.alice": "alice", "groups.alice": ["alice"]},
    "lists in lists": {"groups": [["alice"], {"sub": "alice"}]},
    "a local role": {"sub": "oncall"},
    "a local person": {"sub": "owner"},
    "a granting role": {"sub": "admin"},
    "granting roles": {"sub": "admin operator reader"},
}
"""What mallory's tokens say. ``{issuer}`` stands for its address."""
NO_NAMES: dict[str, Any] = {
    "nothing": "",
    "blanks": "  ",
    "a list": ["alice"],
    "a number": 5,
    "an object": {"name": "alice"},
    "a NUL": "alice\0",
    "half a character": "alice\ud800",
}
"""Whose token says this as its subject has no name to own rows by."""


@dataclass(frozen=True)
class Place:
    """Rows of alice, who came by a token, and of a local owner who shares them by a role."""

    issuer: Issuer
    alice: Chain
    oncall: Chain

    def token(self, claims: Mapping[str, Any]) -> str:
        """A good token with these claims; mallory's unless they say otherwise."""
        own = {name: _meant(value, self.issuer.base) for name, value in claims.items()}
        return self.issuer.token(**{"subject": own.pop("sub", "mallory"), **own})


def _meant(value: Any, issuer: str) -> Any:
    if isinstance(value, str):
        return value.replace("{issuer}", issuer)
    return [_meant(one, issuer) for one in value] if isinstance(value, list) else value


@pytest.fixture(scope="module")
def issuer() -> Iterator[Issuer]:
    with issuers.serving() as made:
        yield made


@pytest.fixture
def known(_database: None, settings: Any, issuer: Issuer) -> Iterator[Issuer]:
    """The issuer, known to this server with nothing said about claims."""
    settings.REQUIRE_LOGIN = True
    settings.AUTH_PROVIDER = {"type": "jwks", "uri": f"{issuer.base}/keys", "issuer": issuer.base}
    logging.getLogger("django.request").setLevel(logging.CRITICAL)  # most are refused, as they should be
    tokens.use_provider(identity.identify())
    with idle_service():
        yield issuer
    tokens.use_provider(None)
    issuer.people.clear()
    logging.getLogger("django.request").setLevel(logging.NOTSET)


@pytest.fixture
def asked(known: Issuer, settings: Any) -> Issuer:
    """The same issuer, asked for what it knows of each token."""
    more = {"url": f"{known.base}/introspect", "client_id": CLIENT, "client_secret": SECRET}
    settings.AUTH_PROVIDER = {"type": "introspection", **more}
    tokens.use_provider(identity.identify())
    return known


def by_token(token: str) -> Actor:
    return tokens.actor_of(token, TokenRequest())


@pytest.fixture
def place(known: Issuer) -> Place:
    alice = build(by_token(known.token("alice")), "alice", played=False)
    owner = make_user("owner", roles=["oncall", "alice"])
    return Place(known, alice, build(owner, "oncall", played=False))


def opened(client: Client, chain: Chain, headers: dict[str, str]) -> list[str]:
    """The routes that tell of a chain: those of its objects that answer 200, and lists with its words."""
    found = []
    for route, view in routes("/"):
        params = PARAM.findall(route)
        if "get" not in view.actions or not set(params) <= OWNED or route.endswith("/events"):
            continue  # a stream may end with its session only
        target = Target("all", {param: chain.ids[param] for param in params})
        path = filled(route, target.ids)
        answer = ask(client, Cell("get", path, target, 0), **headers)
        assert answer.status_code < 500, route
        tells = chain.canary not in path and chain.canary.encode() in told(answer)
        if tells or (params and answer.status_code == 200):
            found.append(route)
    return found


@pytest.mark.parametrize("name", sparing(NAMED, "two names", "two lines", "username", "a group", "a local role"))
def test_a_name_opens_nothing_of_somebody_else(place: Place, name: str) -> None:
    client, headers = Client(), {"Authorization": f"Bearer {place.token(NAMED[name])}"}
    assert opened(client, place.alice, headers) == []
    assert opened(client, place.oncall, headers) == []


def test_whoever_is_alice_sees_all_of_hers(place: Place) -> None:
    client, headers = Client(), {"Authorization": f"Bearer {place.token({'sub': 'alice', 'groups': 'x'})}"}
    assert len(opened(client, place.alice, headers)) > 40
    assert opened(client, place.oncall, headers) == []


def test_a_person_of_this_server_sees_nothing_of_a_token_of_the_same_name(place: Place) -> None:
    namesake = make_user("alice", roles=["alice"], teams=["alice"])
    _, secret = make_key(namesake, "of a namesake")
    assert opened(Client(), place.alice, {"Authorization": f"Bearer {secret}"}) == []


@pytest.mark.parametrize("name", NO_NAMES)
def test_a_token_without_a_name_is_nobodys(asked: Issuer, name: str) -> None:
    asked.people["opaque"] = {"sub": NO_NAMES[name], "username": "alice"}
    answer = Client().get("/v1/agents", headers={"Authorization": "Bearer opaque"})
    assert answer.status_code == 401
    assert answer.json()["error"]["code"] == "invalid_token"


def test_one_name_of_two_claims_is_two_people(asked: Issuer) -> None:
    asked.people |= {"one": {"sub": "alice"}, "two": {"username": "alice"}, "three": {"client_id": "alice"}}
    assert len({by_token(token).user_id for token in ("one", "two", "three")}) == 3


def test_one_name_of_two_issuers_is_two_people(known: Issuer, settings: Any) -> None:
    settings.AUTH_PROVIDER = {"type": "jwks", "uri": f"{known.base}/keys"}
    tokens.use_provider(identity.identify())
    one, other = (known.token("alice", iss=iss) for iss in ("https://one.example", "https://other.example"))
    chain = build(by_token(one), "alice", played=False)
    assert opened(Client(), chain, {"Authorization": f"Bearer {other}"}) == []
    assert opened(Client(), chain, {"Authorization": f"Bearer {one}"}) != []


def test_a_long_name_is_not_that_of_somebody_who_spells_out_how_it_is_kept(known: Issuer) -> None:
    long = by_token(known.token(LONG))
    kept = User.objects.get(pk=long.user_id or 0).username
    for spelt in (kept, kept.partition(":")[2], kept.rpartition(":")[2]):
        assert by_token(known.token(spelt)).user_id != long.user_id

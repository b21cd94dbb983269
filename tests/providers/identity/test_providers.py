"""A token is good when its issuer says so, and says no more than its issuer meant."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from agents.base.schemas.identity import Asked
from agents.identity.providers.base import CLAIMS, Rejected, Unreachable, attributes
from agents.identity.providers.providers import from_settings
from tests.server import issuer as issuers
from tests.server.issuer import CLIENT, SECRET, Issuer

ASKED = Asked("/v1/agents", {"User-Agent": "a test"}, {"limit": "5"})


@pytest.fixture(scope="module")
def shared() -> Iterator[Issuer]:
    with issuers.serving() as issuer:
        yield issuer


@pytest.fixture
def issuer(shared: Issuer) -> Iterator[Issuer]:
    yield shared
    shared.people.clear()
    shared.asked.clear()
    shared.broken = False


def jwks(issuer: Issuer, **more: Any) -> Any:
    return from_settings({"type": "jwks", "uri": f"{issuer.base}/keys", "issuer": issuer.base, **more})


# ----------------------------------------------------------------------------------------- signatures


def test_a_signed_token_tells_whose_it_is(issuer: Issuer) -> None:
    token = issuer.token("ann", groups=["support", "sales"], tenant="acme")
    found = jwks(issuer).identify(token, ASKED)
    assert (found.name, found.owner) == ("ann", f"{issuer.base} sub:ann")
    assert found.attributes == {
        "roles": frozenset({f"{issuer.base} sub:ann"}),
        "teams": frozenset({"support", "sales"}),
        "namespaces": frozenset({"acme"}),
    }
    assert found.until == pytest.approx(time.time() + 600, abs=30)


def test_whoever_is_called_admin_is_none(issuer: Issuer) -> None:
    found = jwks(issuer).identify(issuer.token("admin", username="admin", groups=["admins"]), ASKED)
    assert found.attributes == {"roles": frozenset({f"{issuer.base} sub:admin"}), "teams": frozenset({"admins"})}


def test_a_name_is_one_value_wherever_it_stands(issuer: Issuer) -> None:
    mapping = {"user.email": "projects", "https://ours.example/username": "namespaces"}
    told = {"user": {"email": "ann lee"}, "https://ours.example/username": "ann\nlee"}
    found = jwks(issuer, claims=mapping).identify(issuer.token("ann", **told), ASKED)
    assert found.attributes == {
        "projects": frozenset({f"{issuer.base} user.email:ann lee"}),
        "namespaces": frozenset({f"{issuer.base} https://ours.example/username:ann\nlee"}),
    }


def test_only_lists_by_definition_are_split(issuer: Issuer) -> None:
    token = issuer.token("ann", groups="support sales", scope="read write", team="red")
    mapping = {"groups": "teams", "team": "teams", "scope": "roles"}
    found = jwks(issuer, claims=mapping).identify(token, ASKED)
    assert found.attributes == {"teams": frozenset({"support sales", "red"}), "roles": frozenset({"read", "write"})}


def test_a_claim_of_roles_makes_an_admin_where_the_settings_say_so(issuer: Issuer) -> None:
    token = issuer.token("ann", realm_access={"roles": ["admin", "other", 5]})
    provider = jwks(issuer, claims={"realm_access.roles": "roles"})
    assert provider.identify(token, ASKED).attributes == {"roles": frozenset({"admin", "other"})}


STRANGER = rsa.generate_private_key(public_exponent=65537, key_size=2048)
BAD = {
    "expired": {"exp": 1},
    "without an end": {"exp": None},
    "for another audience": {"aud": "somebody else"},
    "without an audience": {"aud": None},
    "of another issuer": {"iss": "https://example.org"},
    "without a subject": {"sub": None},
    "not valid yet": {"nbf": int(time.time()) + 3600},
    "signed by another key": {"key": STRANGER},
}


@pytest.mark.parametrize("name", BAD)
def test_a_token_is_refused(issuer: Issuer, name: str) -> None:
    claims = dict(BAD[name])
    subject = claims.pop("sub", "ann")
    with pytest.raises(Rejected) as refusal:
        jwks(issuer).identify(issuer.token(subject, **claims), ASKED)  # type: ignore[arg-type]  # no subject at all
    assert "ey" not in str(refusal.value)


def test_a_shared_secret_signs_nothing(issuer: Issuer) -> None:
    # with the published key as the secret: the oldest trick
    secret = str(issuer.keys["keys"][0]["n"])
    with pytest.raises(Rejected):
        jwks(issuer).identify(issuer.token("ann", key=secret, algorithm="HS256"), ASKED)


@pytest.mark.parametrize("token", ["", "x", "a.b.c", "ey.ey.ey", "ä" * 9, "x" * 100_000, "eyJhbGciOiJub25lIn0.e30."])
def test_what_is_no_token_is_refused(issuer: Issuer, token: str) -> None:
    with pytest.raises(Rejected):
        jwks(issuer).identify(token, ASKED)


def test_an_issuer_that_is_away_is_no_refusal(issuer: Issuer) -> None:
    issuer.broken = True
    with pytest.raises(Unreachable):
        jwks(issuer).identify(issuer.token("ann"), ASKED)


# --------------------------------------------------------------------------------------- introspection


def introspection(issuer: Issuer, **more: Any) -> Any:
    given = {"type": "introspection", "url": f"{issuer.base}/introspect", "client_id": CLIENT, "client_secret": SECRET}
    return from_settings({**given, **more})


def test_the_issuer_tells_of_any_token(issuer: Issuer) -> None:
    issuer.people["opaque"] = {"username": "bob", "groups": ["support", "sales"], "exp": 4_000_000_000}
    found = introspection(issuer).identify("opaque", ASKED)
    assert (found.name, found.until) == ("bob", 4_000_000_000)
    assert found.owner == f"{issuer.base}/introspect username:bob"
    assert found.attributes["teams"] == {"support", "sales"}


def test_a_token_that_is_not_active_is_refused(issuer: Issuer) -> None:
    with pytest.raises(Rejected, match="not active"):
        introspection(issuer).identify("gone", ASKED)


@pytest.mark.parametrize("more", [{"client_secret": "wrong"}, {"url": "http://127.0.0.1:9/"}])
def test_trouble_with_the_issuer_is_no_refusal(issuer: Issuer, more: dict[str, str]) -> None:
    with pytest.raises(Unreachable) as trouble:
        introspection(issuer, **more).identify("opaque", ASKED)
    assert "opaque" not in str(trouble.value)


# --------------------------------------------------------------------------------------------- custom


def test_an_endpoint_of_the_operator_decides(issuer: Issuer) -> None:
    issuer.people["k1"] = {"sub": "cleo", "groups": ["ops"]}
    provider = from_settings({"type": "custom", "url": f"{issuer.base}/custom"})
    found = provider.identify("k1", ASKED)
    assert (found.name, found.attributes) == ("cleo", {"teams": frozenset({"ops"})})
    assert found.owner == f"{issuer.base}/custom principal:cleo"
    request = {"path": "/v1/agents", "headers": {"User-Agent": "a test"}, "params": {"limit": "5"}}
    assert issuer.asked == [("/custom", {"api_key": "k1", "request": request})]
    with pytest.raises(Rejected):
        provider.identify("k2", ASKED)


# -------------------------------------------------------------------------------------------- settings


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ({}, "type None"),
        ({"type": "ldap"}, "type 'ldap'"),
        ({"type": "jwks"}, "uri: a text"),
        ({"type": "jwks", "uri": "file:///etc/passwd"}, "uri: an http"),
        ({"type": "jwks", "uri": "https://x", "claims": {"sub": "planets"}}, "claims: "),
        ({"type": "jwks", "uri": "https://x", "claims": {"sub": "roles", "username": "roles"}}, "sub and username all"),
        ({"type": "jwks", "uri": "https://x", "claims": {"a.email": "teams", "groups": "teams"}}, "a.email is a name"),
        ({"type": "introspection", "url": "https://x"}, "client_id: a text"),
        ({"type": "custom", "url": 5}, "url: a text"),
    ],
)
def test_settings_that_say_too_little_are_refused(raw: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        from_settings(raw)


@pytest.mark.parametrize("claim", [None, 5, {}, [5, None, ""], "", "  ", True, [["x"]]])
def test_a_claim_of_another_shape_says_nothing(claim: Any) -> None:
    assert attributes({"groups": claim}, CLAIMS, "https://issuer.example") == {}

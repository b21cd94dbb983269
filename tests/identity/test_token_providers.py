"""A token is good when its issuer says so, and says no more than its issuer meant."""

from __future__ import annotations

import base64
import hmac
import json
import random
import re
import time
from collections.abc import Iterator
from hashlib import sha256, sha384, sha512
from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt.algorithms import RSAAlgorithm

from agents.base.schemas.identity import TokenRequest
from agents.identity.providers.base import CLAIMS, Rejected, Unreachable, attributes
from agents.identity.providers.token_providers import from_settings
from tests.support.depth import deep
from tests.support.live import issuer as issuers
from tests.support.live.issuer import CLIENT, SECRET, Issuer

ASKED = TokenRequest("/v1/agents", {"User-Agent": "a test"}, {"limit": "5"})


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
    told: dict[str, Any] = {"user": {"email": "ann lee"}, "https://ours.example/username": "ann\nlee"}
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
BAD: dict[str, dict[str, Any]] = {
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
        jwks(issuer).identify(issuer.token(subject, **claims), ASKED)
    assert "ey" not in str(refusal.value)


def test_a_shared_secret_signs_nothing(issuer: Issuer) -> None:
    # with the published key as the secret: the oldest trick
    secret = str(issuer.keys["keys"][0]["n"])
    with pytest.raises(Rejected):
        jwks(issuer).identify(issuer.token("ann", key=secret, algorithm="HS256"), ASKED)


# ------------------------------------------------------------------------------------------- forgeries

NAMED = (
    "none",
    "None",
    "NONE",
    "nOnE",
    "",
    "HS256",
    "HS384",
    "HS512",
    "RS384",
    "PS256",
    "ES256",
    "EdDSA",
    "dir",
    None,
    5,
)
KIDS: tuple[Any, ...] = (
    "one",
    "two",
    "",
    "../../../../dev/null",
    "/proc/self/environ",
    "' UNION SELECT 'x",
    "one\x00",
    None,
    5,
    ["one"],
    {},
)
HEADS: tuple[dict[str, Any], ...] = (
    {},
    {"jku": "http://127.0.0.1:9/keys"},
    {"x5u": "http://127.0.0.1:9/cert"},
    {"x5c": ["MIIB"]},
    {"crit": ["exp"], "exp": 1},
    {"b64": False, "crit": ["b64"]},
    {"zip": "DEF"},
    {"cty": "JWT"},
    {"enc": "A128GCM"},
)
WRONG_CLAIMS: dict[str, tuple[Any, ...]] = {
    "exp": (0, -1, None, "never", [], {}, True, "4000000000x", float("inf")),
    "nbf": (4_000_000_000, "later", [], float("inf")),
    "aud": ("", "else", [], ["else"], {}, 5, "llama-stack ", "LLAMA-STACK", "llama"),
    "iss": ("", None, "{issuer}/", "{issuer}.evil.example", "http://"),
    "sub": (None, "", "  ", 5, [], {}, ["ann"], "ann\x00"),
}
TOLD: tuple[dict[str, Any], ...] = tuple({name: value} for name, values in WRONG_CLAIMS.items() for value in values)
"""Of a token with the issuer's own signature, each is enough to be refused."""


def encoded(value: Any) -> str:
    raw = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def decoded(part: str) -> bytes:
    return base64.urlsafe_b64decode(part + "==")


def forged(chance: random.Random, issuer: Issuer) -> str:
    """A token that the issuer has not signed, or not so."""
    good = issuer.token("ann", username="root")
    head, body, signature = good.split(".")
    own = {"alg": "RS256", "kid": "one", "typ": "JWT", **chance.choice(HEADS)}
    match chance.randrange(6):
        case 0:  # a byte of one of its parts
            parts = [decoded(part) for part in (head, body, signature)]
            place = chance.randrange(3)
            spot = chance.randrange(len(parts[place]))
            changed = bytearray(parts[place])
            changed[spot] ^= 1 << chance.randrange(8)
            parts[place] = bytes(changed)
            return ".".join(map(encoded, parts))
        case 1:  # another algorithm, without a signature or with that of the good one
            named = {**own, "alg": chance.choice(NAMED)}
            return f"{encoded(named)}.{body}.{chance.choice(('', signature, encoded(b'x' * 32)))}"
        case 2:  # signed with what everybody knows
            algorithm, hashed = chance.choice((("HS256", sha256), ("HS384", sha384), ("HS512", sha512)))
            signed = f"{encoded({**own, 'alg': algorithm})}.{body}"
            return f"{signed}.{encoded(hmac.digest(chance.choice(published(issuer)), signed.encode(), hashed))}"
        case 3:  # signed by a stranger, who says which key to look at
            jwk = json.loads(RSAAlgorithm.to_jwk(STRANGER.public_key()))
            more = {**own, "kid": chance.choice(KIDS), **chance.choice(({}, {"jwk": jwk}))}
            signed = f"{encoded(more)}.{body}"
            made = STRANGER.sign(signed.encode(), padding.PKCS1v15(), hashes.SHA256())
            return f"{signed}.{encoded(made)}"
        case 4:  # a good signature under another text
            other = {
                **json.loads(decoded(body)),
                **chance.choice(({"sub": "root"}, {"groups": ["admin"]}, {"exp": 4e9})),
            }
            return f"{head}.{encoded(other)}.{signature}"
        case _:
            return chance.choice(
                (
                    f"{head}.{body}",
                    f"{head}.{body}.",
                    f".{body}.{signature}",
                    f"{head}..{signature}",
                    f"{good}.{signature}",
                    f"{head}.{body}.{signature}.{signature}.{signature}",
                    good[: chance.randrange(len(good) - 4)],
                    good[chance.randrange(1, len(good)) :],
                    good.replace(".", chance.choice(("", "..", ":", " "))),
                    good.upper(),
                    good[::-1],
                )
            )


def published(issuer: Issuer) -> list[bytes]:
    """The issuer's public key in every form that somebody has taken for a secret."""
    [key] = issuer.keys["keys"]
    public = RSAAlgorithm(RSAAlgorithm.SHA256).from_jwk(json.dumps(key))
    pem = [
        public.public_bytes(way, form)  # type: ignore[union-attr]  # read from a public key, which its type does not tell
        for way in (Encoding.PEM, Encoding.DER)
        for form in (PublicFormat.SubjectPublicKeyInfo, PublicFormat.PKCS1)
    ]
    texts = [key["n"].encode(), decoded(key["n"]), json.dumps(key).encode(), b"", b"one", b"secret", bytes(32)]
    return [*pem, *(one.strip() for one in pem[:2]), *texts]


@pytest.mark.corpus
def test_no_forged_token_is_good(issuer: Issuer) -> None:
    chance, provider = random.Random(4), jwks(issuer)
    for _ in range(deep(300, 5_000)):
        token = forged(chance, issuer)
        try:
            found = provider.identify(token, ASKED)
        except Rejected:
            continue
        pytest.fail(f"{token} is {found}")


@pytest.mark.parametrize("claims", TOLD, ids=str)
def test_a_signature_does_not_make_up_for_what_a_token_says(issuer: Issuer, claims: dict[str, Any]) -> None:
    told = {name: _meant(value, issuer) for name, value in claims.items()}
    with pytest.raises(Rejected):
        jwks(issuer).identify(issuer.token(**{"subject": told.pop("sub", "ann"), **told}), ASKED)


def _meant(value: Any, issuer: Issuer) -> Any:
    return value.replace("{issuer}", issuer.base) if isinstance(value, str) else value


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

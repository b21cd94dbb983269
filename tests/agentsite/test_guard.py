"""The door: whose Host and Origin are let in, on every kind of route; and the headers of every answer."""

from __future__ import annotations

import random
import re
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from channels.testing import WebsocketCommunicator
from django.test import Client

from agents.base.models.people import User
from agents.base.store import keys
from agents.server.routing import websocket
from agentsite.middleware import CSP_API, CSP_PAGE, CSP_TRUSTED
from tests import ROOT
from tests.access.matrix import make_key, make_user
from tests.support.depth import deep
from tests.support.inprocess import told

pytestmark = pytest.mark.usefixtures("_served", "_quiet")

CLIENT = Client(raise_request_exception=False)
API = (
    "/v1/agents",
    "/v1/health",
    "/v1/models/x",
    "/v1alpha/agents",
    "/v1/nothing",
    "/v1/openapi.json",
    "/v1",
    "/v1alpha",
)
PAGES = ("/", "/logs/", "/agents/", "/turns/x/", "/nothing", "/login/", "/docs/api/")
OTHERS = ("/healthz", "/readyz", "/admin/", "/static/uikit/base.css", "/static/nothing.css")
EVERY = (*API, *PAGES, *OTHERS)

OURS = ("testserver", "localhost", "localhost:8321", "127.0.0.1", "127.0.0.1:1", "[::1]", "[::1]:8321", "LOCALHOST")
FOREIGN = (
    "evil.example",
    "evil.example:80",
    "127.0.0.1.evil.example",
    "localhost.evil.example",
    "evil.example:8321",
    "localhost@evil.example",
    "evil.example#localhost",
    "127.0.0.2",
    "0.0.0.0",
    "[::]",
    "::1",
    "2130706433",
    "0x7f000001",
    "localhost:x",
    "localhost:8321:80",
    "localhost,evil.example",
    "localhost/",
    "*",
    "",
)


@pytest.mark.parametrize("host", FOREIGN)
def test_a_foreign_host_is_refused_everywhere(host: str) -> None:
    for path in EVERY:
        for method in ("GET", "POST"):
            response = CLIENT.generic(method, path, headers={"Host": host})
            assert (response.status_code, path) == (400, path)
            assert response.json()["error"]["code"] == "bad_host"
            assert not host or host.encode() not in told(response)


@pytest.mark.parametrize("host", OURS)
def test_our_own_hosts_are_served(host: str) -> None:
    for path in ("/v1/health", "/logs/", "/healthz", "/static/uikit/base.css"):
        assert CLIENT.get(path, headers={"Host": host}).status_code in {200, 404}, path


OUR_HOST = re.compile(r"(testserver|localhost|127\.0\.0\.1|\[::1\])\.?(:[0-9]+)?", re.IGNORECASE)
PARTS = (
    *("testserver", "localhost", "127.0.0.1", "[::1]", "evil.example", "x", "127.1", "[::ffff:127.0.0.1]", "LOCALHOST"),
    *(
        ":",
        ":80",
        ":8321",
        ":0x50",
        ":-1",
        ".",
        "..",
        "@",
        "/",
        "\\",
        "#",
        "?",
        ",",
        ", ",
        ";",
        " ",
        "\t",
        "%00",
        "%2e",
    ),
    *("*", "_", "-", "[", "]", "\u00e9", "xn--", "\u0131", "http://", "//", "a" * 300),
)


def named(chance: random.Random) -> str:
    """A Host by chance, ours among them."""
    return "".join(chance.choice(PARTS[: chance.choice((8, 99))]) for _ in range(chance.choice((1, 1, 2, 2, 3, 4))))


@pytest.mark.corpus
def test_no_host_by_chance_is_taken_for_ours() -> None:
    chance, taken = random.Random(1), 0
    for number in range(deep(300, 5_000)):
        host = named(chance)
        is_ours = OUR_HOST.fullmatch(host) is not None
        for path in (EVERY[number % len(EVERY)], "/v1/health"):
            response = CLIENT.get(path, headers={"Host": host})
            assert (response.status_code != 400) == is_ours, (path, host)
            assert is_ours or response.json()["error"]["code"] == "bad_host", (path, host)
        taken += is_ours
    assert taken > 30


@pytest.mark.corpus
def test_no_origin_by_chance_is_taken_for_ours() -> None:
    """Nor is one that is a Host we would take, but not the one that was asked."""
    chance, taken = random.Random(2), 0
    for _ in range(deep(300, 3_000)):
        origin = chance.choice(("http://", "http://", "http://", "https://", "HTTP://", "", "null")) + named(chance)
        response = CLIENT.post("/v1/agents", "{}", "application/json", headers={"Origin": origin})
        assert (response.status_code != 403) == (origin == "http://testserver"), origin
        taken += response.status_code != 403
        if asks_a_socket(origin, chance):
            assert handshake((b"host", b"testserver"), (b"origin", origin.encode())) == (response.status_code != 403)
    assert taken > 3


def asks_a_socket(origin: str, chance: random.Random) -> bool:
    """Whether a socket is asked, too: of the few that are let in and of some others. Behind a proxy that has
    the certificate a socket's page is one of https."""
    return origin == "http://testserver" or (chance.randrange(10) == 0 and origin != "https://testserver")


def test_the_list_of_hosts_is_a_setting(settings: Any) -> None:
    settings.ALLOWED_HOSTS = ["logs.example.org"]
    assert CLIENT.get("/v1/health", headers={"Host": "logs.example.org"}).status_code == 200
    assert CLIENT.get("/v1/health", headers={"Host": "localhost"}).status_code == 400
    assert handshake((b"host", b"logs.example.org"))
    assert not handshake((b"host", b"localhost"))


# --------------------------------------------------------------------------------------------- origins

FOREIGN_ORIGINS = (
    "null",
    "http://evil.example",
    "https://testserver",
    "http://testserver.evil.example",
    "http://testserver:81",
    "http://testserver@evil.example",
    "http://TESTSERVER",
    "http://testserver/",
    "testserver",
    "file://",
    "http://[",
    "http://[::1",
    "",
    "http://testserver http://evil.example",
)


@pytest.mark.parametrize("origin", FOREIGN_ORIGINS)
def test_the_api_refuses_pages_of_other_sites(origin: str) -> None:
    for path in ("/v1/agents", "/v1/health", "/v1/nothing", "/v1alpha/agents", "/v1", "/v1alpha"):
        for method in ("GET", "POST", "OPTIONS", "DELETE"):
            response = CLIENT.generic(method, path, headers={"Origin": origin})
            assert (response.status_code, response.json()["error"]["code"], path) == (403, "foreign_origin", path)
            assert not [name for name in response.headers if name.startswith("Access-Control")]


def test_the_api_takes_its_own_pages_and_programs(settings: Any) -> None:
    assert CLIENT.get("/v1/agents").status_code == 200
    assert CLIENT.get("/v1/agents", headers={"Origin": "http://testserver"}).status_code == 200
    settings.TRUSTED_ORIGINS = ["https://logs.example.org"]
    assert CLIENT.get("/v1/agents", headers={"Origin": "https://logs.example.org"}).status_code == 200
    assert CLIENT.get("/v1/agents", headers={"Origin": "http://logs.example.org"}).status_code == 403


@pytest.mark.parametrize(
    ("site", "status"), [("cross-site", 403), ("same-origin", 200), ("none", 200), ("same-site", 200), ("x", 200)]
)
def test_a_request_across_sites_is_refused(site: str, status: int) -> None:
    assert CLIENT.get("/v1/agents", headers={"Sec-Fetch-Site": site}).status_code == status


def test_no_one_is_told_that_others_may_ask() -> None:
    for path in EVERY:
        response = CLIENT.options(
            path, headers={"Origin": "http://testserver", "Access-Control-Request-Method": "POST"}
        )
        assert not [name for name in response.headers if name.startswith("Access-Control")]


# --------------------------------------------------------------------------------------------- sockets


def handshake(*headers: tuple[bytes, bytes]) -> bool:
    """Whether a socket with these headers is let in."""

    async def flow() -> bool:
        ws = WebsocketCommunicator(websocket, "/ws/live", headers=list(headers))
        accepted, _ = await ws.connect(timeout=30)
        await ws.disconnect()
        return bool(accepted)

    return bool(async_to_sync(flow)())


@pytest.mark.parametrize("host", FOREIGN)
def test_a_socket_refuses_a_foreign_host(host: str) -> None:
    assert not handshake((b"host", host.encode()))
    assert not handshake((b"host", host.encode()), (b"origin", f"http://{host}".encode()))


def test_a_socket_without_any_host_is_refused() -> None:
    assert not handshake()


@pytest.mark.parametrize("origin", [one for one in FOREIGN_ORIGINS if one not in {"https://testserver", ""}])
@pytest.mark.parametrize("speaks", ["cookie", "key", "nothing"])
def test_a_socket_refuses_pages_of_other_sites(origin: str, speaks: str) -> None:
    who = make_user("someone")
    said = {
        "cookie": [(b"cookie", cookie_of("someone"))],
        "key": [(b"authorization", f"Bearer {make_key(who, 'k')[1]}".encode())],
        "nothing": [],
    }
    assert not handshake((b"host", b"testserver"), (b"origin", origin.encode()), *said[speaks])


def cookie_of(name: str) -> bytes:
    client = Client()
    client.force_login(User.objects.get(username=name))
    return f"sessionid={client.cookies['sessionid'].value}".encode()


def test_cookies_without_an_origin_open_no_socket(settings: Any) -> None:
    """A browser always sends one; what has cookies and none is no browser of ours."""
    make_user("someone")
    cookie = (b"cookie", cookie_of("someone"))
    assert not handshake((b"host", b"testserver"), cookie)
    assert handshake((b"host", b"testserver"), (b"origin", b"http://testserver"), cookie)
    settings.TRUSTED_ORIGINS = ["https://logs.example.org"]
    assert handshake((b"host", b"testserver"), (b"origin", b"https://logs.example.org"), cookie)


# --------------------------------------------------------------------------------------------- headers

ALWAYS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


@pytest.mark.parametrize("path", EVERY)
@pytest.mark.parametrize("asks", ["plainly", "as a stranger", "from elsewhere", "wrongly"])
def test_every_answer_has_the_headers(path: str, asks: str, settings: Any) -> None:
    settings.REQUIRE_LOGIN = asks == "as a stranger"
    headers = {"Host": "evil.example"} if asks == "from elsewhere" else {}
    response = CLIENT.generic("BREW" if asks == "wrongly" else "GET", path, headers=headers)
    told_headers = {name: response.headers.get(name) for name in ALWAYS}
    assert told_headers == ALWAYS, path
    assert len(response.headers["x-request-id"]) == 16
    assert "Server" not in response.headers


def test_pages_trust_the_policies_of_their_own_scripts_alone() -> None:
    scripts = (ROOT / "static").rglob("*.js")
    made = {name for script in scripts for name in re.findall(r'createPolicy\("([^"]+)"', script.read_text())}
    assert CSP_TRUSTED.partition("trusted-types ")[2].split() == sorted(made)


def test_each_kind_of_answer_has_its_policy() -> None:
    for path, policy in (("/v1/agents", CSP_API), ("/v1", CSP_API), ("/logs/", CSP_TRUSTED), ("/docs/api/", CSP_PAGE)):
        assert CLIENT.get(path).headers["Content-Security-Policy"] == policy
    assert CLIENT.get("/admin/").headers["Content-Security-Policy"] == CSP_PAGE
    assert CLIENT.get("/nothing").headers["Content-Security-Policy"] == CSP_TRUSTED
    assert CLIENT.get("/static/uikit/base.css").headers["Content-Security-Policy"] == CSP_TRUSTED


@pytest.mark.parametrize("policy", [CSP_PAGE, CSP_TRUSTED])
def test_the_policy_of_pages_allows_nothing_inline_and_nothing_from_elsewhere(policy: str) -> None:
    parts = dict(part.strip().partition(" ")[::2] for part in policy.split(";"))
    assert parts["default-src"] == "'none'"
    assert parts["script-src"] == parts["style-src"] == parts["connect-src"] == parts["form-action"] == "'self'"
    assert parts["base-uri"] == parts["frame-ancestors"] == "'none'"
    assert not [word for word in ("unsafe", "*", "http:", "https:", "blob:") if word in policy]


def test_answers_about_someone_are_kept_by_nobody() -> None:
    for path in (*API, *PAGES):
        assert "no-store" in CLIENT.get(path).headers["Cache-Control"], path


def test_tls_is_only_promised_where_there_is_tls(settings: Any) -> None:
    assert "Strict-Transport-Security" not in CLIENT.get("/v1/health").headers
    settings.BEHIND_TLS, settings.SECURE_HSTS_SECONDS = True, 31_536_000
    assert CLIENT.get("/v1/health").headers["Strict-Transport-Security"] == "max-age=31536000"


FORWARDED = {
    "X-Forwarded-Host": "evil.example",
    "X-Forwarded-Proto": "https",
    "X-Forwarded-For": "127.0.0.1",
    "X-Forwarded-Port": "443",
    "X-Forwarded-Prefix": "/evil",
    "Forwarded": "host=evil.example;proto=https",
    "X-Real-IP": "127.0.0.1",
    "X-Original-URL": "/admin/",
    "X-Rewrite-URL": "/v1/agents",
    "X-HTTP-Method-Override": "DELETE",
    "X-User": "admin",
    "Remote-User": "admin",
}


def test_forwarded_headers_change_nothing() -> None:
    for path in ("/v1/health", "/logs/", "/agents/", "/v1/agents/x"):
        plain, forwarded = CLIENT.get(path), CLIENT.get(path, headers=FORWARDED)
        assert plain.status_code == forwarded.status_code
        assert b"evil" not in told(forwarded)
        assert b"https://testserver" not in told(forwarded)


def test_forwarded_headers_make_nobody_anyone(settings: Any) -> None:
    settings.REQUIRE_LOGIN = True
    assert CLIENT.get("/v1/agents", headers=FORWARDED).status_code == 401
    assert CLIENT.get("/logs/", headers=FORWARDED).headers["Location"] == "/login/?next=/logs/"
    assert CLIENT.get("/v1/health", headers={**FORWARDED, "Host": "evil.example"}).status_code == 400


def test_a_forwarded_name_is_in_no_link(settings: Any) -> None:
    """Links and commands on pages are made of the Host that was checked, and of nothing else."""
    keys.local()
    page = told(CLIENT.get("/agents/", headers={**FORWARDED, "Host": "127.0.0.1:8321"}))
    assert b"evil" not in page
    assert b"http://127.0.0.1:8321" in page


@pytest.mark.parametrize(
    "target", ["//evil.example", "https://evil.example", "/\\evil.example", "javascript:alert(1)", "/%0d%0aX: y"]
)
def test_the_way_to_the_login_leads_back_to_ourselves(target: str, settings: Any) -> None:
    settings.REQUIRE_LOGIN = True
    response = CLIENT.get(f"/logs/?next={target}&q=x")
    location = response.headers["Location"]
    assert location.startswith("/login/?next=/logs/")
    assert "\r" not in location


@pytest.mark.parametrize("method", ["TRACE", "CONNECT", "OPTIONS", "PROPFIND", "X"])
@pytest.mark.parametrize("path", EVERY)
def test_methods_that_are_spoken_nowhere_are_refused_everywhere(path: str, method: str) -> None:
    answer = CLIENT.generic(method, path)
    assert answer.status_code == 405
    assert "GET" in answer.headers["Allow"] or path == "/v1/nothing"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    if not path.startswith("/static/uikit"):
        assert answer.json()["error"]["type"] == "invalid_request_error"


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE"])
@pytest.mark.parametrize("path", [*PAGES, "/healthz", "/readyz", "/admin/", "/static/nothing.css"])
def test_methods_of_the_api_are_refused_by_pages(path: str, method: str) -> None:
    assert CLIENT.generic(method, path).status_code == 405

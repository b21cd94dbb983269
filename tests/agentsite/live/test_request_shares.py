"""Whoever asks for much at once waits in a line of its own: requests of others go past it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from tests.support.live import issuer as issuers
from tests.support.live.caller import Caller
from tests.support.live.issuer import Issuer
from tests.support.live.process import ServerProcess, eventually

pytestmark = pytest.mark.server

SETUP = """
from agents.models import User
from agents.base.store import keys
user = keys.of_user(User.objects.create_user("ben"))
print(keys.create(user, name="a key", actions=["read"])[1])
"""


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    """It keeps whoever asks whose a token is."""
    with issuers.serving() as made:
        made.open.clear()
        yield made
        made.open.set()


@pytest.fixture
def server(start_server: Callable[..., ServerProcess], issuer: Issuer) -> ServerProcess:
    """One that works on ten requests at once, and lets ten wait."""
    asks = json.dumps({"type": "custom", "url": f"{issuer.base}/custom"})
    return start_server(MAX_REQUESTS="10", MAX_WAITING="10", AUTH_PROVIDER=asks)


@pytest.fixture
def ben(server: ServerProcess) -> Caller:
    """Somebody whose key is known here."""
    secret = server.shell(SETUP).splitlines()[-1]
    caller = Caller(server.port, {"Authorization": f"Bearer {secret}"})
    assert caller.get("/v1/agents").status == 200
    return caller


def stranger(server: ServerProcess, number: int) -> Caller:
    return Caller(server.port, {"Authorization": f"Bearer made up {number}"})


def test_who_makes_up_keys_keeps_only_itself_waiting(server: ServerProcess, issuer: Issuer, ben: Caller) -> None:
    with ExitStack() as stack:
        sent = [stack.enter_context(stranger(server, number).sent("GET", "/v1/agents")) for number in range(40)]
        eventually(lambda: len(issuer.asked) == 5)
        assert ben.get("/v1/agents").status == 200
        assert ben.get("/readyz").status == 200
        assert len(issuer.asked) == 5
        issuer.open.set()
        answers = [connection.getresponse() for connection in sent]
        assert Counter(answer.status for answer in answers) == {401: 13, 429: 27}
        refused = next(answer for answer in answers if answer.status == 429)
        error = json.loads(refused.read())["error"]
    assert (refused.headers["Retry-After"], error["code"], error["type"]) == (
        "1",
        "too_many_requests",
        "rate_limit_error",
    )
    assert stranger(server, 40).get("/v1/agents").status == 401


LARGE = {"words": "x" * 2 * 2**20}


def test_few_large_bodies_are_read_at_once(server: ServerProcess, issuer: Issuer, ben: Caller) -> None:
    with ExitStack() as stack:
        for number in range(4):
            stack.enter_context(stranger(server, number).sent("POST", "/v1/agents", LARGE))
        eventually(lambda: len(issuer.asked) == 2)
        small = stack.enter_context(stranger(server, 4).sent("GET", "/v1/agents"))
        eventually(lambda: len(issuer.asked) == 3)
        assert ben.get("/v1/agents").status == 200
        issuer.open.set()
        assert small.getresponse().status == 401

"""One user's turns do not keep another's from running, nor its open streams another's from opening some."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import ExitStack

import pytest

from tests.support.live.caller import Caller, Talk, script
from tests.support.live.process import ServerProcess, eventually
from tests.support.live.sockets import opened

pytestmark = [pytest.mark.server, pytest.mark.slow]

SETUP = """
import json
from agents.models import User
from agents.base.store import keys
def made(name):
    user = keys.of_user(User.objects.create_user(name))
    return keys.create(user, name="a key", actions=["read", "run", "manage"])[1]
print(json.dumps({name: made(name) for name in ("ann", "ben")}))
"""
WAITS = script("wait 600s", "say Too late.")


@pytest.fixture
def callers(start_server: Callable[..., ServerProcess]) -> tuple[Caller, Caller]:
    """Ann and Ben, on a server that runs ten turns and lets ten wait."""
    server = start_server(MAX_RUNNING="10", MAX_QUEUED="10", DRAIN_SECONDS="1")
    return _callers(server)


def _callers(server: ServerProcess) -> tuple[Caller, Caller]:
    secrets = json.loads(server.shell(SETUP).splitlines()[-1])
    ann, ben = (Caller(server.port, {"Authorization": f"Bearer {secrets[name]}"}) for name in ("ann", "ben"))
    return ann, ben


def test_who_fills_all_slots_fills_their_own(callers: tuple[Caller, Caller]) -> None:
    ann, ben = callers
    body = {"model": "scripted/fast", "input": WAITS, "background": True}
    answers = [ben.post("/v1/responses", body) for _ in range(40)]
    begun = [answer.json["id"] for answer in answers if answer.status == 200]
    refused = [answer for answer in answers if answer.status != 200]

    def with_status(status: str) -> list[str]:
        return [one for one in begun if ben.get(f"/v1/responses/{one}").json["status"] == status]

    eventually(lambda: len(with_status("in_progress")) == 8)
    assert len(begun) == 16
    assert {answer.status for answer in refused} == {429}
    assert {answer.headers["retry-after"] for answer in refused} == {"5"}
    assert {answer.json["error"]["code"] for answer in refused} == {"too_many_turns"}
    unstored = {"model": "scripted/fast", "input": "Hello", "store": False}
    assert ben.post("/v1/responses", unstored).status == 429

    talk = Talk(ann)
    assert talk.say("Hello").json["status"] == "completed"
    assert ann.post("/v1/responses", unstored).status == 200
    first, stopped = with_status("queued")[0], with_status("in_progress")[0]
    assert ben.post(f"/v1/responses/{stopped}/cancel").status == 200
    eventually(lambda: ben.get(f"/v1/responses/{first}").json["status"] == "in_progress")


def test_who_opens_all_streams_and_sockets_opens_its_own(start_server: Callable[..., ServerProcess]) -> None:
    server = start_server(MAX_STREAMS="10", DRAIN_SECONDS="1")
    ann, ben = _callers(server)
    talk = Talk(ben)
    turn = talk.begin(WAITS)
    with ExitStack() as stack:
        for _ in range(4):
            socket = stack.enter_context(opened(server, ben.headers))
            socket.subscribe(f"turn:{turn}")
            socket.to_op("live")
        for _ in range(4):
            assert next(iter(stack.enter_context(talk.following(turn)))).type == "turn_start"
        refused = ben.get("/v1/agents")
        assert (refused.status, refused.headers["retry-after"]) == (429, "5")
        assert refused.json["error"]["code"] == "too_many_streams"
        assert talk.say("Hello").status == 429
        code, words = stack.enter_context(opened(server, ben.headers)).ended()
        assert (code, words) == (4429, "You have 8 streams and sockets open: no more now.")
        with opened(server, ann.headers) as socket:
            socket.subscribe("logs")
            socket.to_op("live")
            assert Talk(ann).say("Hello").json["status"] == "completed"
    eventually(lambda: ben.get("/v1/agents").status == 200)
    assert len(talk.turns()) == 1

"""A caller that leaves takes along what it waited for, and nothing else: its turn goes on."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.live.caller import Caller, Talk, script
from tests.support.live.process import ServerProcess, eventually

pytestmark = pytest.mark.server

WAITS = script("wait 600s", "say Too late.")


def test_who_leaves_is_not_counted_as_open(start_server: Callable[..., ServerProcess]) -> None:
    talk = Talk(Caller(start_server(MAX_STREAMS="1", DRAIN_SECONDS="1").port))
    with talk.saying(WAITS) as stream:
        assert next(iter(stream)).type == "turn_start"
        assert talk.caller.get("/v1/agents").status == 429
    eventually(lambda: talk.caller.get("/v1/agents").status == 200)
    [turn] = talk.turns()
    assert turn.get("completed_at") is None


def test_replies_on_one_connection_come_whole_and_in_order(start_server: Callable[..., ServerProcess]) -> None:
    """The large one waits in part for a reader who is slow; the small ones after it go out at once."""
    caller = Caller(start_server().port)
    agents = [
        caller.post("/v1/agents", {"agent_config": {"model": "scripted/fast", "instructions": letter * 400_000}}).json
        for letter in "abcdefgh"
    ]
    with caller.sent("GET", "/v1/agents") as connection:
        listed = connection.getresponse()
        assert len(listed.read()) > 8 * 400_000
        for agent in agents:
            connection.request("GET", f"/v1/agents/{agent['agent_id']}")
            answer = connection.getresponse()
            assert (answer.status, agent["agent_id"].encode() in answer.read()) == (200, True)

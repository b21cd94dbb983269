"""Exports from a server: a client that takes its time gets everything, and holds nobody up."""

from __future__ import annotations

import json

import pytest

from tests.server.caller import Caller, Talk, script

pytestmark = pytest.mark.server

TURNS, LONG = 24, 400_000
"""Together more than the buffers of a connection hold."""


def test_a_slow_client_gets_all_and_holds_nobody_up(caller: Caller) -> None:
    talk = Talk(caller)
    said = f"{script('say Yes.')}\n# {'word ' * (LONG // 5)}"
    turns = [talk.say(said).json["turn_id"] for _ in range(TURNS)]

    with caller.open("GET", f"/v1/logs/turns/export?whole=true&q=session:{talk.session}") as slow:
        assert slow.status == 200
        assert caller.get("/v1/logs/turns?limit=1").status == 200  # while nothing is taken
        found = [json.loads(line) for line in slow]

    assert [row["id"] for row in found] == turns[::-1]
    assert all(len(json.dumps(row["turn"]["input_messages"])) > LONG for row in found)


def test_one_that_goes_leaves_nothing_behind(caller: Caller) -> None:
    talk = Talk(caller)
    turns = [talk.say(script("say Yes.")).json["turn_id"] for _ in range(2)]
    with caller.open("GET", f"/v1/logs/turns/export?whole=true&q=session:{talk.session}") as left:
        assert json.loads(left.readline())["id"] == turns[-1]
    assert caller.get(f"/v1/logs/turns/export?q=session:{talk.session}").body.count(b"\n") == 2

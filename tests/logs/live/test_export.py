"""Exports from a server: a client that takes its time gets everything, and holds nobody up."""

from __future__ import annotations

import json
from collections.abc import Callable
from http.client import IncompleteRead

import pytest

from tests.support.live.caller import Caller, Talk, script
from tests.support.live.process import ServerProcess

pytestmark = pytest.mark.server

TURNS, LONG = 24, 400_000
"""Together more than the buffers of a connection hold."""


def test_a_slow_client_gets_all_and_holds_nobody_up(caller: Caller) -> None:
    talk = Talk(caller)
    question = f"{script('say Yes.')}\n# {'word ' * (LONG // 5)}"
    turns = [talk.say(question).json["turn_id"] for _ in range(TURNS)]

    with caller.open("GET", f"/v1/logs/turns/export?whole=true&q=session:{talk.session}") as slow:
        assert slow.status == 200
        assert caller.get("/v1/logs/turns?limit=1").status == 200  # while nothing is taken
        records = [json.loads(line) for line in slow]

    assert [row["id"] for row in records] == turns[::-1]
    assert all(len(json.dumps(row["turn"]["input_messages"])) > LONG for row in records)


def test_one_that_goes_leaves_nothing_behind(caller: Caller) -> None:
    talk = Talk(caller)
    turns = [talk.say(script("say Yes.")).json["turn_id"] for _ in range(2)]
    with caller.open("GET", f"/v1/logs/turns/export?whole=true&q=session:{talk.session}") as left:
        assert json.loads(left.readline())["id"] == turns[-1]
    assert caller.get(f"/v1/logs/turns/export?q=session:{talk.session}").body.count(b"\n") == 2


def test_one_that_cannot_go_on_is_broken_off(start_server: Callable[..., ServerProcess]) -> None:
    """Each time: nobody takes a part for the whole, or waits for what never comes."""
    server = start_server()
    talk = Talk(Caller(server.port))
    for word in ("Broken", "Sound"):
        talk.say(script(f"say {word}."))
    spoil = "TurnBody.objects.unscoped('test').filter(output_preview__contains='Broken').update(input_messages='{')"
    server.shell(f"from agents.models import TurnBody; assert {spoil} == 1")

    for _ in range(2):
        with talk.caller.open("GET", f"/v1/logs/turns/export?format=otlp&q=session:{talk.session}") as left:
            assert left.status == 200
            with pytest.raises(IncompleteRead):
                left.read()
    server.forgive()

"""Processes that share the work of a server: each request is answered by whoever it came to, and done by whoever does
that kind of work."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.support.live import response_socket
from tests.support.live.caller import Caller, Talk, answer_to, script, tool
from tests.support.live.held_model import HeldModel
from tests.support.live.process import ServerProcess, database, eventually
from tests.support.live.sockets import events, opened

pytestmark = [pytest.mark.server, pytest.mark.slow]

several = [
    pytest.mark.several,
    pytest.mark.skipif(not os.environ.get("TEST_DATABASE_URL"), reason="several servers share a PostgreSQL"),
]


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory, held: HeldModel) -> Iterator[dict[str, ServerProcess]]:
    """A server for each part of the work."""
    with ExitStack() as stack:
        where = stack.enter_context(database(empty=False))
        started = {}
        for part in ("web", "run", "ingest"):
            environment = {"SECRET_KEY": "of all" * 9, "ONLY": part, **held.environment, **where}
            server = ServerProcess(tmp_path_factory.mktemp(part), environment)
            stack.callback(server.kill)
            started[part] = server.start()
        yield started
        for server in started.values():
            server.stop()
            assert " ERROR " not in server.log, server.log[-4000:]


def logged(server: ServerProcess, turn: str) -> list[dict[str, Any]]:
    with opened(server) as socket:
        socket.subscribe(f"turn:{turn}")
        return events(socket.to_op("end"))


class TestParts:
    pytestmark = several

    def test_a_turn_is_stored_here_and_run_there(self, servers: dict[str, ServerProcess]) -> None:
        talk = Talk(Caller(servers["web"].port), toolgroups=["builtin::demo"])
        with talk.saying(script("call get_weather {}", "then", "say Fine.")) as stream:
            frames = list(stream)
        turn = frames[-1].payload["turn"]
        assert (turn["status"], turn["output_message"]["content"]) == ("completed", "Fine.")
        assert not any(entry.get("type") == "turn.taken_over" for entry in logged(servers["web"], turn["turn_id"]))
        assert talk.say(script("say Again.")).json["status"] == "completed"

    def test_a_turn_is_resumed_and_cancelled_over_processes(self, servers: dict[str, ServerProcess]) -> None:
        talk = Talk(Caller(servers["web"].port), client_tools=[tool("ask", "question")])
        waiting = talk.say(script('call ask {"question": "?"}', "then", "say Thanks.")).json
        call = waiting["output_message"]["tool_calls"][0]
        done = talk.answer(waiting["turn_id"], answer_to(call, "yes")).json
        assert (done["status"], done["output_message"]["content"]) == ("completed", "Thanks.")
        assert not any(entry.get("type") == "turn.taken_over" for entry in logged(servers["web"], done["turn_id"]))
        turn = talk.begin(script("say Hm.", "wait 60s"))
        eventually(lambda: talk.turn(turn)["status"] == "in_progress")
        assert talk.cancel(turn).json["status"] == "cancelled"

    def test_what_is_not_stored_runs_where_it_came(self, servers: dict[str, ServerProcess]) -> None:
        talk = Talk(Caller(servers["web"].port))
        secret = json.dumps({"tavily_search_api_key": "sesame"})
        assert talk.say(script("say Here."), **{"X-LlamaStack-Provider-Data": secret}).json["status"] == "completed"
        body = {"model": "scripted/fast", "input": script("say Here too."), "store": False}
        told = Caller(servers["web"].port).post("/v1/responses", body).json
        assert told["status"] == "completed"

    def test_a_response_that_runs_there_is_steered_from_here(
        self, servers: dict[str, ServerProcess], held: HeldModel
    ) -> None:
        first, second = held.hold(), held.hold()
        with response_socket.opened(servers["web"]) as socket:
            socket.send(model="held/held", input=first.question)
            old = socket.until("response.created")[-1]["response"]["id"]
            eventually(lambda: first.asked)
            assert socket.steer(old, second.question)["type"] == "response.steer.accepted"
            first.end("One.")
            second.end("Two.")
            assert socket.until("response.completed")[-1]["response"]["id"] == old
            new = socket.until("response.completed")[-1]["response"]
            assert (new["previous_response_id"], response_socket.text(new)) == (old, "Two.")
            told = socket.steer(new["id"], "Too late.")
            assert told["error"]["code"] == "response_already_completed"
        steered = Caller(servers["run"].port).get(f"/v1/responses/{new['id']}").json
        assert response_socket.text(steered) == "Two."

    def test_a_report_becomes_a_turn_elsewhere(self, servers: dict[str, ServerProcess]) -> None:
        span = {
            "traceId": "5b8efff798038103d269b633813fc60c",
            "spanId": "eee19b7ec3c1b174",
            "name": "chat gpt",
            "startTimeUnixNano": "1795168430500270822",
            "endTimeUnixNano": "1795168430510554817",
            "attributes": [
                {"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}},
                {"key": "gen_ai.request.model", "value": {"stringValue": "gpt"}},
            ],
        }
        caller = Caller(servers["web"].port)
        sent = caller.post("/v1/traces", {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]})
        assert sent.status == 200, sent.body
        eventually(lambda: caller.get("/v1/logs/turns?q=source:otlp").json["data"])


def test_one_process_does_everything_on_sqlite(tmp_path: Any) -> None:
    line = ["manage.py", "serve", "--only", "web", "--port", "0"]
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    done = subprocess.run(
        [sys.executable, *line], env={**kept, "DATA_DIR": str(tmp_path)}, capture_output=True, text=True
    )
    assert done.returncode == 1
    assert "--only is for several processes on one PostgreSQL" in done.stderr

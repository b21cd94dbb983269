"""Two servers on one database: each time that comes is one run, whichever notices it; what one had begun with when it
died, the other does."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from openai import OpenAI

from tests.automations.conftest import target
from tests.automations.live.test_openai_client import ended, once, periodic
from tests.support.http_endpoint import Reply, Request, answering
from tests.support.live.process import ServerProcess, eventually
from tests.support.live.two_servers import MARKS, two_servers

pytestmark = MARKS

EACH = 25


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[tuple[ServerProcess, ServerProcess]]:
    folders = tmp_path / "one", tmp_path / "two"
    for folder in folders:
        folder.mkdir()
    with two_servers(folders, {"FETCH_ALLOW_PRIVATE": "true"}) as both:
        yield both


def of(server: ServerProcess) -> OpenAI:
    return OpenAI(base_url=f"{server.base}/v1", api_key="none", max_retries=0)


def test_each_time_is_one_run(servers: tuple[ServerProcess, ServerProcess]) -> None:
    one, two = map(of, servers)
    with one, two:
        at = int(time.time()) + 4
        made = [once(client, run_at=at).id for _ in range(EACH) for client in (one, two)]
        found = [ended(one, automation) for automation in made]
        assert {len(invocations) for invocations in found} == {1}
        assert {run.status for [run] in found} == {"completed"}
        assert {run.scheduled_at for [run] in found} == {at}
        sessions = {run.session_id for [run] in found}
        assert len(sessions) == len(made)
        listed = list(two.beta.agents.sessions.list(limit=100))
        assert {session.id for session in listed} == sessions
        for session in sessions:
            assert len(list(two.beta.agents.sessions.turns.list(session))) == 1


_CLAIMANT = """
from agents.models import AutomationRun, Process
[claimant] = AutomationRun.objects.values_list("claimed_by", flat=True)
print(Process.objects.get(pk=claimant).pid)
"""


def test_what_one_had_begun_with_the_other_does(servers: tuple[ServerProcess, ServerProcess]) -> None:
    reached, killed = Event(), Event()
    taken: list[Request] = []

    def answer(request: Request) -> Reply:
        taken.append(request)
        if len(taken) == 1:
            reached.set()
            killed.wait(60)
        return Reply(status=500)

    one, two = map(of, servers)
    with one, two, answering(answer) as url:
        tool = {
            "type": "mcp",
            "server_label": "lab",
            "transport": {"type": "http", "server_url": url},
            "required": True,
        }
        made = periodic(one, target=target(agent={"model": "scripted/fast", "tools": [tool]}))
        servers[0].shell("from agents.models import AutomationRun")  # begins slowly, and no run waits for that
        one.beta.agents.automations.invocations.create(made.id)
        assert reached.wait(30)
        claimant = int(servers[0].shell(_CLAIMANT))
        servers[0].close_shell()
        is_first = servers[0].pid == claimant
        (servers[0] if is_first else servers[1]).kill()
        killed.set()
        left: Any = two if is_first else one

        def over() -> Any:
            [run] = left.beta.agents.automations.invocations.list(made.id)
            return run if run.status != "queued" else None

        run = eventually(over, 90)
        assert (run.status, run.error.code) == ("failed", "mcp_server_startup_failed")
        assert len(taken) >= 2

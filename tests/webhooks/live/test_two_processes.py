"""Two servers on one database: each delivery is sent by one of them, once; what one had begun when it died, the other
sends."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from openai import OpenAI

from tests.support.http_endpoint import Reply, Request, answering
from tests.support.live.process import ServerProcess, eventually
from tests.support.live.two_servers import MARKS, two_servers
from tests.webhooks.receiver import receiving

pytestmark = MARKS

EACH = 40
ENDS: Any = ["response.completed"]


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[tuple[ServerProcess, ServerProcess]]:
    folders = tmp_path / "one", tmp_path / "two"
    for folder in folders:
        folder.mkdir()
    with two_servers(folders, {"FETCH_ALLOW_PRIVATE": "true"}) as both:
        yield both


def ask(client: OpenAI) -> str:
    return client.responses.create(model="scripted/fast", input="!script\nsay Hello.", background=True).id


def of(server: ServerProcess) -> OpenAI:
    return OpenAI(base_url=f"{server.base}/v1", api_key="none", max_retries=0)


def test_each_is_sent_once(servers: tuple[ServerProcess, ServerProcess]) -> None:
    one, two = map(of, servers)
    with one, two, receiving() as receiver:
        made = one.webhooks.create(name="mine", url=receiver.url, event_types=ENDS)
        asked = {ask(client) for _ in range(EACH) for client in (one, two)}
        eventually(lambda: len(receiver.taken) >= len(asked))
        path = f"/webhook_endpoints/{made.id}/deliveries?limit=100"
        told = eventually(lambda: _delivered(one.get(path, cast_to=object)))
        assert len(told) == len(receiver.taken) == len(set(receiver.ids)) == len(asked)
        assert {event["data"]["id"] for event in receiver.events} == asked
        assert {delivery["attempts"] for delivery in told} == {1}


def _delivered(answer: Any) -> list[Any]:
    return answer["data"] if {one["status"] for one in answer["data"]} == {"delivered"} else []


def test_what_one_had_begun_the_other_sends(servers: tuple[ServerProcess, ServerProcess]) -> None:
    reached, killed = Event(), Event()
    taken: list[Request] = []

    def answer(request: Request) -> Reply:
        taken.append(request)
        if len(taken) == 1:
            reached.set()
            killed.wait(60)
        return Reply()

    one, two = map(of, servers)
    with one, two, answering(answer) as url:
        one.webhooks.create(name="mine", url=url, event_types=ENDS)
        asked = ask(one)
        assert reached.wait(30)
        first, second = _by_claim(servers)
        first.kill()
        killed.set()
        eventually(lambda: len(taken) == 2, 60)
        assert taken[0].headers["webhook-id"] == taken[1].headers["webhook-id"]
        assert asked.encode() in taken[1].body
        assert second.runs


_CLAIMANT = """
from agents.models import Process, WebhookDelivery
[claimant] = WebhookDelivery.objects.values_list("claimed_by", flat=True)
print(Process.objects.get(pk=claimant).pid)
"""


def _by_claim(servers: tuple[ServerProcess, ServerProcess]) -> tuple[ServerProcess, ServerProcess]:
    """The server whose process has claimed the delivery, and the other one."""
    one, two = servers
    claimant = int(one.shell(_CLAIMANT))
    one.close_shell()
    return (one, two) if one.pid == claimant else (two, one)

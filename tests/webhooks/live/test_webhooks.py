"""Webhooks of a server, with OpenAI's client: it makes the endpoints, and checks what comes."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterator
from threading import Event
from typing import Any

import pytest
from openai import AsyncOpenAI, BadRequestError, OpenAI

from tests.support.http_endpoint import Reply, Request, answering
from tests.support.live.caller import Caller
from tests.support.live.process import ServerProcess, eventually
from tests.webhooks.receiver import Receiver, receiving

pytestmark = pytest.mark.server

ENDS: Any = ["response.completed", "response.failed", "response.cancelled", "response.incomplete"]


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as found:
        yield found


@pytest.mark.parametrize("kind", [OpenAI, AsyncOpenAI])
def test_the_client_manages_endpoints(
    server: ServerProcess, receiver: Receiver, kind: type[OpenAI] | type[AsyncOpenAI]
) -> None:
    async def done(result: Any) -> Any:
        return await result if inspect.isawaitable(result) else result

    async def walk() -> None:
        client = kind(base_url=f"{server.base}/v1", api_key="none", max_retries=0)
        hooks: Any = client.webhooks
        made = await done(hooks.create(name="mine", url=receiver.url, event_types=ENDS))
        assert made.signing_secret.startswith("whsec_")
        assert made.signing_secret_hint == f"whsec_…{made.signing_secret[-4:]}"
        found = await done(hooks.retrieve(made.id))
        assert (found.object, found.name, found.url, found.event_types) == (made.object, "mine", receiver.url, ENDS)
        assert made.signing_secret not in found.to_json()
        assert made.id in [one.id for one in (await done(hooks.list(limit=100))).data]
        types: Any = ["response.completed"]
        changed = await done(hooks.update(made.id, name="yours", event_types=types))
        assert (changed.name, changed.event_types, changed.url) == ("yours", types, receiver.url)
        assert set(ENDS) < set((await done(hooks.event_types.list())).data)
        receiver.will(202)
        tested = await done(hooks.test(made.id, event_type="response.failed"))
        assert (tested.status_code, tested.success, tested.webhook_endpoint_id) == (202, True, made.id)
        [sample] = receiver.taken
        event = hooks.unwrap(sample.body, dict(sample.headers), secret=made.signing_secret)
        assert event.type == "response.failed"
        rotated = await done(hooks.rotate_secret(made.id, keep_old_secret_active_for_24_hours=True))
        await done(hooks.test(made.id, event_type="response.failed"))
        for secret in (made.signing_secret, rotated.signing_secret):
            hooks.verify_signature(receiver.taken[1].body, dict(receiver.taken[1].headers), secret=secret)
        assert (await done(hooks.rotate_secret(made.id))).signing_secret != rotated.signing_secret
        assert (await done(hooks.delete(made.id))).deleted
        await done(client.close())

    asyncio.run(walk())


def test_a_response_in_the_background_is_told_of(openai_client: OpenAI, receiver: Receiver, caller: Caller) -> None:
    made = openai_client.webhooks.create(name="mine", url=receiver.url, event_types=ENDS)
    openai_client.responses.create(model="scripted/fast", input="!script\nsay Hello.")
    ended = openai_client.responses.create(model="scripted/fast", input="!script\nsay Hello.", background=True)
    cut = openai_client.responses.create(model="scripted/fast", input="!script\nsay Hello.\nlength", background=True)
    long = openai_client.responses.create(model="scripted/demo", input="!script\nwait 60s", background=True)
    openai_client.responses.cancel(long.id)
    eventually(lambda: len(receiver.taken) == 3)
    events: list[Any] = [
        openai_client.webhooks.unwrap(request.body, dict(request.headers), secret=made.signing_secret)
        for request in receiver.taken
    ]
    assert {(event.type, event.data.id) for event in events} == {
        ("response.completed", ended.id),
        ("response.incomplete", cut.id),
        ("response.cancelled", long.id),
    }
    path = f"/v1/webhook_endpoints/{made.id}/deliveries"
    listed = eventually(lambda: _all_in(caller.ask("GET", path).json["data"], "delivered"))
    assert {one["subject_id"] for one in listed} == {ended.id, cut.id, long.id}
    assert {one["status_code"] for one in listed} == {200}
    again = caller.ask("POST", f"{path}/{listed[0]['id']}/resend").json
    assert again["status"] == "pending"
    eventually(lambda: len(receiver.taken) == 4)
    assert receiver.ids[3] == listed[0]["id"]
    openai_client.webhooks.delete(made.id)


def _all_in(deliveries: list[dict[str, Any]], status: str) -> list[dict[str, Any]]:
    return deliveries if {one["status"] for one in deliveries} == {status} else []


def test_a_kill_loses_nothing(start_server: Callable[..., ServerProcess]) -> None:
    """One delivery is under way and another waits for its next attempt when the server is killed."""
    server, reached, killed = start_server(FETCH_ALLOW_PRIVATE="true"), Event(), Event()
    taken: list[Request] = []

    def answer(request: Request) -> Reply:
        taken.append(request)
        if len(taken) == 2:
            reached.set()
            killed.wait(30)
        return Reply(status=500 if len(taken) == 1 else 200)

    with answering(answer) as url, OpenAI(base_url=f"{server.base}/v1", api_key="none", max_retries=0) as client:
        made = client.webhooks.create(name="mine", url=url, event_types=ENDS)
        first = client.responses.create(model="scripted/fast", input="!script\nsay one", background=True)
        eventually(lambda: len(taken) == 1)
        second = client.responses.create(model="scripted/fast", input="!script\nsay two", background=True)
        assert reached.wait(30)
        server.kill()
        killed.set()
        server.start(server.port)
        eventually(lambda: len({request.headers["webhook-id"] for request in taken[2:]}) == 2)
        events: list[Any] = [
            client.webhooks.unwrap(one.body, dict(one.headers), secret=made.signing_secret) for one in taken
        ]
    assert {event.data.id for event in events} == {first.id, second.id}
    assert {request.headers["webhook-id"] for request in taken[:2]} == {
        request.headers["webhook-id"] for request in taken[2:]
    }


def test_a_private_address_is_refused_without_the_setting(start_server: Callable[..., ServerProcess]) -> None:
    server = start_server()
    with OpenAI(base_url=f"{server.base}/v1", api_key="none", max_retries=0) as client:
        with pytest.raises(BadRequestError) as refused:
            client.webhooks.create(name="mine", url="http://localhost:1234/hook", event_types=ENDS)
        assert client.webhooks.list().data == []
    assert refused.value.code == "url_refused"
    assert refused.value.param == "url"

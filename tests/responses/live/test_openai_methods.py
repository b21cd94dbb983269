"""Every method of the ``openai`` client that the documentation's table claims, sync and async: a walk that calls
each of them, and counts."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import json
import re
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from openai import AsyncOpenAI, BadRequestError, OpenAI
from pydantic import BaseModel

from tests import ROOT
from tests.support.live.process import ServerProcess
from tests.webhooks.receiver import receiving

pytestmark = pytest.mark.server

MODEL = "scripted/fast"
Walk = Callable[..., Awaitable[Any]]


class Kettle(BaseModel):
    colour: str
    litres: float


def claimed() -> set[str]:
    """The methods of the documentation's row, by their paths."""
    text = (ROOT / "docs" / "coverage.md").read_text()
    [line] = [line for line in text.splitlines() if line.startswith("| methods of the")]
    found = set()
    for part in line.split("|")[2].split(";"):
        before, _, after = part.partition(":")
        resources, names = (re.findall(r"`([^`]+)`", one) for one in (before, after))
        found |= {f"{resource}.{name}" for resource in resources for name in names}
    return found


class Caller:
    """Calls methods of a client by their paths, and remembers which."""

    def __init__(self, client: OpenAI | AsyncOpenAI) -> None:
        self.client = client
        self.called: set[str] = set()

    def _method(self, path: str) -> Any:
        self.called.add(path)
        found: Any = self.client
        for name in path.split("."):
            found = getattr(found, name)
        return found

    async def ask(self, path: str, *args: Any, **more: Any) -> Any:
        made = self._method(path)(*args, **more)
        return await made if inspect.isawaitable(made) else made

    async def final(self, path: str, **more: Any) -> tuple[list[Any], Any]:
        """The events of a streaming helper, and what it puts together in the end."""
        helper = self._method(path)(**more)
        name = "get_final_response" if path.startswith("responses") else "get_final_completion"
        if hasattr(helper, "__aenter__"):
            async with helper as stream:
                events = [event async for event in stream]
                return events, await getattr(stream, name)()
        with helper as stream:
            events = list(stream)
            return events, getattr(stream, name)()

    async def over_a_socket(self, **more: Any) -> Any:
        """A response that is asked for over a socket."""
        helper = self._method("responses.connect")()
        if hasattr(helper, "__aenter__"):
            async with helper as connection:
                await connection.response.create(**more)
                async for event in connection:
                    if event.type == "response.completed":
                        return event.response
        with helper as connection:
            connection.response.create(**more)
            return next(event.response for event in connection if event.type == "response.completed")


async def _responses(call: Caller) -> None:
    made = await call.ask("responses.create", model=MODEL, input="!script\nsay Hello.")
    assert made.output_text == "Hello."
    assert (await call.ask("responses.retrieve", made.id)).output == made.output
    events, final = await call.final("responses.stream", model=MODEL, input="!script\nsay one two")
    assert final.output_text == "one two"
    assert "".join(event.delta for event in events if event.type == "response.output_text.delta") == "one two"
    assert (await call.over_a_socket(model=MODEL, input="!script\nsay Hello.")).output_text == "Hello."
    parsed = await call.ask("responses.parse", model=MODEL, input="A kettle", text_format=Kettle)
    assert isinstance(parsed.output_parsed, Kettle)
    assert len((await call.ask("responses.input_items.list", made.id)).data) == 1
    compacted = await call.ask("responses.compact", model=MODEL, input="My cat is Ada.")
    assert [item.type for item in compacted.output] == ["message", "compaction"]
    counted = await call.ask("responses.input_tokens.count", model=MODEL, input="My cat is Ada.")
    assert counted.input_tokens == 4
    long = await call.ask("responses.create", model="scripted/demo", input="!script\nwait 60s", background=True)
    assert (await call.ask("responses.cancel", long.id)).status == "cancelled"
    await call.ask("responses.delete", made.id)


async def _conversations(call: Caller) -> None:
    talk = await call.ask("conversations.create", metadata={"a": "b"})
    assert (await call.ask("conversations.retrieve", talk.id)).metadata == {"a": "b"}
    assert (await call.ask("conversations.update", talk.id, metadata={"c": "d"})).metadata == {"c": "d"}
    items: Any = [{"type": "message", "role": "user", "content": "Hello"}]
    [item] = (await call.ask("conversations.items.create", talk.id, items=items)).data
    assert [one.id for one in (await call.ask("conversations.items.list", talk.id)).data] == [item.id]
    assert (await call.ask("conversations.items.retrieve", item.id, conversation_id=talk.id)).id == item.id
    await call.ask("conversations.items.delete", item.id, conversation_id=talk.id)
    assert (await call.ask("conversations.delete", talk.id)).deleted


async def _files(call: Caller) -> None:
    file = await call.ask("files.create", file=("kettles.txt", b"The kettle is blue."), purpose="assistants")
    assert (await call.ask("files.retrieve", file.id)).filename == "kettles.txt"
    assert file.id in [one.id for one in (await call.ask("files.list")).data]
    assert (await call.ask("files.content", file.id)).content == b"The kettle is blue."
    upload = await call.ask("uploads.create", bytes=4, filename="a", mime_type="text/plain", purpose="assistants")
    part = await call.ask("uploads.parts.create", upload.id, data=b"0123")
    assert (await call.ask("uploads.complete", upload.id, part_ids=[part.id])).file.bytes == 4
    upload = await call.ask("uploads.create", bytes=4, filename="a", mime_type="text/plain", purpose="assistants")
    assert (await call.ask("uploads.cancel", upload.id)).status == "cancelled"
    whole: Any = {"filename": "a", "mime_type": "text/plain", "purpose": "assistants"}
    done = await call.ask("uploads.upload_file_chunked", file=b"0123", bytes=4, **whole)
    assert done.status == "completed"
    request = {"model": MODEL, "input": "!script\nsay Hello."}
    line = {"custom_id": "a", "method": "POST", "url": "/v1/responses", "body": request}
    requests = await call.ask("files.create", file=("a.jsonl", json.dumps(line).encode()), purpose="batch")
    asked: Any = {"endpoint": "/v1/responses", "completion_window": "24h"}
    batch = await call.ask("batches.create", input_file_id=requests.id, **asked)
    assert (await call.ask("batches.retrieve", batch.id)).input_file_id == requests.id
    assert batch.id in [one.id for one in (await call.ask("batches.list")).data]
    other = await call.ask("batches.create", input_file_id=requests.id, **asked)
    with contextlib.suppress(BadRequestError):  # it may have ended already
        assert (await call.ask("batches.cancel", other.id)).id == other.id
    store = await call.ask("vector_stores.create", name="kettles")
    assert (await call.ask("vector_stores.retrieve", store.id)).name == "kettles"
    assert (await call.ask("vector_stores.update", store.id, name="pots")).name == "pots"
    assert store.id in [one.id for one in (await call.ask("vector_stores.list")).data]
    call.called.add("vector_stores.files.*")
    done = await call.ask("vector_stores.files.create_and_poll", file.id, vector_store_id=store.id)
    assert done.status == "completed"
    call.called.add("vector_stores.file_batches.*")
    batch = await call.ask("vector_stores.file_batches.create_and_poll", store.id, file_ids=[file.id])
    assert batch.file_counts.completed == 1
    assert (await call.ask("vector_stores.search", store.id, query="blue kettle")).data[0].file_id == file.id
    assert (await call.ask("vector_stores.delete", store.id)).deleted
    assert (await call.ask("files.delete", file.id)).deleted


async def _models(call: Caller) -> None:
    messages: Any = [{"role": "user", "content": "!script\nsay Hello."}]
    made = await call.ask("chat.completions.create", model=MODEL, messages=messages)
    assert made.choices[0].message.content == "Hello."
    _, final = await call.final("chat.completions.stream", model=MODEL, messages=messages)
    assert final.choices[0].message.content == "Hello."
    kettle: Any = [{"role": "user", "content": "A kettle"}]
    parsed = await call.ask("chat.completions.parse", model=MODEL, messages=kettle, response_format=Kettle)
    assert isinstance(parsed.choices[0].message.parsed, Kettle)
    assert (await call.ask("chat.completions.retrieve", made.id)).id == made.id
    assert made.id in [one.id for one in (await call.ask("chat.completions.list", limit=100)).data]
    [sent] = (await call.ask("chat.completions.messages.list", made.id)).data
    assert (sent.id, sent.role, sent.content) == (f"{made.id}-0", "user", "!script\nsay Hello.")
    changed = await call.ask("chat.completions.update", made.id, metadata={"a": "b"})
    assert (changed.metadata, changed.choices) == ({"a": "b"}, made.choices)
    assert (await call.ask("chat.completions.delete", made.id)).deleted
    assert (await call.ask("completions.create", model=MODEL, prompt="!script\nsay Hello.")).choices[0].text == "Hello."
    vectors = await call.ask("embeddings.create", model="scripted/embed", input=["blue", "kettle"])
    assert len(vectors.data) == 2
    listed = [one.id for one in (await call.ask("models.list")).data]
    assert MODEL in listed
    assert (await call.ask("models.retrieve", MODEL)).id == MODEL


async def _moderations(call: Caller) -> None:
    judged = await call.ask("moderations.create", model="moderated", input="a bomb")
    assert judged.results[0].flagged


async def _webhooks(call: Caller) -> None:
    types: Any = ["response.completed"]
    with receiving() as receiver:
        made = await call.ask("webhooks.create", name="mine", url=receiver.url, event_types=types)
        assert (await call.ask("webhooks.retrieve", made.id)).name == "mine"
        assert (await call.ask("webhooks.update", made.id, name="yours")).name == "yours"
        assert made.id in [one.id for one in (await call.ask("webhooks.list")).data]
        assert types[0] in (await call.ask("webhooks.event_types.list")).data
        rotated = await call.ask("webhooks.rotate_secret", made.id, keep_old_secret_active_for_24_hours=True)
        assert (await call.ask("webhooks.test", made.id, event_type=types[0])).status_code == 200
        [sent] = receiver.taken
        event = await call.ask("webhooks.unwrap", sent.body, dict(sent.headers), secret=rotated.signing_secret)
        assert event.type == types[0]
        await call.ask("webhooks.verify_signature", sent.body, dict(sent.headers), secret=made.signing_secret)
        assert (await call.ask("webhooks.delete", made.id)).deleted


async def walk(client: OpenAI | AsyncOpenAI, *parts: Walk) -> set[str]:
    call = Caller(client)
    for part in parts:
        await part(call)
    for path in ("vector_stores.files.create_and_poll", "vector_stores.file_batches.create_and_poll"):
        call.called.discard(path)
    return call.called


@pytest.mark.parametrize("kind", [OpenAI, AsyncOpenAI])
@pytest.mark.filterwarnings(
    "ignore:connect.. must be used as a context manager"
)  # how OpenAI's client uses its library
def test_every_method_that_is_claimed_works(
    server: ServerProcess, guarded: ServerProcess, kind: type[OpenAI] | type[AsyncOpenAI]
) -> None:
    async def all_of_them() -> set[str]:
        clients = [kind(base_url=f"{one.base}/v1", api_key="none", max_retries=0) for one in (server, guarded)]
        called = await walk(clients[0], _responses, _conversations, _files, _models, _webhooks)
        called |= await walk(clients[1], _moderations)
        for client in clients:
            closing = client.close()
            if inspect.isawaitable(closing):
                await closing
        return called

    assert asyncio.run(all_of_them()) == claimed()

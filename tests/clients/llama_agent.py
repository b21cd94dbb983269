"""A program for a venv of its own: turns of llama-stack-client 0.3's ``Agent``, as JSON on its output.

Argument: the server's URL.
"""

from __future__ import annotations

import dataclasses
import json
import sys
import time
from typing import Any

from llama_stack_client import NOT_GIVEN, Agent, LlamaStackClient


def get_weather(city: str) -> str:
    """The weather somewhere.

    :param city: where
    """
    return f"sunny in {city}"


def told(event: Any) -> dict[str, Any]:
    """What an event says, but for its ids."""
    fields = dataclasses.asdict(event)
    return {name: value for name, value in fields.items() if name not in ("turn_id", "step_id", "session_id")}


def turn(agent: Agent, session: str, *lines: str) -> list[dict[str, Any]]:
    """The events of a turn whose model performs these lines."""
    text = "\n".join(["!script", *lines])
    message = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
    chunks = agent.create_turn(messages=[message], session_id=session, stream=True)
    return [told(chunk.event) for chunk in chunks]


def search(client: LlamaStackClient) -> list[dict[str, Any]]:
    """A turn that searches a file on the server."""
    file = client.files.create(file=("kettles.txt", b"The blue kettle was sent back."), purpose="assistants")
    store = client.vector_stores.create(name="orders")
    attached = client.vector_stores.files.create(vector_store_id=store.id, file_id=file.id)
    until = time.monotonic() + 30
    while attached.status == "in_progress" and time.monotonic() < until:
        time.sleep(0.1)
        attached = client.vector_stores.files.retrieve(file.id, vector_store_id=store.id)
    tools: list[Any] = [{"type": "file_search", "vector_store_ids": [store.id]}]
    agent = Agent(client, model="scripted/fast", instructions="Look it up.", tools=tools)
    call = 'call knowledge_search {"query": "blue kettle"}'
    return turn(agent, agent.create_session("a search"), call, "then", "say It was sent back.")


def main(url: str) -> dict[str, Any]:
    with LlamaStackClient(base_url=url, max_retries=0) as client:
        plain = Agent(client, model="scripted/fast", instructions="Be brief.")
        talk = plain.create_session("a talk")
        words = turn(plain, talk, "say Hello there,", "say friend.")
        again = turn(plain, talk, "say And again.")
        whole = plain.create_turn(
            messages=[{"role": "user", "content": "!script\nsay Not streamed."}], session_id=talk, stream=False
        )
        handy = Agent(client, model="scripted/fast", instructions="Use tools.", tools=[get_weather])
        errand = handy.create_session("an errand")
        call = 'call get_weather {"city": "Paris"}'
        tools = turn(handy, errand, "say Let me look.", call, "then", "say It is sunny.")
        both = turn(handy, errand, call, 'call get_weather {"city": "Rome"}', "then", call, "then", "say Everywhere.")
        searched = search(client)
        failed = turn(plain, plain.create_session("a failure"), "say Half", "fail 500 on fire")
        items = client.conversations.items.list(errand, order="asc", limit=100, after=NOT_GIVEN, include=NOT_GIVEN)
        listed = [item.type for item in items.data]
        metadata = client.conversations.retrieve(talk).metadata
        stored = client.responses.list(limit=1).data[0].id
    return {
        "words": words,
        "again": again,
        "whole": whole.output_text,
        "tools": tools,
        "both": both,
        "searched": searched,
        "failed": failed,
        "items": listed,
        "metadata": metadata,
        "stored": stored,
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(sys.argv[1])))

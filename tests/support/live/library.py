"""Turns by the agents library of llama-stack-client, each in the one of its two shapes that was asked for."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from llama_stack_client import LlamaStackClient
from llama_stack_client.lib.agents.agent import Agent
from llama_stack_client.types.agents.agent_turn_response_stream_chunk import AgentTurnResponseStreamChunk
from llama_stack_client.types.agents.turn import Turn

from tests.support.live.caller import user


@contextmanager
def opened_client(base_url: str, **options: Any) -> Iterator[LlamaStackClient]:
    """A client. At the end the streams are collected that its library leaves half read: later, while its connection
    pool holds its lock, they would wait for themselves. Objects of before are left out, among which to look takes two
    seconds after thousands of tests."""
    gc.freeze()
    try:
        with LlamaStackClient(base_url=base_url, **options) as client:
            yield client
            gc.collect()
    finally:
        gc.unfreeze()


def asking(text: str) -> list[Any]:
    """One message, as the library's guide has it: a plain dict, though the library names the types of its models."""
    return [user(text)]


def turn_of(agent: Agent, text: str, session: str, **more: Any) -> Turn:
    """A turn as a whole, once it is over."""
    turn = agent.create_turn(asking(text), session, stream=False, **more)
    assert isinstance(turn, Turn)
    return turn


def chunks_of(agent: Agent, text: str, session: str) -> Iterator[AgentTurnResponseStreamChunk]:
    """A turn as it streams."""
    chunks = agent.create_turn(asking(text), session)
    assert isinstance(chunks, Iterator)
    return chunks

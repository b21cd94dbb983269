"""Turns by the agents library of llama-stack-client, each in the one of its two shapes that was asked for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from llama_stack_client.lib.agents.agent import Agent
from llama_stack_client.types.agents.agent_turn_response_stream_chunk import AgentTurnResponseStreamChunk
from llama_stack_client.types.agents.turn import Turn

from tests.support.live.caller import user


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

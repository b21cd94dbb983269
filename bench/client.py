"""The Agents API as a load client sees it. Every answer is checked; a wrong one is never timed."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import aiohttp

from bench.faults import Broken, Missing
from bench.models import answer, plan_of
from bench.streams import CHAT, RESPONSE, TURN, Timing, frame_of, read_stream

T = TypeVar("T")
JSON = Any

PROMPT = ("Please answer this question in detail. " * 6)[:200]
INSTRUCTIONS = "You are a helpful assistant."
_ABSENT = (404, 405, 501)


@dataclass(frozen=True, slots=True)
class Place:
    """A session, by its agent."""

    agent: str
    session: str


class Api:
    """The routes of one server. ``prefix`` stands before ``/agents``, and before ``/responses`` too if there is no
    ``responses_prefix``; ``model_prefix`` before every model's name."""

    def __init__(
        self,
        http: aiohttp.ClientSession,
        base: str,
        *,
        prefix: str = "/v1",
        responses_prefix: str = "",
        model_prefix: str = "",
    ) -> None:
        self.http, self.base = http, base.rstrip("/")
        self.agents = f"{self.base}{prefix}/agents"
        self.responses = f"{self.base}{responses_prefix or prefix}/responses"
        self._model_prefix = model_prefix

    # ----------------------------------------------------------------------------------- any request

    @asynccontextmanager
    async def open(
        self, method: str, url: str, body: JSON = None, headers: Mapping[str, str] | None = None
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """A response whose status is good. Raises Missing for a route the server has not, Broken
        for any other refusal."""
        async with self.http.request(method, url, json=body, headers=headers) as response:
            if response.status >= 400:
                said = " ".join((await response.text(errors="replace")).split())[:160]
                kind = Missing if response.status in _ABSENT else Broken
                raise kind(f"{method} {url.removeprefix(self.base)}: {response.status} {said}")
            yield response

    async def ask(self, method: str, url: str, body: JSON = None) -> JSON:
        async with self.open(method, url, body) as response:
            return json.loads(await response.read() or b"null")

    async def timed_get(self, url: str) -> tuple[float, bytes]:
        """(seconds, body)."""
        began = time.monotonic()
        async with self.open("GET", url) as response:
            body = await response.read()
        return time.monotonic() - began, body

    # ---------------------------------------------------------------------------- agents and sessions

    async def create_agent(self, model: str, **config: JSON) -> str:
        named = {"model": self._model_prefix + model, "instructions": INSTRUCTIONS, "enable_session_persistence": True}
        return str((await self.ask("POST", self.agents, {"agent_config": named | config}))["agent_id"])

    async def create_session(self, agent: str) -> Place:
        made = await self.ask("POST", f"{self.agents}/{agent}/session", {"session_name": "bench"})
        return Place(agent, made["session_id"])

    async def sessions(self, agent: str, count: int) -> list[Place]:
        return await at_a_time(8, count, lambda _: self.create_session(agent))

    def session_url(self, place: Place) -> str:
        return f"{self.agents}/{place.agent}/session/{place.session}"

    # ----------------------------------------------------------------------------------------- turns

    async def turn(
        self, place: Place, model: str, *, tokens: int | None = None, begun: Callable[[str], None] | None = None
    ) -> Timing:
        """A streamed turn, checked: as many tokens as the model's name says (or ``tokens``), and a
        completed end. ``begun`` is told the turn's id as soon as it is known."""

        def on_first(block: bytes) -> None:
            if begun:
                begun(frame_of(block).payload["turn_id"])

        body = {"messages": [{"role": "user", "content": PROMPT}], "stream": True}
        timing = await self._stream(f"{self.session_url(place)}/turn", body, on_first)
        timing.check(plan_of(model).tokens if tokens is None else tokens)
        return timing

    async def begin(self, place: Place, model: str) -> tuple[str, asyncio.Task[Timing]]:
        """Start a turn; its id as soon as it is known, and the task that reads and checks it."""
        begun: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        reading = asyncio.create_task(self.turn(place, model, begun=begun.set_result))
        await asyncio.wait((reading, begun), return_when=asyncio.FIRST_COMPLETED)
        if not begun.done():
            reading.result()
        return await begun, reading

    async def resume(self, place: Place, turn: str, responses: Sequence[JSON], model: str) -> Timing:
        """Continue a turn with its tools' answers, streamed and checked."""
        body = {"tool_responses": responses, "stream": True}
        timing = await self._stream(f"{self.session_url(place)}/turn/{turn}/resume", body)
        timing.check(plan_of(model).tokens)
        return timing

    async def whole_turn(self, place: Place, model: str) -> float:
        """Seconds of a turn that is not streamed."""
        body = {"messages": [{"role": "user", "content": PROMPT}], "stream": False}
        began = time.monotonic()
        turn = await self.ask("POST", f"{self.session_url(place)}/turn", body)
        seconds = time.monotonic() - began
        check_answer(turn, model)
        return seconds

    # ------------------------------------------------------------------------------------- responses

    async def response(self, model: str) -> Timing:
        """A streamed response, checked as a turn is."""
        began = time.monotonic()
        body = {"model": self._model_prefix + model, "instructions": INSTRUCTIONS, "input": PROMPT, "stream": True}
        async with self.open("POST", self.responses, body) as response:
            timing = await read_stream(response, RESPONSE, began)
        timing.check(plan_of(model).tokens)
        return timing

    async def whole_response(self, model: str) -> float:
        """Seconds of a response that is not streamed."""
        body = {"model": self._model_prefix + model, "instructions": INSTRUCTIONS, "input": PROMPT}
        began = time.monotonic()
        response = await self.ask("POST", self.responses, body)
        seconds = time.monotonic() - began
        check_response(response, model)
        return seconds

    async def completion(self, endpoint: str, model: str) -> Timing:
        """A chat completion straight from a model endpoint, streamed and checked."""
        messages = [{"role": "system", "content": INSTRUCTIONS}, {"role": "user", "content": PROMPT}]
        body = {"model": model, "stream": True, "messages": messages}
        began = time.monotonic()
        async with self.open("POST", f"{endpoint}/v1/chat/completions", body) as response:
            timing = await read_stream(response, CHAT, began)
        timing.check(plan_of(model).tokens)
        return timing

    async def _stream(self, url: str, body: JSON, on_first: Callable[[bytes], None] | None = None) -> Timing:
        began = time.monotonic()
        async with self.open("POST", url, body) as response:
            return await read_stream(response, TURN, began, on_first)


def turn_of(timing: Timing) -> JSON:
    """The turn that a stream's last block carries."""
    return frame_of(timing.end).payload["turn"]


def check_answer(turn: JSON, model: str) -> None:
    """Raises Broken unless a turn ends with the very text the endpoint sent."""
    said = turn["output_message"]["content"]
    if said != answer(model):
        raise Broken(f"the turn says {str(said)[:80]!r}…, the endpoint said {answer(model)[:80]!r}…")


def check_response(response: JSON, model: str) -> None:
    """Raises Broken unless a response is complete and says the very text the endpoint sent."""
    said = response["output"][-1]["content"][0]["text"]
    if response["status"] != "completed" or said != answer(model):
        raise Broken(f"the response says {str(said)[:80]!r}…, the endpoint said {answer(model)[:80]!r}…")


def check_responses(timings: Sequence[Timing], model: str) -> None:
    """`check_response` for streams; after the measuring, as it decodes them."""
    for timing in timings:
        data = next(line for line in timing.end.split(b"\n") if line.startswith(b"data:"))
        check_response(json.loads(data[5:])["response"], model)


def check_answers(timings: Sequence[Timing], model: str) -> None:
    """`check_answer` for streams; after the measuring, as it decodes them."""
    for timing in timings:
        check_answer(turn_of(timing), model)


async def at_a_time(width: int, count: int, job: Callable[[int], Awaitable[T]]) -> list[T]:
    """``job(0)`` to ``job(count - 1)``, ``width`` at a time; the results in no order. The first
    failure ends all."""
    numbers = iter(range(count))
    results: list[T] = []

    async def worker() -> None:
        for number in numbers:
            results.append(await job(number))

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(width):
                group.create_task(worker())
    except ExceptionGroup as failed:
        raise failed.exceptions[0] from None
    return results

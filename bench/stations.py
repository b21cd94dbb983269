"""What a token costs at each station of its way through the server: ``python -m bench.stations``.

Each station is run by itself in this process, on an answer of `TOKENS` tokens, of which `READ` come with one read of
the endpoint's socket; the first reads them from a real one, as they come. A cost is CPU time by the tokens, the median
of `ROUNDS`. What a turn costs as a whole, its request and its commits with it, the case ``turns`` measures.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import msgspec

from bench import yardstick
from bench.children import Child
from bench.endpoint import chunk
from bench.models import token
from bench.report import table

if TYPE_CHECKING:
    from agents.loop.inference.base import Chunk, InferenceRequest
    from agents.loop.run import Run
    from agents.record.schemas.events import Delta, Entry

TOKENS, READ, ROUNDS = 200, 25, 60
MODEL = f"fake-{TOKENS}"


class Ready:
    """An endpoint whose chunks are there already."""

    name = "ready"

    def __init__(self, reads: Sequence[Sequence[Chunk]]) -> None:
        self._reads = reads

    async def batches(self, request: InferenceRequest) -> AsyncIterator[Sequence[Chunk]]:
        for chunks in self._reads:
            yield chunks

    async def stream(self, request: InferenceRequest) -> AsyncIterator[Chunk]:
        for chunks in self._reads:
            for one in chunks:
                yield one

    async def models(self) -> list[Any]:
        return []

    async def close(self) -> None:
        """Nothing is held open."""


def reads() -> list[bytes]:
    """The answer as the endpoint's socket gives it."""
    events = [chunk(MODEL, {"content": token(number, 5)}) for number in range(TOKENS)]
    parts = [b"".join(events[at : at + READ]) for at in range(0, TOKENS, READ)]
    return [*parts, chunk(MODEL, {}, "stop") + b"data: [DONE]\n\n"]


def per_token(work: Callable[[], object]) -> float:
    """Microseconds of CPU that some work takes for each token."""
    costs = []
    for _ in range(ROUNDS):
        began = time.process_time()
        work()
        costs.append(time.process_time() - began)
    return median(costs) * 1e6 / TOKENS


async def socket_cost() -> float:
    """The cost of a token's bytes from the socket of an endpoint, which runs in a process of its own; its part of the
    request is in it."""
    from agents.loop.inference.chat.endpoint_errors import EndpointErrors
    from agents.loop.inference.chat.timeouts import Deadlines, EndpointLimits
    from agents.loop.inference.chat.transport import Transport, now

    body = msgspec.json.encode({"model": MODEL, "stream": True, "messages": [{"role": "user", "content": "Hello"}]})
    costs = []
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        endpoint = Child([sys.executable, "-m", "bench.endpoint"], Path(folder) / "endpoint.log", env=os.environ)
        try:
            base = await endpoint.says(r"model endpoint (http://\S+)", within_s=20)
            transport = Transport(base, "", faults=EndpointErrors("bench"), connect_s=5.0)
            for _ in range(ROUNDS):
                began = time.process_time()
                incoming = await transport.post(
                    "/chat/completions", body, Deadlines(EndpointLimits(), now()), model=MODEL
                )
                while await incoming.read(started=True):
                    pass
                incoming.close()
                costs.append(time.process_time() - began)
            await transport.close()
        finally:
            await endpoint.stop()
    return median(costs) * 1e6 / TOKENS


def rows() -> list[tuple[str, float]]:
    """The stations, in order, and their costs."""
    from agents.llama_stack.stream import TurnStream
    from agents.loop.inference.chat.endpoint_errors import EndpointErrors
    from agents.loop.inference.chat.stream import ChatStream
    from agents.loop.loop import Loop
    from agents.record.bus import TurnLog
    from agents.record.schemas.delta_runs import runs_of
    from agents.record.schemas.events import START, Delta
    from agents.responses.wire.responses import ResponseHead
    from agents.responses.wire.stream import ResponseStream

    received = reads()

    def parsed() -> list[list[Chunk]]:
        stream = ChatStream(EndpointErrors("bench"))
        return [*(list(stream.feed(part)) for part in received), list(stream.end())]

    run = _run(Ready(parsed()))

    async def outputs() -> list[Any]:
        loop = Loop(run)
        return [*loop.open(), *[output async for output in loop.outputs()]]

    answered = asyncio.run(outputs())
    entries: list[Entry] = [one for each in answered for one in (each if isinstance(each, list) else [each])]
    batches: list[list[Delta]] = [each for each in answered if isinstance(each, list)]
    deltas = [one for one in entries if isinstance(one, Delta)]

    def logged() -> None:
        log = TurnLog(run.turn, START)
        seen = START
        for batch in batches:
            log.append_deltas(batch)
            for one in log.entries_after(seen, 256) or ():
                seen = (one.after, one.ordinal) if isinstance(one, Delta) else seen

    head = ResponseHead(1, run.clock(), b"{}")
    runner = asyncio.Runner()
    return [
        ("its bytes come from the endpoint's socket (`Transport`, with the request)", runner.run(socket_cost())),
        ("its event is found and decoded (`ChatStream`)", per_token(parsed)),
        ("the loop makes deltas of it (`Loop`, with the turn's own events)", per_token(lambda: runner.run(outputs()))),
        ("the log takes it, and its reader (`TurnLog`)", per_token(logged)),
        ("a frame of the Agents API (`TurnStream`)", per_token(lambda: TurnStream(1, 1).feed(entries))),
        ("a frame of the Responses API (`ResponseStream`)", per_token(lambda: ResponseStream(head).feed(entries))),
        (
            "it is stored (`runs_of`, encoded)",
            per_token(lambda: [msgspec.json.encode(one.row()) for one in runs_of(deltas)]),
        ),
    ]


def _run(endpoint: Any) -> Run:
    from agents.loop.run import Run
    from agents.record.schemas.content import UserMessage

    said = UserMessage(role="user", content="Please answer in detail.")
    return Run(
        turn=1,
        session=1,
        actor="bench",
        model=MODEL,
        inference_model=MODEL,
        inference=endpoint,
        instructions="Be brief.",
        input_messages=[said],
    )


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        os.environ |= {"DATA_DIR": folder, "DJANGO_SETTINGS_MODULE": "agentsite.settings"}
        import django

        django.setup()
        slow = yardstick.slowness().cpu
        found = rows()
    lines = [(what, f"{cost:.2f} µs", f"{cost / slow:.2f} µs") for what, cost in found]
    print("\n".join(table([("station", "CPU per token", "where the yardstick says 1"), *lines], {1, 2})))


if __name__ == "__main__":
    main()

"""What the process of the operator's functions takes of a call: the same function through a worker, and in this process
in a thread, in turn. No server is asked."""

from __future__ import annotations

import asyncio
import string
import time
from collections.abc import AsyncIterator
from statistics import median

from agents.loop.protocols.tools import ToolContext
from agents.tools.providers.function_worker import FunctionWorker
from agents.tools.providers.functions import groups
from bench.faults import Broken
from bench.figures import Row, Target, latency
from bench.stage import Stage

PATHS = {"functions": ["string:capwords"]}
CONTEXT = ToolContext("session", "turn", "bench")
WITHIN = Target(1)


async def rows(stage: Stage) -> AsyncIterator[Row]:
    worker = await asyncio.to_thread(FunctionWorker, PATHS)
    [tool] = groups(worker, PATHS)[0].tools
    there, here = [], []
    try:
        for _ in range(stage.size(3_000, 300)):
            began = time.perf_counter()
            result = await tool.call({"s": "blue kettle"}, CONTEXT)
            between = time.perf_counter()
            said = await asyncio.to_thread(string.capwords, "blue kettle")
            here.append(time.perf_counter() - between)
            there.append(between - began)
            if result.content != said:
                raise Broken(f"{said!r} is due, this came: {result}")
    finally:
        await worker.close()
    what = "call of a function of TOOL_FUNCTIONS"
    yield latency(what, "whole call", there)
    yield latency(what, "the same in a thread of this process", here)
    yield Row(what, "more for its own process", 1000 * (median(there) - median(here)), "ms", WITHIN)

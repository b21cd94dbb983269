"""A hundred thousand chunks in one vector database: how long a question takes, and whether what it asks
for is found. The vectors are the scripted ones, which know words and no meanings."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Sequence
from typing import Any

from bench.client import at_a_time
from bench.figures import FOUND, RATE, Row, Target, latency
from bench.register import Entry, entries
from bench.stage import Stage

NAME, BATCH, BEST = "bench", 500, 5


async def rows(stage: Stage) -> AsyncIterator[Row]:
    stored, asked = stage.size(100_000, 2_000), stage.size(100, 20)
    what = f"{stored:,} chunks of 384 numbers"
    register = list(entries(stored))
    began = time.monotonic()
    await _fill(stage, register)
    yield Row(f"insert {what}", "chunks", stored / (time.monotonic() - began), RATE)
    questions = register[:: stored // asked][:asked]
    first, _ = await _ask(stage, questions[0], "hybrid")
    yield Row(f"search in {what}", "first search, vectors read", first * 1000, "ms")
    for mode in ("keyword", "vector", "hybrid"):
        answers = [await _ask(stage, one, mode) for one in questions]
        target = Target(30) if stored == 100_000 else None
        yield latency(f"search in {what}", f"{mode}, best {BEST}", [seconds for seconds, _ in answers], target)
        found = sum(right for _, right in answers) / len(answers) * 100
        yield Row(
            f"search in {what}", f"{mode}, answer among the best {BEST}", found, FOUND, note=f"n = {len(answers)}"
        )
    await stage.api.ask("DELETE", f"{stage.api.base}/v1/vector-dbs/{NAME}")


async def _fill(stage: Stage, register: Sequence[Entry]) -> None:
    db = {"vector_db_id": NAME, "embedding_model": "scripted/embed", "embedding_dimension": 384}
    await stage.api.ask("POST", f"{stage.api.base}/v1/vector-dbs", db)
    parts = [register[start : start + BATCH] for start in range(0, len(register), BATCH)]

    async def insert(number: int) -> None:
        chunks = [{"content": one.text, "metadata": {"document_id": one.name}} for one in parts[number]]
        await stage.api.ask("POST", f"{stage.api.base}/v1/vector-io/insert", {"vector_db_id": NAME, "chunks": chunks})

    await at_a_time(2, len(parts), insert)


async def _ask(stage: Stage, entry: Entry, mode: str) -> tuple[float, bool]:
    """(seconds, whether the right chunk is among the best)."""
    body: dict[str, Any] = {"vector_db_id": NAME, "query": entry.question}
    body["params"] = {"max_chunks": BEST, "mode": mode}
    began = time.monotonic()
    found = await stage.api.ask("POST", f"{stage.api.base}/v1/vector-io/query", body)
    seconds = time.monotonic() - began
    return seconds, entry.name in {chunk["metadata"]["document_id"] for chunk in found["chunks"]}

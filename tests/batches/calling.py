"""Batches with OpenAI's client: their lines, and what has become of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from openai import OpenAI
from openai.types import Batch

from tests.support.live.process import eventually

MODEL = "scripted/fast"
OVER = {"completed", "failed", "cancelled", "expired"}
Line = dict[str, Any]


def chat(name: str, said: str = "!script\nsay Hello.", **more: Any) -> Line:
    body = {"model": MODEL, "messages": [{"role": "user", "content": said}], **more}
    return {"custom_id": name, "method": "POST", "url": "/v1/chat/completions", "body": body}


def upload(client: OpenAI, lines: Sequence[Line | str], purpose: Any = "batch") -> str:
    text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    return client.files.create(file=("requests.jsonl", text.encode()), purpose=purpose).id


def begin(client: OpenAI, lines: Sequence[Line | str], endpoint: Any = "/v1/chat/completions", **more: Any) -> Batch:
    file = upload(client, lines)
    return client.batches.create(input_file_id=file, endpoint=endpoint, completion_window="24h", **more)


def ended(client: OpenAI, batch: Batch) -> Batch:
    def look() -> Batch | None:
        now = client.batches.retrieve(batch.id)
        return now if now.status in OVER else None

    return eventually(look, 60)


def read(client: OpenAI, file: str | None) -> dict[str, Any]:
    """The lines of a file by their custom ids; nothing where there is no file."""
    if file is None:
        return {}
    lines = [json.loads(line) for line in client.files.content(file).text.splitlines()]
    return {line["custom_id"]: line for line in lines}


def completed(client: OpenAI, batch: Batch) -> int:
    """How many of its requests have an answer."""
    counts = client.batches.retrieve(batch.id).request_counts
    return counts.completed if counts else 0


def begun(client: OpenAI) -> list[Any]:
    """The responses of the server."""
    listed: Any = client.get("/responses?limit=5", cast_to=object)
    return list(listed["data"])

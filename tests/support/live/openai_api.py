"""What the tests of OpenAI's APIs say again and again: tools, scripts, frames as bytes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from tests.support.live.caller import Answer, Caller, script

MODEL = "scripted/fast"


def function(name: str, *parameters: str) -> dict[str, Any]:
    """A function of the client's whose parameters are texts."""
    properties = {one: {"type": "string"} for one in parameters}
    schema = {"type": "object", "properties": properties, "required": list(parameters)}
    return {"type": "function", "name": name, "description": f"Runs {name}", "parameters": schema, "strict": False}


def asked(*lines: str, **more: Any) -> dict[str, Any]:
    """The body of a request whose model performs these lines."""
    return {"model": MODEL, "input": script(*lines), **more}


def output_to(call: Any, words: str) -> dict[str, Any]:
    """What a client's function gave for a call of the SDK's."""
    return {"type": "function_call_output", "call_id": call.call_id, "output": words}


def said(text: str, role: str = "user") -> dict[str, Any]:
    return {"role": role, "content": text}


def words_of(item: Any) -> str:
    """What a message among the SDK's input items says first."""
    assert item.type == "message"
    return str(item.content[0].text)


@dataclass(frozen=True)
class Frame:
    """One event of a response's stream: its bytes, and its JSON."""

    raw: bytes
    data: dict[str, Any]

    @property
    def type(self) -> str:
        return str(self.data["type"])


def frames_of(body: bytes) -> list[Frame]:
    """The events of a whole body; comments are left out. Each has its name on a line before it."""
    assert body.endswith(b"\n\n"), body[-200:]
    out = []
    for raw in body.split(b"\n\n")[:-1]:
        if raw.startswith(b":"):
            continue
        name, data = raw.split(b"\n")
        assert name.startswith(b"event: ")
        assert data.startswith(b"data: ")
        frame = Frame(raw, json.loads(data[6:]))
        assert frame.type == name[7:].decode()
        out.append(frame)
    return out


def streamed(caller: Caller, body: dict[str, Any], **headers: str) -> list[Frame]:
    """The events of a response that is streamed to its end."""
    return frames_of(answered(caller.post("/v1/responses", {**body, "stream": True}, **headers)).body)


def answered(answer: Answer) -> Answer:
    assert answer.status == 200, answer.body
    return answer


def types(events: Sequence[Any]) -> list[str]:
    """The types of events without their first word, repeated ones once."""
    names = [event.type.removeprefix("response.") for event in events]
    return [name for place, name in enumerate(names) if place == 0 or names[place - 1] != name]


def created(caller: Caller, *lines: str, **more: Any) -> dict[str, Any]:
    """A response, not streamed."""
    return answered(caller.post("/v1/responses", asked(*lines, **more))).json  # type: ignore[no-any-return]  # an object


def text(response: dict[str, Any]) -> str:
    """The words of a response's messages."""
    messages = [item for item in response["output"] if item["type"] == "message"]
    return "".join(part.get("text", "") for item in messages for part in item["content"])


def turns(caller: Caller, query: str) -> list[dict[str, Any]]:
    """The rows of the log under a query."""
    return caller.get(f"/v1/logs/turns?limit=100&q={quote(query)}").json["data"]  # type: ignore[no-any-return]

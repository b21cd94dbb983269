"""A caller's trace goes on through a turn: into what models are asked, and into the spans that are exported."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from typing import Any

import pytest

from agents.telemetry.reading.otlp import traces_from_protobuf
from tests.support.http_endpoint import Reply, Request, answering, json_reply
from tests.support.live.caller import Caller, Talk
from tests.support.live.process import ServerProcess, eventually

pytestmark = pytest.mark.server

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
ANSWER = {"choices": [{"index": 0, "message": {"role": "assistant", "content": "Hi."}, "finish_reason": "stop"}]}


def test_model_and_exported_spans_are_of_the_callers_trace(start_server: Callable[..., ServerProcess]) -> None:
    exported: list[Any] = []
    asked: list[str] = []

    def answer(request: Request) -> Reply:
        if request.path == "/v1/traces":
            body = gzip.decompress(request.body)
            exported.extend(traces_from_protobuf(body).spans)
            return Reply()
        asked.append(f"{request.headers['traceparent']} {request.headers['tracestate']}")
        return json_reply(ANSWER)

    with answering(answer) as url:
        endpoints = json.dumps({"own": {"base_url": f"{url}/v1"}})
        server = start_server(MODEL_ENDPOINTS=endpoints, OTLP_EXPORT_ENDPOINT=url)
        talk = Talk(Caller(server.port), model="own/m")
        headers = {"traceparent": f"00-{TRACE}-{SPAN}-01", "tracestate": "vendor=1"}
        turn = talk.say("hello", **headers).json["turn_id"]
        eventually(lambda: len(exported) == 2)
        other = talk.say("hello again").json["turn_id"]
        eventually(lambda: len(exported) == 4)

    root, step, own_root, own_step = exported
    assert (root.trace, step.trace) == (TRACE, TRACE)
    assert (root.parent, root.id) == (SPAN, turn.replace("-", "")[-16:])
    assert step.parent == root.id
    assert own_root.trace == other.replace("-", "")
    assert asked == [f"00-{TRACE}-{step.id}-01 vendor=1", f"00-{own_root.trace}-{own_step.id}-01 None"]

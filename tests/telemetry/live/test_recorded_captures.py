"""What ``python -m tests.sdks --record`` writes: bytes of real senders become the captures that they are known by."""

from __future__ import annotations

import gzip
import http.client
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.sdks.recording import recording
from tests.support.live.caller import Caller, script
from tests.support.live.process import ServerProcess
from tests.telemetry.reading import captures

pytestmark = pytest.mark.server

PROTOBUF = "application/x-protobuf"


def send(server: ServerProcess, path: str, data: bytes | Iterable[bytes], **headers: str) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    connection.request("POST", path, data, {name.replace("_", "-"): value for name, value in headers.items()})
    status = connection.getresponse().status
    connection.close()
    return status


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.parametrize("path", sorted(captures.HERE.glob("*.bin")), ids=lambda path: path.stem)
def test_bytes_of_a_capture_are_recorded_as_it(server: ServerProcess, path: Path, tmp_path: Path) -> None:
    name, _, number = path.stem.rpartition(".")
    known = captures.requests(name)[int(number)]
    with recording(server) as recorded:
        assert send(server, known["path"], path.read_bytes(), Content_Type=PROTOBUF) == 200
    assert recorded.write(tmp_path / "capture.jsonl") == 1
    assert lines(tmp_path / "capture.jsonl") == [known]


def test_packed_json_in_chunks_and_forms_are_recorded(server: ServerProcess, tmp_path: Path) -> None:
    spans, form = captures.requests("vercel_ai__json")[0], captures.requests("langsmith__tool-error")[0]
    data = gzip.compress(json.dumps(spans["body"]).encode())
    boundary = "multipart/form-data; boundary=capture"
    with recording(server) as recorded:
        pieces = iter([data[:10], data[10:]])
        json_headers = {"Content_Type": "application/json", "Content_Encoding": "gzip"}
        assert send(server, "/v1/traces", pieces, **json_headers) == 200
        sent = captures.multipart(form["body"])
        assert send(server, "/langsmith/runs/multipart", sent, Content_Type=boundary) == 202
    recorded.write(tmp_path / "capture.jsonl")
    assert lines(tmp_path / "capture.jsonl") == [spans, {**form, "path": "/langsmith/runs/multipart"}]


def test_what_is_no_telemetry_passes_and_is_not_written(server: ServerProcess, tmp_path: Path) -> None:
    asked = {"model": "scripted/fast", "messages": [{"role": "user", "content": script("say Hello to you.")}]}
    port = server.port
    with recording(server) as recorded:
        assert server.port != port
        answer = Caller(server.port).post("/v1/chat/completions", {**asked, "stream": True})
    assert server.port == port
    assert b'"finish_reason":"stop"' in answer.body.rpartition(b"data: ")[2]
    assert recorded.write(tmp_path / "capture.jsonl") == 0


def test_it_leaves_out_what_tells_of_the_machine(server: ServerProcess, tmp_path: Path) -> None:
    known = captures.requests("vercel_ai__json")[0]
    body = json.loads(json.dumps(known["body"]))
    for group in body["resourceSpans"]:
        group["resource"]["attributes"] += [{"key": "host.name", "value": {"stringValue": "my-machine"}}]
        group["scopeSpans"][0]["spans"][0]["name"] = f"{Path.home()}/program.py"
    with recording(server) as recorded:
        assert send(server, "/v1/traces", json.dumps(body).encode(), Content_Type="application/json") == 200
    recorded.write(tmp_path / "capture.jsonl")
    written = (tmp_path / "capture.jsonl").read_text()
    assert "my-machine" not in written
    assert '"name":"/app/program.py"' in written

"""What senders of OpenTelemetry are told: in their own form, and never a 500."""

from __future__ import annotations

import base64
import gzip
import json
import zlib
from collections.abc import Callable
from typing import Any

import pytest
import zstandard
from django.test import Client
from google.protobuf.json_format import ParseDict
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from agents.base.access import Actor
from agents.base.models.people import User
from agents.base.store import keys
from agents.telemetry.reading.otlp import traces_from_json
from agents.telemetry.store.external import inbox
from agents.telemetry.store.external.backlog import backlog
from agents.telemetry.store.external.projector import projector
from tests.support.inprocess import collect_static
from tests.telemetry.reading import reports

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("_quiet")]

PROTOBUF, JSON = "application/x-protobuf", "application/json"
Post = Callable[..., Any]


@pytest.fixture(autouse=True)
def _static() -> None:
    collect_static()


@pytest.fixture
def post(client: Client) -> Post:
    def _post(body: bytes, kind: str = JSON, path: str = "/v1/traces", **headers: str) -> Any:
        named = {"content-type": kind} | {name.replace("_", "-"): text for name, text in headers.items()}
        return client.generic("POST", path, body, kind, headers=named)

    return _post


def body(*spans: Any) -> bytes:
    return json.dumps(reports.request(*(spans or reports.turn(1)))).encode()


def protobuf(*spans: Any) -> bytes:
    """The same as protobuf, whose JSON has ids in base64."""
    request = reports.request(*(spans or reports.turn(1)))
    for each in request["resourceSpans"][0]["scopeSpans"][0]["spans"]:
        for name in {"traceId", "spanId", "parentSpanId"} & each.keys():
            each[name] = base64.b64encode(bytes.fromhex(each[name])).decode()
    return bytes(ParseDict(request, ExportTraceServiceRequest()).SerializeToString())


def turns(client: Client, q: str = "") -> list[Any]:
    return list(client.get("/v1/logs/turns", {"q": q}).json()["data"])


def test_json_is_taken_and_shown(post: Post, client: Client) -> None:
    answer = post(body())
    assert (answer.status_code, answer.json(), answer.headers["Content-Type"]) == (200, {}, JSON)
    [turn] = turns(client)
    assert (turn["agent_name"], turn["session_name"], turn["source"]) == ("forecaster", "talk-1", "otlp")
    assert (turn["input_preview"], turn["output_preview"]) == ("How warm is it?", "It is 18 degrees.")
    assert (turn["status"], turn["duration_ms"]) == ("completed", 3000.0)
    assert turn["usage"]["input_tokens"] == 40


def test_protobuf_is_answered_in_protobuf(post: Post, client: Client) -> None:
    answer = post(protobuf(), PROTOBUF)
    assert (answer.status_code, answer.content, answer.headers["Content-Type"]) == (200, b"", PROTOBUF)
    assert len(turns(client)) == 1


@pytest.mark.parametrize(
    ("encoding", "pack"),
    [("gzip", gzip.compress), ("deflate", zlib.compress), ("zstd", zstandard.ZstdCompressor().compress)],
)
def test_it_is_unpacked(post: Post, client: Client, encoding: str, pack: Callable[[bytes], bytes]) -> None:
    assert post(pack(body()), content_encoding=encoding).status_code == 200
    assert post(pack(protobuf()), PROTOBUF, content_encoding=encoding).status_code == 200
    assert len(turns(client)) == 1


def test_what_is_found_by_words_and_values(post: Post, client: Client) -> None:
    post(body())
    queries = (
        "warm",
        "tool:weather",
        "args.city:Rome",
        "step(degrees)",
        "agent:forecaster",
        "source:otlp",
        "model:gpt-4o",
    )
    assert [len(turns(client, q)) for q in queries] == [1] * len(queries)
    assert turns(client, "snow") == []


@pytest.mark.parametrize("kind", [JSON, PROTOBUF])
def test_nothing_is_fine(post: Post, kind: str) -> None:
    assert post(b"", kind).status_code == 200
    assert post(b"", kind, "/v1/metrics").status_code == 200
    assert post(b"", kind, "/v1/logs").status_code == 200


def test_a_span_without_good_ids_is_counted(post: Post, client: Client) -> None:
    bad = {**reports.span(1, 9, "x"), "traceId": "00"}
    told = post(body(*reports.turn(1), bad)).json()["partialSuccess"]
    assert told["rejectedSpans"] == "1"
    assert told["errorMessage"]
    answer = ExportTraceServiceResponse.FromString(
        post(protobuf(*reports.turn(2), {**bad, "traceId": "00ff"}), PROTOBUF).content
    )
    assert answer.partial_success.rejected_spans == 1
    assert len(turns(client)) == 2


@pytest.mark.parametrize(
    ("given", "kind", "headers", "status"),
    [
        (b"{", JSON, {}, 400),
        (b"[]", JSON, {}, 400),
        (b'{"resourceLogs": []}', JSON, {}, 400),
        (b'{"resourceSpans": [{"scopeSpans": [{"spans": [{"attributes": {}}]}]}]}', JSON, {}, 400),
        (b"\x0a\xff", PROTOBUF, {}, 400),
        (b"{}", "text/plain", {}, 415),
        (b"{}", "", {}, 415),
        (b"{}", JSON, {"content_encoding": "br"}, 415),
        (b"{}", JSON, {"content_encoding": "gzip"}, 400),
        (gzip.compress(body(), mtime=0)[:40], JSON, {"content_encoding": "gzip"}, 400),
        (zlib.compress(b"{}")[:3], JSON, {"content_encoding": "deflate"}, 400),
        (b"{}", JSON, {"content_encoding": "zstd"}, 400),
        (b"{}", JSON, {"authorization": "Bearer ask_wrong"}, 401),
        (b"{}", JSON, {"x_api_key": "ask_wrong"}, 401),
    ],
)
def test_what_is_wrong_is_said(
    post: Post, client: Client, given: bytes, kind: str, headers: dict[str, str], status: int
) -> None:
    answer = post(given, kind, **headers)
    assert answer.status_code == status, answer.content
    assert answer.content
    if kind != PROTOBUF:
        told = answer.json()
        assert told["message"] == told["error"]["message"]
    assert turns(client) == []


@pytest.mark.parametrize("encoding", ["identity", "gzip", "zstd"])
def test_a_bomb_is_refused(post: Post, settings: Any, encoding: str) -> None:
    settings.MAX_OTLP_MB = 1
    bomb = b" " * (2 * 2**20)
    packers: dict[str, Callable[[bytes], bytes]] = {
        "gzip": gzip.compress,
        "zstd": zstandard.ZstdCompressor().compress,
        "identity": bytes,
    }
    answer = post(packers[encoding](bomb), content_encoding=encoding)
    assert (answer.status_code, answer.json()["code"]) == (413, 8)


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        (b'{"resourceSpans": [' + b"{}," * 400_000 + b"{}]}", JSON),
        (b'{"resourceSpans": [{"x": [' + b"1," * 3_000_000 + b"1]}]}", JSON),
        (b"\x0a\x00" * 1_000_000, PROTOBUF),
    ],
)
def test_so_are_many_empty_values(post: Post, given: bytes, kind: str) -> None:
    assert post(given, kind).status_code == 413


@pytest.mark.parametrize(
    "header",
    [
        lambda key: {"authorization": f"Bearer {key}"},
        lambda key: {"authorization": f"Bearer%20{key}"},
        lambda key: {"authorization": "Basic " + base64.b64encode(f"pk:{key}".encode()).decode()},
        lambda key: {"x_api_key": key},
        lambda key: {"api_key": key},
    ],
)
def test_a_key_is_found_where_senders_put_it(
    post: Post, settings: Any, make_user: Callable[..., Actor], header: Callable[[str], dict[str, str]]
) -> None:
    settings.REQUIRE_LOGIN = True
    assert post(body()).status_code == 401
    owner = make_user("sender")
    writing, reading = (keys.create(owner, name=name, actions=[name])[1] for name in ("ingest", "read"))
    assert post(body(), **header(writing)).status_code == 200
    assert post(body(), **header(reading)).status_code == 403


def test_who_has_too_much_waiting_is_told_to_come_later(post: Post, client: Client, settings: Any) -> None:
    settings.MAX_SPANS_WAITING = 10
    spans = traces_from_json(reports.request(*(each for trace in (1, 2, 3) for each in reports.turn(trace)))).spans
    inbox.accept(keys.local(), spans)
    backlog.reset()
    for answer in (post(body()), post(protobuf(), PROTOBUF)):
        assert (answer.status_code, answer["Retry-After"]) == (429, "5")
    assert post(body()).json()["error"]["code"] == "too_many_spans"
    ben = keys.of_user(User.objects.create_user("ben"))
    secret = keys.create(ben, name="a key", actions=["ingest"])[1]
    settings.MAX_SPANS_WAITING = len(spans) + 5
    assert post(body(*reports.turn(4)), authorization=f"Bearer {secret}").status_code == 200
    projector.wake()
    backlog.reset()
    assert post(body(*reports.turn(5))).status_code == 200
    assert len(turns(client)) == 5

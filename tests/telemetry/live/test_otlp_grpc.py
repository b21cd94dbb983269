"""Reports over gRPC to a server process: taken as over HTTP, and refused with the status that gRPC has for it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from grpc import Compression, StatusCode
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

from tests.support.live.caller import Caller
from tests.support.live.grpc_sender import LOGS, METRICS, TRACES, GrpcSender, connected, report
from tests.support.live.grpc_sender import outcome as outcome_of
from tests.support.live.process import ServerProcess, eventually, running
from tests.support.postgresql import free_port
from tests.telemetry.reading import reports

pytestmark = pytest.mark.server

MIB = 2**20
KEYS = """
from agents.base.store import keys
for name, action in (("reporter", "ingest"), ("reader", "read")):
    print(keys.create(keys.local(), name=name, actions=[action])[1])
"""
UNKNOWN = "ask_0000000000000000000000"


@dataclass(frozen=True)
class GrpcProcess:
    """A server with a port for gRPC."""

    http: ServerProcess
    port: int

    def found(self, words: str) -> list[Any]:
        q = f"source:otlp%20%22{words.replace(' ', '%20')}%22"
        return list(Caller(self.http.port).get(f"/v1/logs/turns?q={q}").json["data"])


Start = Callable[..., GrpcProcess]


@pytest.fixture
def start_grpc(start_server: Callable[..., ServerProcess]) -> Start:
    def start(**environment: str) -> GrpcProcess:
        port = free_port()
        return GrpcProcess(start_server(OTLP_GRPC_PORT=str(port), **environment), port)

    return start


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory, data: Path) -> Iterator[GrpcProcess]:
    """One on this machine alone, where nobody needs a key, and a report holds a mebibyte."""
    port, folder = free_port(), tmp_path_factory.mktemp("grpc")
    with running(folder, {"OTLP_GRPC_PORT": str(port), "MAX_OTLP_MB": "1"}, data=data) as process:
        yield GrpcProcess(process, port)


@pytest.fixture
def sender(serving: GrpcProcess) -> Iterator[GrpcSender]:
    with connected(serving.port) as one:
        yield one


@pytest.fixture(scope="module")
def guarded_grpc(tmp_path_factory: pytest.TempPathFactory, data: Path) -> Iterator[tuple[GrpcProcess, list[str]]]:
    """One that asks for keys, and two of them: one may report, one may read."""
    port, folder = free_port(), tmp_path_factory.mktemp("grpc-with-keys")
    with running(folder, {"OTLP_GRPC_PORT": str(port), "REQUIRE_LOGIN": "true"}, data=data) as process:
        yield GrpcProcess(process, port), process.shell(KEYS).splitlines()[-2:]


def refused(page: str) -> dict[tuple[str, int], str]:
    """The reasons on ``/connect/`` by address and status."""
    row = re.compile(r'<code>([^<]+)</code></th>\s*<td class="number">(\d+)</td>\s*<td class="reason"><bdi>([^<]*)')
    return {(path, int(status)): reason for path, status, reason in row.findall(page.partition("table refused")[2])}


# ------------------------------------------------------------------------------------------- taken in


@pytest.mark.parametrize("compression", [Compression.NoCompression, Compression.Gzip])
def test_the_official_exporter_reports_a_turn(serving: GrpcProcess, compression: Compression) -> None:
    exporter = OTLPSpanExporter(f"http://127.0.0.1:{serving.port}", insecure=True, compression=compression)
    provider, words = TracerProvider(), f"exported with {compression.name}"
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    named = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "forecaster"}
    messages = {"gen_ai.input.messages": reports.text("user", words)}
    with provider.get_tracer("test").start_as_current_span("invoke_agent", attributes={**named, **messages}):
        pass
    provider.shutdown()
    [turn] = eventually(lambda: serving.found(words))
    assert (turn["agent_name"], turn["input_preview"]) == ("forecaster", words)


def test_a_report_is_the_turn_that_it_is_over_http(serving: GrpcProcess, sender: GrpcSender) -> None:
    spans = reports.turn(500, "asked of both")
    assert sender.send(report(*spans)).message == b""
    [turn] = eventually(lambda: serving.found("asked of both"))
    assert Caller(serving.http.port).post("/v1/traces", reports.request(*spans)).json == {}
    assert serving.found("asked of both") == [turn]  # each span is stored once, whichever way it comes


def test_what_is_rejected_is_told_as_partial_success(sender: GrpcSender) -> None:
    bad = {**reports.span(1, 9, "x"), "traceId": "00"}
    outcome = sender.send(report(*reports.turn(501), bad))
    assert outcome.code == StatusCode.OK
    partial_success = ExportTraceServiceResponse.FromString(outcome.message).partial_success
    assert partial_success.rejected_spans == 1
    assert partial_success.error_message


@pytest.mark.parametrize("path", [TRACES, LOGS, METRICS])
def test_an_empty_report_is_fine(sender: GrpcSender, path: str) -> None:
    outcome = sender.send(b"", path)
    assert (outcome.code, outcome.message) == (StatusCode.OK, b"")
    assert outcome.metadata["x-request-id"]


def test_metrics_are_dropped(sender: GrpcSender) -> None:
    assert sender.send(b"\x0a\x02\x12\x00", METRICS).code == StatusCode.OK


def test_a_call_keeps_its_request_id_and_is_counted(serving: GrpcProcess, sender: GrpcSender) -> None:
    outcome = sender.with_metadata(x_request_id="of-the-sender").send(b"")
    assert outcome.metadata["x-request-id"] == "of-the-sender"
    figures = Caller(serving.http.port).get("/metrics").body.decode()
    assert 'turnlog_http_requests_total{route="api/ingest",status="200"}' in figures


# -------------------------------------------------------------------------------------------- refused


def test_what_is_no_report_is_refused(serving: GrpcProcess, sender: GrpcSender) -> None:
    outcome = sender.send(report(*reports.turn(502))[:-3])
    assert outcome.code == StatusCode.INVALID_ARGUMENT
    assert "protobuf" in outcome.details
    assert outcome.retry_after_s is None
    page = Caller(serving.http.port).get("/connect/").body.decode()
    assert refused(page)[TRACES, 400] == outcome.details


@pytest.mark.parametrize("packed", [False, True])
def test_a_large_report_is_taken_and_a_larger_refused(serving: GrpcProcess, sender: GrpcSender, packed: bool) -> None:
    trace = 503 + packed
    asked = f"large {trace}"
    large = report(*reports.turn(trace, asked, note="x" * (MIB // 2)))
    assert sender.send(large, packed=packed).code == StatusCode.OK
    assert eventually(lambda: serving.found(asked))
    outcome = sender.send(report(*reports.turn(600, note="x" * 2 * MIB)), packed=packed)
    assert (outcome.code, outcome.retry_after_s) == (StatusCode.RESOURCE_EXHAUSTED, None)
    counted = eventually(
        lambda: refused(Caller(serving.http.port).get("/connect/").body.decode()).get((TRACES, 413), "")
    )
    assert "larger than 1 MiB when it is unpacked" in counted


def test_a_bomb_takes_no_memory(serving: GrpcProcess, sender: GrpcSender) -> None:
    def peak() -> int:
        [line] = re.findall(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{serving.http.pid}/status").read_text())
        return int(line) // 1024

    before = peak()
    assert sender.send(bytes(300 * MIB), packed=True).code == StatusCode.RESOURCE_EXHAUSTED
    assert peak() < before + 50


def test_no_message_and_unknown_calls_are_refused(sender: GrpcSender) -> None:
    assert outcome_of(sender.begin_stream([])).code == StatusCode.RESOURCE_EXHAUSTED
    for path in (f"{TRACES}All", "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export"):
        assert sender.send(b"", path).code == StatusCode.UNIMPLEMENTED


def test_keys_come_as_over_http(guarded_grpc: tuple[GrpcProcess, list[str]]) -> None:
    serving, [reporter, reader] = guarded_grpc
    sent = report(*reports.turn(700))
    cases: list[tuple[Mapping[str, str], StatusCode]] = [
        ({}, StatusCode.UNAUTHENTICATED),
        ({"authorization": f"Bearer {UNKNOWN}"}, StatusCode.UNAUTHENTICATED),
        ({"x_api_key": UNKNOWN}, StatusCode.UNAUTHENTICATED),
        ({"authorization": f"Bearer {reader}"}, StatusCode.PERMISSION_DENIED),
        ({"authorization": f"Bearer {reporter}"}, StatusCode.OK),
        ({"x_api_key": reporter}, StatusCode.OK),
    ]
    with connected(serving.port) as sender:
        outcomes = [sender.with_metadata(**metadata).send(sent) for metadata, _ in cases]
    assert [outcome.code for outcome in outcomes] == [code for _, code in cases]
    assert "API key" in outcomes[0].details
    assert f"report refused: key=no valid key path={TRACES} status=401" in serving.http.log
    assert f"(reader) path={TRACES} status=403" in serving.http.log


def test_who_may_not_report_is_told_before_its_message_is_read(
    guarded_grpc: tuple[GrpcProcess, list[str]],
) -> None:
    """Even of a message that is too large for anyone."""
    serving, [_, reader] = guarded_grpc
    with connected(serving.port, authorization=f"Bearer {reader}") as sender:
        outcome = sender.send(bytes(21 * MIB))
    assert outcome.code == StatusCode.PERMISSION_DENIED


def test_too_many_spans_are_to_be_sent_again(start_grpc: Start) -> None:
    serving = start_grpc(MAX_SPANS_WAITING="1")
    with connected(serving.port) as sender:
        traces = iter(range(800, 900))

        def limited() -> Any:
            outcome = sender.send(report(*reports.turn(next(traces))))
            return outcome if outcome.code != StatusCode.OK else None

        outcome = eventually(limited)
        assert outcome.code == StatusCode.RESOURCE_EXHAUSTED
        assert "of your spans wait" in outcome.details
        assert outcome.retry_after_s == 5
    assert f"path={TRACES} status=429" in serving.http.log

"""Turns that end are told to a collector: once, again where it was busy, and never in a turn's way."""

from __future__ import annotations

import asyncio
import gzip
import logging
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from django.core.exceptions import ImproperlyConfigured
from django.db import connection
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from agents.base import ids, tracing
from agents.base.access import Actor
from agents.base.store.writer import writer
from agents.record.models.choices import Source
from agents.record.models.turns import Turn, TurnBody
from agents.record.store import tags
from agents.telemetry.reading.otlp import traces_from_json, traces_from_protobuf
from agents.telemetry.runner import otlp_export
from agents.telemetry.runner.background import exporter
from agents.telemetry.runner.otlp_export import OtlpExporter, endpoint_of, headers_of
from agents.telemetry.store.external import inbox
from agents.telemetry.store.external.projector import projector
from tests.conftest import Clock
from tests.support.builders import make_turn
from tests.telemetry.reading import reports

Answer = tuple[int, dict[str, str], bytes]
FINE: Answer = (200, {}, b"")


class Collector:
    """Takes what comes, and answers as it is told; the last answer is given again."""

    def __init__(self, answers: Sequence[Answer]) -> None:
        self.answers = list(answers)
        self.taken: list[list[Any]] = []
        self.headers: list[dict[str, str]] = []
        self.came = asyncio.Event()
        self.app = web.Application()
        self.app.router.add_post("/v1/traces", self._take)

    async def _take(self, request: web.Request) -> web.Response:
        body = await request.read()
        # aiohttp's server has unpacked it
        body = gzip.decompress(body) if body[:2] == b"\x1f\x8b" else body
        self.taken.append(traces_from_protobuf(body).spans)
        self.headers.append(dict(request.headers))
        status, headers, content = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if not self.answers[1:] or status == 200:
            self.came.set()
        return web.Response(status=status, headers=headers, body=content)


Told = Callable[..., Collector]


@pytest.fixture
def told(run_async: Callable[[Any], Any], clock: Clock) -> Told:
    """What a collector got of what functions do, and after ``each`` before the next one."""

    def tell(
        *acts: Callable[[], Any],
        answers: Sequence[Answer] = (FINE,),
        header: str = "",
        reported: bool = False,
        each: bool = False,
    ) -> Collector:
        async def go() -> Collector:
            collector = Collector(answers)
            async with TestServer(collector.app) as server:
                url = str(server.make_url("/"))
                exporter = OtlpExporter(url, headers_of(header), reported=reported, pause_s=0.0)
                exporter.start()
                try:
                    for act in acts:
                        await asyncio.to_thread(_closing, act)
                        if each:
                            await asyncio.wait_for(collector.came.wait(), 10)
                            collector.came.clear()
                    if not each:
                        await asyncio.wait_for(collector.came.wait(), 10)
                finally:
                    await exporter.stop()
            return collector

        found: Collector = run_async(go())
        return found

    return tell


def _closing(act: Callable[[], Any]) -> None:
    try:
        act()
    finally:
        connection.close()


def test_a_turn_is_told_when_it_ended(admin: Actor, told: Told) -> None:
    collector = told(lambda: make_turn(admin, "say Hello."), header="Authorization=Bearer%20secret, x-team=a%2Cb")
    [spans] = collector.taken
    assert [span.name for span in spans] == ["invoke_agent scripted/fast", "chat scripted/fast"]
    assert not any(name.startswith("agents.turn") for name in spans[0].attributes)
    assert collector.headers[0]["Authorization"] == "Bearer secret"
    assert collector.headers[0]["x-team"] == "a,b"


def test_only_what_ended_here_is_told_and_once(admin: Actor, told: Told) -> None:
    def acts() -> None:
        inbox.accept(admin, traces_from_json(reports.request(*reports.turn(1))).spans)
        projector.wake()
        make_turn(admin, "say never", upto=2)
        made = make_turn(admin, "say Hello.")
        writer.write(lambda: tags.add(["vip"], turns=[made.turn]))

    collector = told(acts)
    assert len([span for spans in collector.taken for span in spans if not span.parent]) == 1
    assert Source.NATIVE.value == 1


def test_reported_turns_are_told_in_their_trace_once_nothing_more_of_them_comes(
    admin: Actor, told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(otlp_export, "SETTLE_S", 0.5)
    first, *others = reports.turn(1)

    def acts() -> None:
        for some in ([first], others):
            inbox.accept(admin, traces_from_json(reports.request(*some)).spans)
            projector.wake()

    [spans] = told(acts, reported=True).taken
    assert {span.trace for span in spans} == {f"{1:032x}"}
    assert [span.name for span in spans] == [
        "invoke_agent forecaster",
        "chat gpt-4o",
        "execute_tool weather",
        "chat gpt-4o",
    ]
    assert [span.parent for span in spans] == ["", *[spans[0].id] * 3]


def test_a_reported_turn_is_told_again_only_when_more_of_it_has_come(
    admin: Actor, told: Told, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(otlp_export, "SETTLE_S", 0.0)
    inbox.accept(admin, traces_from_json(reports.request(*reports.turn(1))).spans)
    projector.wake()
    [turn] = Turn.objects.unscoped("test").values_list("pk", flat=True)
    names = iter("abcd")

    def tag() -> None:
        writer.write(lambda: tags.add([next(names)], turns=[turn]))

    def tag_and_another() -> None:
        tag()
        make_turn(admin, "say Hello.")

    def more() -> None:
        late = reports.span(1, 9, "chat m", parent=4, gen_ai__operation__name="chat")
        inbox.accept(admin, traces_from_json(reports.request(late)).spans)
        projector.wake()

    assert [len(spans) for spans in told(tag, tag_and_another, more, reported=True, each=True).taken] == [4, 2, 5]
    clock.pass_s(3600)

    def tag_and_report() -> None:
        tag()
        inbox.accept(admin, traces_from_json(reports.request(*reports.turn(2))).spans)
        projector.wake()

    started_later = told(tag_and_report, reported=True)
    assert {span.trace for spans in started_later.taken for span in spans} == {f"{2:032x}"}


def test_what_a_server_like_this_one_tells_is_not_told_on(
    admin: Actor, told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(otlp_export, "SETTLE_S", 0.0)
    [spans] = told(lambda: make_turn(admin, "say Hello.")).taken
    Turn.objects.unscoped("test").delete()

    def acts() -> None:
        inbox.accept(admin, spans)
        projector.wake()
        make_turn(admin, "say Bye.")

    collector = told(acts, reported=True)
    assert Turn.objects.unscoped("test").count() == 2
    assert len([span for spans in collector.taken for span in spans if not span.parent]) == 1


def test_a_turn_that_cannot_be_told_keeps_no_other_back(
    admin: Actor, told: Told, caplog: pytest.LogCaptureFixture
) -> None:
    broken, sound = make_turn(admin, "say Lost."), make_turn(admin, "say Hello.")
    TurnBody.objects.unscoped("test").filter(pk=broken.turn).update(input_messages="{")
    with caplog.at_level(logging.ERROR, logger="agents.telemetry.runner.otlp_export"):
        collector = told(lambda: writer.write(lambda: tags.add(["vip"], turns=[broken.turn, sound.turn])))
    [spans] = collector.taken
    assert spans[0].trace == tracing.digits(ids.public(ids.Kind.TURN, sound.turn))
    [_] = [record for record in caplog.records if ids.public(ids.Kind.TURN, broken.turn) in record.getMessage()]


def test_what_a_busy_collector_refused_is_sent_again(admin: Actor, told: Told) -> None:
    busy: list[Answer] = [(503, {"Retry-After": "0"}, b""), (429, {}, b""), (502, {"Retry-After": "soon"}, b"")]
    busy += [(503, {"Retry-After": "²"}, b""), FINE]  # a digit to some
    collector = told(lambda: make_turn(admin, "say Hello."), answers=busy)
    assert len(collector.taken) == 5
    assert collector.taken[0] == collector.taken[4]


def test_what_it_refuses_for_good_is_said_once(admin: Actor, told: Told, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="agents.telemetry.runner.otlp_export"):
        collector = told(lambda: make_turn(admin), lambda: make_turn(admin), answers=[(401, {}, b"")])
    assert 1 <= len(collector.taken) <= 2
    # the tests' database in memory may be locked when the second turn is read, which is said, too
    [_] = [record.message for record in caplog.records if "it answered 401: " in record.message]


def test_what_it_took_only_in_part_is_said(admin: Actor, told: Told, caplog: pytest.LogCaptureFixture) -> None:
    answer = ExportTraceServiceResponse()
    answer.partial_success.rejected_spans = 2
    answer.partial_success.error_message = "too old"
    with caplog.at_level(logging.WARNING, logger="agents.telemetry.runner.otlp_export"):
        told(lambda: make_turn(admin), answers=[(200, {}, answer.SerializeToString())])
    assert "it rejected 2 spans: too old" in caplog.text


def test_a_collector_that_is_not_there_holds_nothing_up(
    admin: Actor, run_async: Callable[[Any], Any], clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    async def go() -> None:
        exporter = OtlpExporter("http://127.0.0.1:9", {}, pause_s=0.0)
        exporter.start()
        await asyncio.to_thread(_closing, lambda: make_turn(admin))
        await exporter.stop()

    with caplog.at_level(logging.WARNING, logger="agents.telemetry.runner.otlp_export"):
        run_async(go())
    assert "it cannot be reached" in caplog.text


def test_long_values_are_cut(admin: Actor, told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(otlp_export, "MAX_ATTRIBUTE_CHARS", 40)
    collector = told(lambda: make_turn(admin, f"say {'x' * 500}"))
    assert max(len(str(value)) for span in collector.taken[0] for value in span.attributes.values()) == 40


def test_settings_that_cannot_work_are_named(settings: Any) -> None:
    settings.OTLP_EXPORT_ENDPOINT, settings.OTLP_EXPORT_HEADERS = "", ""
    assert exporter() is None
    settings.OTLP_EXPORT_ENDPOINT = "collector:4318"
    with pytest.raises(ImproperlyConfigured, match="OTLP_EXPORT_ENDPOINT: an address"):
        exporter()
    settings.OTLP_EXPORT_ENDPOINT, settings.OTLP_EXPORT_HEADERS = "http://collector:4318", "secret"
    with pytest.raises(ImproperlyConfigured, match="OTLP_EXPORT_HEADERS: write name=value"):
        exporter()
    assert endpoint_of("http://c:4318/") == endpoint_of("http://c:4318/v1/traces") == "http://c:4318/v1/traces"

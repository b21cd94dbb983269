"""Exports turns to an OpenTelemetry collector as they end: OTLP over HTTP, protobuf.

A turn never waits for it: the writer only notifies of a changed turn; a task of its own collects those that ended,
reads them and sends them. Turns that other programs report are sent, if they are wanted, once nothing more of them has
come for a while, in the trace that they were reported in, and again when more comes.

Retries follow the OTLP specification: after 429, 502, 503, 504 and broken connections, with growing pauses or as
``Retry-After`` says. Spans that cannot be delivered are dropped, with one line in the log until a request succeeds
again.
"""

from __future__ import annotations

import asyncio
import gzip
import logging
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from itertools import islice
from urllib.parse import unquote, urlsplit

import aiohttp
from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from agents.base import ids, loop_calls
from agents.base.access import system
from agents.base.errors import NotFound
from agents.base.models.changes import ChangeKind
from agents.base.reading import read
from agents.base.store import changes
from agents.record.models.choices import Source
from agents.record.store import turn_records
from agents.telemetry.store.external import ended_reports
from agents.telemetry.wire import otlp, otlp_encoding
from agents.telemetry.wire.otlp import OtlpSpan

log = logging.getLogger(__name__)

RETRIED_STATUSES = frozenset({429, 502, 503, 504})
MAX_WAITING_TURNS = 10_000
"""Turns that may wait to be sent; turns that end while there are so many are dropped."""
SETTLE_S = 10.0
"""How long nothing more of a reported turn must have come: its spans arrive in several requests."""
TURNS_PER_READ = 50
"""Turns that are read at once."""
MAX_SPANS_PER_REQUEST = 512
"""Spans of one request, but for a turn that has more by itself."""
MAX_ATTRIBUTE_CHARS = 2**20
"""Characters of one attribute; files and tools can return far more than a collector accepts."""
FIRST_PAUSE_S, MAX_PAUSE_S = 1.0, 32.0
GIVE_UP_AFTER_S = 300.0
"""How long one request is retried."""
TIMEOUT_S = 10.0
MAX_EXPORTED_TURNS = 10_000

EndedAmong = Callable[[Sequence[int], int], Mapping[int, object]]
"""Returns those of these turns that have ended, from a moment on, each with what changes when it is to be sent
again."""


def endpoint_of(address: str) -> str:
    """The URL for traces: the collector's address with OTLP's path, unless it has that already. Raises ValueError."""
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("an address such as http://collector:4318 is needed")
    base = address.rstrip("/")
    return base if base.endswith("/v1/traces") else f"{base}/v1/traces"


def headers_of(setting: str) -> dict[str, str]:
    """Parse ``name=value,name=value``, percent-encoded as in OpenTelemetry's own settings. Raises ValueError."""
    headers = {}
    for pair in filter(None, map(str.strip, setting.split(","))):
        name, is_pair, value = pair.partition("=")
        name, value = unquote(name).strip(), unquote(value).strip()
        if not is_pair or not name or not (name + value).isprintable():
            raise ValueError("write name=value,name=value")
        headers[name] = value
    return headers


class OtlpExporter:
    """Sends ended turns to a collector: those that run here, and those that other programs ``reported``, if these are
    wanted. `start` it on the loop of the server; `stop` gives it a few seconds for the turns that still wait."""

    def __init__(
        self, endpoint: str, headers: Mapping[str, str], *, reported: bool = False, pause_s: float = FIRST_PAUSE_S
    ) -> None:
        self._url = endpoint_of(endpoint)
        self._headers = {**headers, "Content-Type": "application/x-protobuf", "Content-Encoding": "gzip"}
        self._pause_s = pause_s
        self._takes_reported = reported
        self._waiting: dict[int, None] = {}
        self._settling: dict[int, float] = {}
        """When those turns that may be reported ones are sent, the next one first."""
        self._exported: dict[int, object] = {}
        self._has_complained = False
        self._unsubscribe: Callable[[], None] = lambda: None
        self._since = ids.now_us()

    def start(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._wakeup, self._stopping = asyncio.Event(), asyncio.Event()
        self._unsubscribe = changes.listen(self._on_change)
        self._task = self._loop.create_task(self._run())

    async def stop(self, seconds: float = 3.0) -> None:
        """Try once more to send the waiting turns, for at most ``seconds``."""
        self._unsubscribe()
        self._stopping.set()
        self._wakeup.set()
        with suppress(TimeoutError):
            await asyncio.wait_for(self._task, seconds)

    # -------------------------------------------------------------------------------------- what ended

    def _on_change(self, changed: changes.ChangeBatch) -> None:
        """Queue the changed turns. Called on the writer's thread."""
        keys = [key for kind, key in changed.records if kind == ChangeKind.TURN]
        if keys:
            loop_calls.call_soon(self._loop, self._enqueue, keys)

    def _enqueue(self, keys: Iterable[int]) -> None:
        for key in keys:
            if len(self._waiting) >= MAX_WAITING_TURNS and key not in self._waiting:
                self._complain("more turns ended than it takes: some are left out")
                return
            self._waiting[key] = None
            if self._takes_reported:
                self._settling.pop(key, None)
                self._settling[key] = self._loop.time() + SETTLE_S
        self._wakeup.set()
        if self._takes_reported:
            self._loop.call_later(SETTLE_S, self._wakeup.set)

    def _settled(self) -> list[int]:
        """Take the next turns that may be reported ones and have settled: all of them when the exporter stops."""
        now = self._loop.time()
        keys = [
            key for key, at in islice(self._settling.items(), TURNS_PER_READ) if self._stopping.is_set() or at <= now
        ]
        for key in keys:
            del self._settling[key]
        return keys

    def _requests(self, keys: list[int], ended_among: EndedAmong) -> list[tuple[int, bytes]]:
        """The requests for those of these turns that ended, as (number of spans, body). Runs off the loop."""
        requests = []
        ended = ended_among(keys, self._since)
        for batch in _batches(self._spans(ended)):
            body = gzip.compress(otlp_encoding.as_protobuf(batch), 1)
            requests.append((len(batch), body))
        self._remember(ended)
        return requests

    def _spans(self, ended: Mapping[int, object]) -> Iterator[list[OtlpSpan]]:
        for key, version in ended.items():
            if self._exported.get(key) == version:
                continue  # only a tag or feedback is new
            try:
                turn = turn_records.read(system("export"), key)
                trace = "" if turn.source == Source.NATIVE.label else ended_reports.trace_of(key)
                yield [_shorten(span) for span in otlp.spans(turn, trace=trace)]
            except NotFound:
                continue  # deleted meanwhile
            except Exception:  # logged: the other turns of this batch are sent all the same
                log.exception("turn=%s cannot be told", ids.public(ids.Kind.TURN, key))

    def _remember(self, ended: Mapping[int, object]) -> None:
        self._exported |= ended
        for key in list(self._exported)[: max(0, len(self._exported) - MAX_EXPORTED_TURNS)]:
            del self._exported[key]

    # -------------------------------------------------------------------------------------- sending

    async def _run(self) -> None:
        timeout = aiohttp.ClientTimeout(total=TIMEOUT_S)
        async with aiohttp.ClientSession(headers=self._headers, timeout=timeout) as http:
            while not (self._stopping.is_set() and not self._waiting and not self._settling):
                await self._wakeup.wait()
                self._wakeup.clear()
                await self._wait(self._pause_s)
                try:
                    await self._send(http)
                except Exception:  # logged; one turn that cannot be sent must not end the export of all others
                    log.exception("turns could not be told to %s", self._url)

    async def _send(self, http: aiohttp.ClientSession) -> None:
        while self._waiting:
            keys = list(self._waiting)[:TURNS_PER_READ]
            for key in keys:
                del self._waiting[key]
            await self._send_ended(http, keys, turn_records.ended_here)
        while keys := self._settled():
            await self._send_ended(http, keys, ended_reports.ended)

    async def _send_ended(self, http: aiohttp.ClientSession, keys: list[int], ended_among: EndedAmong) -> None:
        for count, body in await read(self._requests, keys, ended_among):
            await self._deliver(http, count, body)

    async def _deliver(self, http: aiohttp.ClientSession, count: int, body: bytes) -> None:
        deadline, pause = self._loop.time() + GIVE_UP_AFTER_S, self._pause_s
        while True:
            problem, retry_after = await self._post(http, body)
            if not problem:
                return
            delay = pause * random.uniform(0.8, 1.2) if retry_after is None else retry_after  # noqa: S311 - spreads the attempts of many servers, guards nothing
            if retry_after == _NEVER or self._stopping.is_set() or self._loop.time() + delay > deadline:
                self._complain(f"{problem}: {count} spans are dropped")
                return
            await self._wait(delay)
            pause = min(pause * 2, MAX_PAUSE_S)

    async def _post(self, http: aiohttp.ClientSession, body: bytes) -> tuple[str, float | None]:
        """Send one request; returns the problem, '' if there is none, and the seconds until a retry (None: as
        usual)."""
        try:
            async with http.post(self._url, data=body, allow_redirects=False) as response:
                content = await response.content.read(64 * 1024)
                if response.status // 100 == 2:
                    self._on_success(content)
                    return "", None
                can_retry = response.status in RETRIED_STATUSES
                retry_after = _retry_after(response.headers.get("Retry-After")) if can_retry else _NEVER
                return f"it answered {response.status}", retry_after
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            return f"it cannot be reached ({type(error).__name__})", None

    def _on_success(self, content: bytes) -> None:
        if self._has_complained:
            self._has_complained = False
            log.warning("turns reach %s again", self._url)
        response = ExportTraceServiceResponse()
        with suppress(DecodeError):
            response.ParseFromString(content)
        if response.partial_success.rejected_spans:
            rejection = response.partial_success
            self._complain(f"it rejected {rejection.rejected_spans} spans: {rejection.error_message[:200]}")

    def _complain(self, problem: str) -> None:
        """Log a problem, once until a request succeeds."""
        if not self._has_complained:
            self._has_complained = True
            log.warning("turns are not told to %s: %s", self._url, problem)

    async def _wait(self, seconds: float) -> None:
        """Wait so long, or until the exporter stops."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._stopping.wait(), seconds)


_NEVER = -1.0
"""The pause that stands for no retry."""


def _retry_after(header: str | None) -> float | None:
    """The seconds until a retry, from a header with seconds or a date; None where it has neither."""
    if not header:
        return None
    if header.isascii() and header.strip().isdigit():
        return min(float(header), GIVE_UP_AFTER_S)
    try:
        date = parsedate_to_datetime(header)
    except (ValueError, TypeError):
        return None
    remaining = (date.replace(tzinfo=date.tzinfo or UTC) - datetime.now(UTC)).total_seconds()
    return min(max(remaining, 0.0), GIVE_UP_AFTER_S)


def _batches(turns: Iterable[list[OtlpSpan]]) -> Iterator[list[OtlpSpan]]:
    batch: list[OtlpSpan] = []
    for spans in turns:
        if batch and len(batch) + len(spans) > MAX_SPANS_PER_REQUEST:
            yield batch
            batch = []
        batch += spans
    if batch:
        yield batch


def _shorten(span: OtlpSpan) -> OtlpSpan:
    long = {name: value[:MAX_ATTRIBUTE_CHARS] for name, value in span.attributes.items() if _is_long(value)}
    return replace(span, attributes={**span.attributes, **long}) if long else span


def _is_long(value: object) -> bool:
    return isinstance(value, str) and len(value) > MAX_ATTRIBUTE_CHARS

"""Turns that end here, told to a collector of OpenTelemetry as they end: OTLP over HTTP, protobuf.

A turn never waits for it: the writer only says that a turn changed; a task of its own gathers those that ended, reads
them and sends them. What is tried again, and when, is what the OTLP specification says: after 429, 502, 503, 504 and
broken connections, with growing pauses or as ``Retry-After`` says. What cannot be delivered is dropped, with one
line in the log until something arrives again.
"""

from __future__ import annotations

import asyncio
import gzip
import logging
import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from urllib.parse import unquote, urlsplit

import aiohttp
from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from agents.base import ids
from agents.base.access import system
from agents.base.errors import NotFound
from agents.base.models.changes import ChangeKind
from agents.base.reading import read
from agents.base.store import changes
from agents.record.store import turn_records
from agents.telemetry.wire import otlp, otlp_encoding
from agents.telemetry.wire.otlp import OtlpSpan

log = logging.getLogger(__name__)

AGAIN = frozenset({429, 502, 503, 504})
MOST = 10_000
"""Turns that wait to be sent; those that end while there are so many are dropped."""
AT_ONCE = 50
"""Turns that are read for one look."""
SPANS = 512
"""Spans of one request, but for a turn that has more by itself."""
LONGEST = 2**20
"""Characters of one attribute; files and tools can give far more than a collector takes."""
FIRST_PAUSE_S, LONGEST_PAUSE_S = 1.0, 32.0
PATIENCE_S = 300.0
"""How long one request is tried again."""
TIMEOUT_S = 10.0
REMEMBERED = 10_000


def endpoint_of(given: str) -> str:
    """Where traces go: the collector's address with OTLP's path, unless it has that already. Raises ValueError."""
    parts = urlsplit(given)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("an address such as http://collector:4318 is needed")
    base = given.rstrip("/")
    return base if base.endswith("/v1/traces") else f"{base}/v1/traces"


def headers_of(given: str) -> dict[str, str]:
    """``name=value,name=value``, percent-encoded as in OpenTelemetry's own settings. Raises ValueError."""
    found = {}
    for pair in filter(None, map(str.strip, given.split(","))):
        name, is_pair, value = pair.partition("=")
        name, value = unquote(name).strip(), unquote(value).strip()
        if not is_pair or not name or not (name + value).isprintable():
            raise ValueError("write name=value,name=value")
        found[name] = value
    return found


class Exporter:
    """`start` it on the loop of the server; `stop` gives it a moment for what is left."""

    def __init__(self, endpoint: str, headers: Mapping[str, str], *, pause_s: float = FIRST_PAUSE_S) -> None:
        self._url = endpoint_of(endpoint)
        self._headers = {**headers, "Content-Type": "application/x-protobuf", "Content-Encoding": "gzip"}
        self._pause_s = pause_s
        self._waiting: dict[int, None] = {}
        self._told: dict[int, int] = {}
        self._is_quiet = False
        self._deaf: Callable[[], None] = lambda: None
        self._since = ids.now_us()

    def start(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._news, self._ends = asyncio.Event(), asyncio.Event()
        self._deaf = changes.listen(self._changed)
        self._task = self._loop.create_task(self._work())

    async def stop(self, seconds: float = 3.0) -> None:
        """Try once more to send what is left; no longer than this."""
        self._deaf()
        self._ends.set()
        self._news.set()
        with suppress(TimeoutError):
            await asyncio.wait_for(self._task, seconds)

    # -------------------------------------------------------------------------------------- what ended

    def _changed(self, changed: changes.ChangeBatch) -> None:
        """On the writer's thread."""
        keys = [key for kind, key in changed.records if kind == ChangeKind.TURN]
        if keys:
            with suppress(RuntimeError):  # the loop may be over
                self._loop.call_soon_threadsafe(self._note, keys)

    def _note(self, keys: Iterable[int]) -> None:
        for key in keys:
            if len(self._waiting) >= MOST and key not in self._waiting:
                self._complain("more turns ended than it takes: some are left out")
                return
            self._waiting[key] = None
        self._news.set()

    def _requests(self, keys: list[int]) -> list[tuple[int, bytes]]:
        """(spans, body) of the requests that tell of those of these turns that ended. Off the loop."""
        found = []
        ended = turn_records.ended_here(keys, self._since)
        for batch in _batches(self._spans(ended)):
            body = gzip.compress(otlp_encoding.as_protobuf(batch), 1)
            found.append((len(batch), body))
        self._remember(ended)
        return found

    def _spans(self, ended: Mapping[int, int]) -> Iterator[list[OtlpSpan]]:
        for key, at in ended.items():
            if self._told.get(key) == at:
                continue  # only a tag, or what somebody says of it, is new
            try:
                yield [_shortened(span) for span in otlp.spans(turn_records.read(system("export"), key))]
            except NotFound:
                continue  # deleted meanwhile
            except Exception:  # logged: the other turns of this look are told all the same
                log.exception("turn=%s cannot be told", ids.public(ids.Kind.TURN, key))

    def _remember(self, ended: Mapping[int, int]) -> None:
        self._told |= ended
        for key in list(self._told)[: max(0, len(self._told) - REMEMBERED)]:
            del self._told[key]

    # -------------------------------------------------------------------------------------- sending

    async def _work(self) -> None:
        timeout = aiohttp.ClientTimeout(total=TIMEOUT_S)
        async with aiohttp.ClientSession(headers=self._headers, timeout=timeout) as http:
            while not (self._ends.is_set() and not self._waiting):
                await self._news.wait()
                self._news.clear()
                await self._wait(self._pause_s)
                try:
                    await self._send(http)
                except Exception:  # logged; one turn that cannot be told must not end the telling of all others
                    log.exception("turns could not be told to %s", self._url)

    async def _send(self, http: aiohttp.ClientSession) -> None:
        while self._waiting:
            keys = list(self._waiting)[:AT_ONCE]
            for key in keys:
                del self._waiting[key]
            for count, body in await read(self._requests, keys):
                await self._deliver(http, count, body)

    async def _deliver(self, http: aiohttp.ClientSession, count: int, body: bytes) -> None:
        until, pause = self._loop.time() + PATIENCE_S, self._pause_s
        while True:
            said, again = await self._post(http, body)
            if not said:
                return
            wait = pause * random.uniform(0.8, 1.2) if again is None else again  # noqa: S311 - spreads the attempts of many servers, guards nothing
            if again == _NEVER or self._ends.is_set() or self._loop.time() + wait > until:
                self._complain(f"{said}: {count} spans are dropped")
                return
            await self._wait(wait)
            pause = min(pause * 2, LONGEST_PAUSE_S)

    async def _post(self, http: aiohttp.ClientSession, body: bytes) -> tuple[str, float | None]:
        """What went wrong, '' if nothing did, and after how many seconds to try again (None: as usual)."""
        try:
            async with http.post(self._url, data=body, allow_redirects=False) as answer:
                content = await answer.content.read(64 * 1024)
                if answer.status // 100 == 2:
                    self._delivered(content)
                    return "", None
                said = f"it answered {answer.status}"
                return said, _retry_after(answer.headers.get("Retry-After")) if answer.status in AGAIN else _NEVER
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            return f"it cannot be reached ({type(error).__name__})", None

    def _delivered(self, content: bytes) -> None:
        if self._is_quiet:
            self._is_quiet = False
            log.warning("turns reach %s again", self._url)
        answer = ExportTraceServiceResponse()
        with suppress(DecodeError):
            answer.ParseFromString(content)
        if answer.partial_success.rejected_spans:
            told = answer.partial_success
            self._complain(f"it rejected {told.rejected_spans} spans: {told.error_message[:200]}")

    def _complain(self, what: str) -> None:
        """Once, until something arrives."""
        if not self._is_quiet:
            self._is_quiet = True
            log.warning("turns are not told to %s: %s", self._url, what)

    async def _wait(self, seconds: float) -> None:
        """That long, or until the end."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._ends.wait(), seconds)


_NEVER = -1.0
"""Stands for: there is no use in trying again."""


def _retry_after(header: str | None) -> float | None:
    """Seconds, or a date; None where it says neither."""
    if not header:
        return None
    if header.isascii() and header.strip().isdigit():
        return min(float(header), PATIENCE_S)
    try:
        at = parsedate_to_datetime(header)
    except (ValueError, TypeError):
        return None
    left = (at.replace(tzinfo=at.tzinfo or UTC) - datetime.now(UTC)).total_seconds()
    return min(max(left, 0.0), PATIENCE_S)


def _batches(turns: Iterable[list[OtlpSpan]]) -> Iterator[list[OtlpSpan]]:
    batch: list[OtlpSpan] = []
    for spans in turns:
        if batch and len(batch) + len(spans) > SPANS:
            yield batch
            batch = []
        batch += spans
    if batch:
        yield batch


def _shortened(span: OtlpSpan) -> OtlpSpan:
    long = {name: value[:LONGEST] for name, value in span.attributes.items() if _is_long(value)}
    return replace(span, attributes={**span.attributes, **long}) if long else span


def _is_long(value: object) -> bool:
    return isinstance(value, str) and len(value) > LONGEST

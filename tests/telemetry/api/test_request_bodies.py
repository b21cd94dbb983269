"""Bodies that are packed otherwise than their senders say, in part, or more than once: nothing of them is dropped
without a word."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable
from typing import Any

import pytest
import zstandard
from django.test import Client

from tests.support.inprocess import collect_static
from tests.telemetry.api.test_otlp import JSON, PROTOBUF, body, protobuf
from tests.telemetry.reading import reports

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("_quiet")]
PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "zstd": zstandard.ZstdCompressor(write_checksum=True).compress,
}
PATHS = (
    *("/v1/traces", "/v1/logs", "/v1/metrics", "/v1/traces/ingest", "/api/public/otel/v1/traces"),
    *("/langsmith/runs/batch", "/langsmith/feedback", "/api/public/scores"),
)
MIB = 2**20


@pytest.fixture(autouse=True)
def _static() -> None:
    collect_static()


def post(client: Client, data: bytes, encoding: str, kind: str = JSON, path: str = "/v1/traces") -> Any:
    headers = {"content-type": kind, "content-encoding": encoding}
    return client.generic("POST", path, data, kind, headers=headers)


def turns(client: Client) -> list[Any]:
    return list(client.get("/v1/logs/turns").json()["data"])


@pytest.mark.parametrize("encoding", PACKERS)
def test_parts_that_were_packed_one_by_one_are_one_body(client: Client, encoding: str) -> None:
    """Members of gzip and frames of zstd may follow each other; of protobuf each may be a whole message."""
    pack = PACKERS[encoding]
    whole = body(*reports.turn(1))
    parts = [pack(whole[at : at + 100]) for at in range(0, len(whole), 100)]
    assert post(client, b"".join([*parts, pack(b"")]), encoding).status_code == 200
    messages = pack(protobuf(*reports.turn(2))) + pack(protobuf(*reports.turn(3)))
    assert post(client, messages, encoding, PROTOBUF).status_code == 200
    assert len(turns(client)) == 3


@pytest.mark.parametrize("kind", [JSON, PROTOBUF])
@pytest.mark.parametrize("encoding", PACKERS)
def test_what_is_cut_or_goes_on_with_something_else_is_refused(client: Client, encoding: str, kind: str) -> None:
    whole = body() if kind == JSON else protobuf()
    packed = PACKERS[encoding](whole)
    wrong = [packed[:cut] for cut in range(0, len(packed), 23)]
    wrong += [packed[:-1], packed + b"xyz", packed + packed[:-1], whole, packed[:-1] + b"?"]
    for data in wrong:
        answer = post(client, data, encoding, kind)
        assert answer.status_code == 400, (len(data), answer.content)
        assert b"not packed as its Content-Encoding says" in answer.content
    assert turns(client) == []


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("encoding", PACKERS)
def test_every_way_in_refuses_the_same(client: Client, settings: Any, path: str, encoding: str) -> None:
    settings.MAX_OTLP_MB = 1
    pack = PACKERS[encoding]
    for data, status in ((b"{}", 400), (pack(b"{}")[:-2], 400), (pack(b"{}") + b"!", 400), (pack(b" " * 2 * MIB), 413)):
        answer = post(client, data, encoding, path=path)
        assert (answer.status_code, bool(answer.json()["error"]["message"])) == (status, True)
    assert turns(client) == []


@pytest.mark.parametrize("encoding", PACKERS)
def test_endless_parts_of_nothing_are_refused(client: Client, settings: Any, encoding: str) -> None:
    settings.MAX_OTLP_MB = 1
    nothing = PACKERS[encoding](b"")
    assert post(client, nothing * (MIB // len(nothing) + 1), encoding).status_code in (400, 413)

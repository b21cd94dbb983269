"""The words and marks of an endpoint's failure, where no socket can be made to fail that way."""

from __future__ import annotations

import socket
import ssl

import aiohttp
import pytest
from aiohttp.client_reqrep import ConnectionKey

from agents.base import ids
from agents.loop.inference.chat.endpoint_errors import EndpointErrors, ReportedError

FAULTS = EndpointErrors("lab", "sk-0123456789")
HOST = ConnectionKey("nowhere.invalid", 443, True, True, None, None, None)


@pytest.mark.parametrize(
    ("cause", "code", "retryable"),
    [
        (aiohttp.ClientConnectorDNSError(HOST, socket.gaierror(-2, "Name or service not known")), None, False),
        (aiohttp.ClientConnectorCertificateError(HOST, ssl.CertificateError("expired")), None, False),
        (aiohttp.ClientConnectorError(HOST, ConnectionRefusedError(111, "refused")), None, True),
        (aiohttp.ServerDisconnectedError(), None, True),
        (aiohttp.ClientOSError(104, "reset"), None, True),
        (aiohttp.ConnectionTimeoutError("slow"), "timeout", True),
        (aiohttp.ClientPayloadError("garbled"), None, False),
    ],
)
def test_it_knows_which_unreachable_endpoint_to_try_again(cause: Exception, code: str | None, retryable: bool) -> None:
    error = FAULTS.unreachable(cause)
    assert (error.code, error.retryable) == (code or "provider_error", retryable)
    assert str(error).startswith("lab could not be reached")


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "2"}, 2.0),
        ({"retry-after": " 0.5 "}, 0.5),
        ({"retry-after": "2", "retry-after-ms": "20"}, 0.02),
        ({"retry-after": "Fri, 20 Nov 2026 12:00:30 GMT"}, 30.0),
        ({"retry-after": "Fri, 20 Nov 2026 11:00:00 GMT"}, 0.0),
        ({"retry-after": "9" * 500}, 86_400.0),
        ({"retry-after": "Fri, 20 Nov 9999 12:00:30 GMT"}, 86_400.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "²"}, None),
        ({"retry-after": "Fri, 99 Nov 2026 12:00:30 GMT"}, None),
        ({}, None),
    ],
)
def test_it_reads_when_to_come_back(headers: dict[str, str], seconds: float | None) -> None:
    ids.use_clock(lambda: 1_795_176_000_000_000)
    try:
        assert FAULTS.refused(429, headers, b"").retry_after_s == seconds
    finally:
        ids.use_clock(None)


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        (b'{"error": {"message": "m", "code": "c", "status": 429}}', ReportedError("m", "c", 429)),
        (b'{"error": {"message": "m", "code": 503}}', ReportedError("m", "503", 503)),
        (b'{"error": "m"}', ReportedError("m")),
        (b'{"message": "m", "object": "error"}', ReportedError("m")),
        (b'{"detail": [{"loc": ["body"]}]}', ReportedError('[{"loc":["body"]}]')),
        (b'{"error": {"code": true, "status": 7}}', ReportedError('{"code":true,"status":7}', "true")),
        (b'"m"', ReportedError("m")),
        (b"null", ReportedError("")),
        (b"\xffplain", ReportedError("�plain")),
        (b"[" * 100_000, ReportedError("[" * 100_000)),
    ],
)
def test_it_reads_a_complaint_of_any_shape(body: bytes, complaint: ReportedError) -> None:
    assert ReportedError.read(body) == complaint


def test_it_strikes_out_the_key_even_where_the_text_is_cut() -> None:
    for place in range(480, 505):
        text = str(FAULTS.refused(400, {}, b"x" * place + b"sk-0123456789"))
        assert "sk-" not in text


def test_it_does_not_take_a_word_for_a_key() -> None:
    assert (
        str(EndpointErrors("lab", "ollama").refused(400, {}, b"ollama is busy")) == "lab answered 400: ollama is busy"
    )

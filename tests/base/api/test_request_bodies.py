"""Requests whose bodies are packed, as a ``Content-Encoding`` says: they are what they are unpacked."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import zstandard
from django.test import Client

from tests.support.inprocess import inline_service

PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "zstd": zstandard.ZstdCompressor().compress,
    "identity": bytes,
}
QUESTION = {"model": "fast", "messages": [{"role": "user", "content": "!script\nsay Hello."}], "max_tokens": 99}
BODIES: dict[str, dict[str, Any]] = {
    "/v1/responses": {"model": "fast", "input": "!script\nsay Hello."},
    "/v1/conversations": {"items": [{"type": "message", "role": "user", "content": "Hello."}]},
    "/v1/chat/completions": QUESTION,
    "/v1/messages": QUESTION,
    "/v1/agents": {"agent_config": {"model": "scripted/fast", "instructions": ""}},
}
MIB = 2**20


@pytest.fixture(autouse=True)
def _served(transactional_db: None) -> Iterator[None]:
    with inline_service():
        yield


def post(client: Client, path: str, data: bytes, encoding: str, kind: str = "application/json") -> Any:
    return client.generic("POST", path, data, kind, headers={"content-encoding": encoding})


@pytest.mark.parametrize("encoding", PACKERS)
@pytest.mark.parametrize("path", BODIES)
def test_it_is_answered_as_if_it_came_unpacked(client: Client, path: str, encoding: str) -> None:
    data = json.dumps(BODIES[path]).encode()
    answer = post(client, path, PACKERS[encoding](data), encoding)
    assert answer.status_code == 200, answer.content
    assert answer.json().keys() == client.generic("POST", path, data, "application/json").json().keys()


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "zstd"])
@pytest.mark.parametrize("path", BODIES)
def test_what_is_not_packed_so_is_refused(client: Client, path: str, encoding: str) -> None:
    data = json.dumps(BODIES[path]).encode()
    for wrong in (data, PACKERS[encoding](data)[:-3], PACKERS[encoding](data) + b"!"):
        answer = post(client, path, wrong, encoding)
        assert answer.status_code == 400
        assert "not packed as its Content-Encoding says" in answer.json()["error"]["message"]


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "zstd"])
def test_a_bomb_is_too_large(client: Client, settings: Any, encoding: str) -> None:
    settings.MAX_BODY_MB = 1
    answer = post(client, "/v1/responses", PACKERS[encoding](b" " * 2 * MIB), encoding)
    assert answer.status_code == 413
    assert "larger than 1 MiB when it is unpacked" in answer.json()["error"]["message"]


def test_what_cannot_be_unpacked_here_is_named(client: Client) -> None:
    answer = post(client, "/v1/responses", b"\x0b\x02\x80{}\x03", "br")
    assert answer.status_code == 415
    assert answer.json()["error"]["message"] == "Content-Encoding must be gzip, deflate or zstd, not br."


def test_a_form_with_files_comes_as_it_is(client: Client) -> None:
    form = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\na\r\n--x--\r\n'
    answer = post(client, "/v1/files", gzip.compress(form), "gzip", "multipart/form-data; boundary=x")
    assert answer.status_code == 415
    assert "without Content-Encoding" in answer.json()["error"]["message"]

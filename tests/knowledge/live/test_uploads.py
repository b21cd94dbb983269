"""Uploads in parts with OpenAI's client."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openai
import pytest
from openai import OpenAI, omit

from tests.support.live.process import ServerProcess

pytestmark = pytest.mark.server

CONTENT = bytes(range(256)) * 4_000
MIB = 2**20


@pytest.fixture
def client(server: ServerProcess) -> Iterator[OpenAI]:
    with OpenAI(base_url=f"{server.base}/v1", api_key="none", max_retries=0) as client:
        yield client


def begin(client: OpenAI, size: int = len(CONTENT), **more: Any) -> str:
    given: Any = {"filename": "kettle.bin", "mime_type": "application/octet-stream", "purpose": "user_data", **more}
    return client.uploads.create(bytes=size, **given).id


def test_parts_become_a_file_in_their_order(client: OpenAI) -> None:
    upload = begin(client, expires_after={"anchor": "created_at", "seconds": 3600})
    pieces = [CONTENT[start : start + 300_000] for start in range(0, len(CONTENT), 300_000)]
    parts = [client.uploads.parts.create(upload, data=piece).id for piece in reversed(pieces)]
    done = client.uploads.complete(upload, part_ids=parts[::-1], md5=hashlib.md5(CONTENT).hexdigest())

    assert (done.id, done.status, done.bytes) == (upload, "completed", len(CONTENT))
    assert done.file is not None
    assert done.file.expires_at == done.file.created_at + 3600
    file = client.files.retrieve(done.file.id)
    assert (file.filename, file.purpose, file.bytes) == ("kettle.bin", "user_data", len(CONTENT))
    assert client.files.content(file.id).content == CONTENT
    assert client.uploads.complete(upload, part_ids=parts) == done
    with pytest.raises(openai.BadRequestError, match="upload is completed"):
        client.uploads.parts.create(upload, data=b"more")
    with pytest.raises(openai.BadRequestError, match="upload is completed"):
        client.uploads.cancel(upload)
    assert client.files.delete(file.id).deleted
    with pytest.raises(openai.NotFoundError):
        client.uploads.complete(upload, part_ids=parts)


def test_the_clients_own_helper_sends_large_parts(client: OpenAI, tmp_path: Path) -> None:
    content = b"kettle " * (2 * MIB)
    path = tmp_path / "kettle.txt"
    path.write_bytes(content)
    done = client.uploads.upload_file_chunked(
        file=path, mime_type="text/plain", purpose="assistants", part_size=10 * MIB
    )

    assert done.file is not None
    assert (done.status, done.file.filename, done.file.bytes) == ("completed", "kettle.txt", len(content))
    assert hashlib.sha256(client.files.content(done.file.id).content).digest() == hashlib.sha256(content).digest()
    client.files.delete(done.file.id)


def test_what_does_not_fit_is_no_file(client: OpenAI) -> None:
    upload, other = begin(client, 10), begin(client, 10)
    first, second = (client.uploads.parts.create(upload, data=piece).id for piece in (b"01234", b"56789"))
    foreign = client.uploads.parts.create(other, data=b"56789").id
    before = len(client.files.list().data)
    for part_ids, md5, param in (
        ([first], None, "part_ids"),
        ([first, first], None, "part_ids"),
        ([first, foreign], None, "part_ids.1"),
        ([first, "part_x"], None, "part_ids.1"),
        ([], None, "part_ids"),
        ([first, second], "0" * 32, "md5"),
        ([first, second], "zz", "md5"),
    ):
        with pytest.raises(openai.BadRequestError) as refused:
            client.uploads.complete(upload, part_ids=part_ids, md5=md5 if md5 else omit)
        assert refused.value.param == param

    assert len(client.files.list().data) == before
    assert client.uploads.complete(upload, part_ids=[first, second]).status == "completed"


def test_a_cancelled_upload_takes_nothing_more(client: OpenAI) -> None:
    upload = begin(client, 4)
    part = client.uploads.parts.create(upload, data=b"0123").id
    cancelled = client.uploads.cancel(upload)

    assert (cancelled.status, cancelled.file) == ("cancelled", None)
    assert client.uploads.cancel(upload).status == "cancelled"
    with pytest.raises(openai.BadRequestError, match="upload is cancelled"):
        client.uploads.parts.create(upload, data=b"0123")
    with pytest.raises(openai.BadRequestError, match="upload is cancelled"):
        client.uploads.complete(upload, part_ids=[part])


def test_parts_and_uploads_have_limits(client: OpenAI) -> None:
    upload = begin(client, 4)
    client.uploads.parts.create(upload, data=b"0123")
    client.uploads.parts.create(upload, data=b"0123")
    with pytest.raises(openai.APIStatusError, match="more bytes than were announced") as refused:
        client.uploads.parts.create(upload, data=b"0")
    assert (refused.value.status_code, refused.value.code is None) == (413, False)
    with pytest.raises(openai.BadRequestError, match="empty"):
        client.uploads.parts.create(upload, data=b"")
    wrongs: list[dict[str, Any]] = [{"size": 0}, {"purpose": "nothing"}, {"filename": ""}]
    for wrong in wrongs:
        with pytest.raises(openai.BadRequestError):
            begin(client, **wrong)
    with pytest.raises(openai.APIStatusError, match="MiB") as large:
        begin(client, 2**60)
    assert large.value.status_code == 413
    for unknown in (client.uploads.cancel, lambda one: client.uploads.parts.create(one, data=b"x")):
        with pytest.raises(openai.NotFoundError):
            unknown("upload_nobodys")

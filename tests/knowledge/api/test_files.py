"""Bad input to files and vector stores: 4xx with the field's name, nothing half-stored."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.test.client import BOUNDARY, MULTIPART_CONTENT, encode_multipart

from agents.knowledge.models.files import File, FileBlock
from agents.knowledge.models.vector_dbs import FileBatch, VectorDB, VectorDocument

SEARCH = {"query": "kettle"}


class Road:
    def __init__(self) -> None:
        self.client = Client(raise_request_exception=False)

    def upload(self, kind: str = MULTIPART_CONTENT, **fields: Any) -> Any:
        given = {"file": SimpleUploadedFile("kettle.txt", b"A kettle."), "purpose": "assistants", **fields}
        body = encode_multipart(BOUNDARY, {name: value for name, value in given.items() if value is not None})
        return self.client.generic("POST", "/v1/files", body, kind)

    def post(self, path: str, body: Any) -> Any:
        raw = body if isinstance(body, bytes) else json.dumps(body)
        return self.client.generic("POST", f"/v1/{path}", raw, "application/json")


@pytest.fixture
def road(_served: None, _quiet: None) -> Road:
    return Road()


@pytest.fixture
def file(road: Road) -> str:
    return str(road.upload().json()["id"])


@pytest.fixture
def store(road: Road) -> str:
    return str(road.post("vector_stores", {"name": "kb"}).json()["id"])


def rows() -> list[int]:
    guarded = [model.objects.unscoped("counted").count() for model in (File, VectorDB)]
    return [*guarded, *(model.objects.count() for model in (FileBlock, VectorDocument, FileBatch))]


# ---------------------------------------------------------------------------------------------- uploads


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"file": None}, "file"),
        ({"file": "just text"}, "file"),
        ({"purpose": None}, "purpose"),
        ({"purpose": ""}, "purpose"),
        ({"purpose": "mischief"}, "purpose"),
        ({"expires_after": "{"}, "expires_after"),
        ({"expires_after": "1"}, "expires_after"),
        ({"expires_after": '{"anchor": "created_at"}'}, "expires_after.seconds"),
        ({"expires_after[anchor]": "last_active_at", "expires_after[seconds]": "3600"}, "expires_after.anchor"),
        ({"expires_after[anchor]": "created_at", "expires_after[seconds]": "3599"}, "expires_after.seconds"),
        ({"expires_after[anchor]": "created_at", "expires_after[seconds]": "2592001"}, "expires_after.seconds"),
        ({"expires_after[seconds]": "x"}, "expires_after.anchor"),
    ],
)
def test_an_upload_that_lacks_something_is_refused(fields: dict[str, Any], param: str, road: Road) -> None:
    before = rows()
    answer = road.upload(**fields)

    assert (answer.status_code, answer.json()["error"]["param"]) == (400, param), answer.content
    assert rows() == before


def test_a_field_of_json_will_do(road: Road) -> None:
    made = road.upload(expires_after='{"anchor": "created_at", "seconds": 7200}').json()

    assert made["expires_at"] == made["created_at"] + 7200


@pytest.mark.parametrize("kind", ["application/json", "text/plain", "application/x-www-form-urlencoded", ""])
def test_an_upload_is_a_form(kind: str, road: Road) -> None:
    answer = road.upload(kind)

    assert (answer.status_code, answer.json()["error"]["message"][:39]) == (
        415,
        "Content-Type must be multipart/form-dat",
    )


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("multipart/form-data", b"x"),
        ("multipart/form-data; boundary=x", b"--y\r\n"),
        ("multipart/form-data; boundary=\xc3\xa9", b"x"),
        ("multipart/form-data; boundary=x", b'--x\r\nContent-Disposition: form-data; name="file"; filename="a'),
        ("multipart/form-data; boundary=x", b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\nb\r\n' * 2000),
        (
            "multipart/form-data; boundary=x",
            b'--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nb\r\n' * 200,
        ),
        (
            "multipart/form-data; boundary=x",
            b'--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n'
            b"Content-Transfer-Encoding: base64\r\n\r\n!!!\r\n--x--\r\n",
        ),
    ],
)
def test_forms_that_cannot_be_read_are_refused(kind: str, body: bytes, road: Road) -> None:
    answer = road.client.generic("POST", "/v1/files", body, kind)

    assert answer.status_code == 400, answer.content
    assert answer.json()["error"]["message"]
    assert rows()[0] == 0


def test_a_field_above_the_cap_of_bodies_is_refused(road: Road) -> None:
    answer = road.upload(purpose="x" * (9 * 2**20))

    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "body_too_large")


def test_a_file_above_the_cap_is_refused(road: Road, settings: Any) -> None:
    settings.MAX_UPLOAD_MB = 1
    ok = road.upload(file=SimpleUploadedFile("a.bin", b"x" * 2**20))
    answer = road.upload(file=SimpleUploadedFile("a.bin", b"x" * (2**20 + 1)))

    assert (ok.status_code, ok.json()["bytes"]) == (200, 2**20)
    assert (answer.status_code, answer.json()["error"]["param"]) == (413, "file")
    assert rows()[0] == 1


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("../../etc/passwd", "passwd"),
        ("a\0b.txt", "ab.txt"),
        ("x" * 300 + ".txt", "x" * 251 + ".txt"),
        ("<script>alert(1)<script>.html", "<script>alert(1)<script>.html"),
        ('quo"te.txt', 'quo"te.txt'),
        ("日本語.txt", "日本語.txt"),
    ],
)
def test_names_of_files(name: str, kept: str, road: Road) -> None:
    upload = SimpleUploadedFile("x", b"hello")
    upload._name = name  # type: ignore[attr-defined]  # its own setter would clean it
    made = road.upload(file=upload)
    content = road.client.get(f"/v1/files/{made.json()['id']}/content")

    assert (made.status_code, made.json()["filename"]) == (200, kept)
    assert content.headers["Content-Type"] == "application/octet-stream"
    assert content.headers["Content-Disposition"].startswith("attachment; filename*=UTF-8''")
    assert content.headers["X-Content-Type-Options"] == "nosniff"
    assert content.headers["Content-Length"] == "5"


@pytest.mark.parametrize(
    ("query", "param"),
    [
        ("after=file-x", "after"),
        ("before=nothing", "before"),
        ("after=a&before=b", "before"),
        ("limit=0", "limit"),
        ("limit=-1", "limit"),
        ("limit=x", "limit"),
        ("limit=9999999", "limit"),
        ("limit=%D9%A3", "limit"),
        ("order=random", "order"),
    ],
)
def test_pages_that_mean_nothing(query: str, param: str, road: Road, store: str) -> None:
    for path in ("files", "vector_stores", f"vector_stores/{store}/files"):
        answer = road.client.get(f"/v1/{path}?{query}")
        assert (answer.status_code, answer.json()["error"]["param"]) == (400, param), path


# ----------------------------------------------------------------------------------------------- stores

LONG = {f"key {number}": "x" for number in range(17)}


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"name": 7}, "name"),
        ({"name": "x" * 256}, "name"),
        ({"metadata": "x"}, "metadata"),
        ({"metadata": LONG}, "metadata"),
        ({"metadata": {"k" * 65: "x"}}, "metadata"),
        ({"metadata": {"k": "x" * 513}}, "metadata"),
        ({"metadata": {"k": {}}}, "metadata.k"),
        ({"expires_after": {"anchor": "created_at", "days": 1}}, "expires_after.anchor"),
        ({"expires_after": {"anchor": "last_active_at", "days": 0}}, "expires_after.days"),
        ({"expires_after": {"anchor": "last_active_at", "days": 366}}, "expires_after.days"),
        ({"file_ids": "file-x"}, "file_ids"),
        ({"file_ids": ["file-x"] * 501}, "file_ids"),
        ({"chunking_strategy": {"type": "magic"}}, "chunking_strategy"),
        ({"chunking_strategy": {"type": "static"}}, "chunking_strategy.static"),
        (
            {"chunking_strategy": {"type": "static", "static": {"max_chunk_size_tokens": 99}}},
            "chunking_strategy.static",
        ),
        (
            {
                "chunking_strategy": {
                    "type": "static",
                    "static": {"max_chunk_size_tokens": 100, "chunk_overlap_tokens": 51},
                }
            },
            "chunking_strategy.static",
        ),
        ({"embedding_dimension": 0}, "embedding_dimension"),
        ({"embedding_model": ""}, "embedding_model"),
    ],
)
def test_a_store_that_cannot_be(body: Any, param: str, road: Road) -> None:
    before = rows()
    answer = road.post("vector_stores", body)

    assert answer.status_code == 400, answer.content
    assert answer.json()["error"]["param"].startswith(param)
    assert rows() == before


def test_nulls_are_as_good_as_nothing(road: Road) -> None:
    names = ("name", "file_ids", "chunking_strategy", "expires_after", "metadata", "embedding_model")
    more = ("embedding_dimension", "provider_id", "provider_vector_db_id", "unknown")
    made = road.post("vector_stores", dict.fromkeys((*names, *more))).json()

    assert (made["name"], made["metadata"], made["expires_after"], made["status"]) == ("", {}, None, "completed")
    described = road.client.get(f"/v1/vector-dbs/{made['id']}").json()
    assert (described["embedding_model"], described["embedding_dimension"]) == ("keyword", 384)


def test_what_a_file_is_asked_for_in_vain(road: Road, store: str, file: str) -> None:
    for path, body, param in (
        (f"vector_stores/{store}/files", {}, "file_id"),
        (f"vector_stores/{store}/files", {"file_id": ""}, "file_id"),
        (f"vector_stores/{store}/files", {"file_id": file, "attributes": {"a": [1]}}, "attributes.a"),
        (f"vector_stores/{store}/files", {"file_id": file, "attributes": LONG}, "attributes"),
        (f"vector_stores/{store}/files/{file}", {}, "attributes"),
        (f"vector_stores/{store}/file_batches", {}, "body"),
        (f"vector_stores/{store}/file_batches", {"file_ids": [file], "files": [{"file_id": file}]}, "body"),
        (f"vector_stores/{store}/file_batches", {"file_ids": [file, file]}, "file_ids"),
        (f"vector_stores/{store}/file_batches", {"files": [{}]}, "files.0.file_id"),
    ):
        answer = road.post(path, body)
        assert (answer.status_code, answer.json()["error"]["param"].split(".str")[0]) == (400, param), (path, body)
    assert rows()[3:] == [0, 0]
    listed = road.client.get(f"/v1/vector_stores/{store}/files?filter=lost")
    assert (listed.status_code, listed.json()["error"]["param"]) == (400, "filter")


def test_what_is_not_there(road: Road, store: str, file: str) -> None:
    for path, body, code in (
        ("vector_stores/vs_0/search", SEARCH, "vector_store_not_found"),
        (f"vector_stores/{file}/search", SEARCH, "vector_store_not_found"),
        (f"vector_stores/{store}/files", {"file_id": store}, "file_not_found"),
        (f"vector_stores/{store}/files/{file}", {"attributes": {}}, "file_not_found"),
        (f"vector_stores/{store}/file_batches/vsfb_0/cancel", {}, "file_batch_not_found"),
        ("vector_stores", {"file_ids": ["file-0"]}, "file_not_found"),
    ):
        answer = road.post(path, body)
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, code), path
        assert "not found" in answer.json()["error"]["message"]


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({}, "query"),
        ({"query": ""}, "query"),
        ({"query": []}, "query"),
        ({"query": ["a", ""]}, "query"),
        ({"query": "x" * 20_001}, "query"),
        ({**SEARCH, "max_num_results": 0}, "max_num_results"),
        ({**SEARCH, "max_num_results": 51}, "max_num_results"),
        ({**SEARCH, "ranking_options": {"score_threshold": 2}}, "ranking_options.score_threshold"),
        ({**SEARCH, "filters": []}, "filters"),
        ({**SEARCH, "filters": {"type": "eq", "key": "a"}}, "filters.value"),
        ({**SEARCH, "filters": {"type": "or", "filters": [{"type": "eq"}]}}, "filters.filters.0.key"),
        ({**SEARCH, "search_mode": "magic"}, "search_mode"),
    ],
)
def test_a_search_that_means_nothing(body: Any, param: str, road: Road, store: str) -> None:
    answer = road.post(f"vector_stores/{store}/search", body)

    assert answer.status_code == 400, answer.content
    assert answer.json()["error"]["param"].startswith(param)


def test_odd_texts_are_searched_and_found(road: Road, store: str) -> None:
    odd = "a kettle \0 of \ud7ff '; DROP TABLE x; -- {chunk.content} \u202e"
    made = road.upload(file=SimpleUploadedFile("odd.md", odd.encode())).json()
    attached = road.post(f"vector_stores/{store}/files", {"file_id": made["id"], "attributes": {"n\0": "a\0b"}})
    assert attached.json()["status"] == "failed"  # a NUL makes it no text
    made = road.upload(file=SimpleUploadedFile("odd.md", odd.replace("\0", "").encode())).json()
    attached = road.post(f"vector_stores/{store}/files", {"file_id": made["id"], "attributes": {"n\0": "a\0b"}})
    assert (attached.json()["status"], attached.json()["attributes"]) == ("completed", {"n\u2400": "a\u2400b"})
    only = {"type": "eq", "key": "n\u2400", "value": "a\u2400b"}
    found = road.post(f"vector_stores/{store}/search", {"query": "kettle'; DROP\0", "filters": only}).json()

    assert [one["file_id"] for one in found["data"]] == [made["id"]]


def test_a_field_of_a_form_is_given_once(road: Road) -> None:
    answer = road.upload(purpose=["assistants", "vision"])
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, "purpose")

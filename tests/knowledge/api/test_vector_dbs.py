"""Bad input to vector databases: 4xx with the field's name, nothing half-stored."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from agents.knowledge.models.vector_dbs import Chunk, VectorDB, VectorDocument

DB = {"vector_db_id": "kb", "embedding_model": "scripted/embed", "embedding_dimension": 384}
INSERT = {"vector_db_id": "kb", "chunks": [{"content": "kettle", "metadata": {}}]}
QUERY = {"vector_db_id": "kb", "query": "kettle"}
DOCUMENT = {"document_id": "d", "content": "kettle", "metadata": {}}
DOCUMENTS = {"vector_db_id": "kb", "documents": [DOCUMENT], "chunk_size_in_tokens": 64}
RAG = {"vector_db_ids": ["kb"], "content": "kettle"}


class Road:
    def __init__(self) -> None:
        self.client = Client(raise_request_exception=False)

    def post(self, path: str, body: Any) -> Any:
        raw = body if isinstance(body, bytes) else json.dumps(body)
        return self.client.generic("POST", f"/v1/{path}", raw, "application/json")


@pytest.fixture
def road(_served: None, _quiet: None) -> Road:
    road = Road()
    assert road.post("vector-dbs", DB).status_code == 200
    return road


def rows() -> list[int]:
    return [Chunk.objects.count(), VectorDocument.objects.count(), VectorDB.objects.unscoped("counted").count()]


@pytest.mark.parametrize(
    ("path", "body", "param"),
    [
        ("vector-dbs", {}, "vector_db_id"),
        ("vector-dbs", {**DB, "vector_db_id": ""}, "vector_db_id"),
        ("vector-dbs", {**DB, "vector_db_id": "x" * 256}, "vector_db_id"),
        ("vector-dbs", {**DB, "vector_db_id": 7}, "vector_db_id"),
        ("vector-dbs", {**DB, "embedding_dimension": 0}, "embedding_dimension"),
        ("vector-dbs", {**DB, "embedding_dimension": 10**9}, "embedding_dimension"),
        ("vector-io/insert", {**INSERT, "chunks": "x"}, "chunks"),
        ("vector-io/insert", {**INSERT, "chunks": [{"metadata": {}}]}, "chunks.0.content"),
        ("vector-io/insert", {**INSERT, "chunks": [{"content": " ", "metadata": {}}]}, "chunks.0.content"),
        ("vector-io/insert", {**INSERT, "chunks": [{"content": "x", "embedding": [1]}]}, "chunks.0.embedding"),
        ("vector-io/insert", {**INSERT, "chunks": [{"content": "x", "embedding": [0] * 384}]}, "chunks.0.embedding"),
        (
            "vector-io/insert",
            {**INSERT, "chunks": [INSERT["chunks"][0], {"content": "x", "metadata": 1}]},
            "chunks.1.metadata",
        ),
        ("vector-io/insert", {**INSERT, "ttl_seconds": 60}, "ttl_seconds"),
        ("vector-io/insert", {**INSERT, "ttl_seconds": 0}, "ttl_seconds"),
        ("vector-io/insert", {**INSERT, "ttl_seconds": "soon"}, "ttl_seconds"),
        ("vector-io/query", {**QUERY, "params": {"max_chunks": 0}}, "params.max_chunks"),
        ("vector-io/query", {**QUERY, "params": {"mode": "magic"}}, "params.mode"),
        ("vector-io/query", {"vector_db_id": "kb"}, "query"),
        ("tool-runtime/rag-tool/insert", {**DOCUMENTS, "chunk_size_in_tokens": 1}, "chunk_size_in_tokens"),
        ("tool-runtime/rag-tool/insert", {**DOCUMENTS, "documents": [DOCUMENT] * 2}, "documents.1.document_id"),
        ("tool-runtime/rag-tool/insert", {**DOCUMENTS, "documents": [{}]}, "documents.0.document_id"),
        (
            "tool-runtime/rag-tool/insert",
            {**DOCUMENTS, "documents": [{**DOCUMENT, "mime_type": "image/png"}]},
            "documents",
        ),
        (
            "tool-runtime/rag-tool/insert",
            {**DOCUMENTS, "documents": [{**DOCUMENT, "content": "file:///x"}]},
            "documents",
        ),
        ("tool-runtime/rag-tool/query", {**RAG, "vector_db_ids": "kb"}, "vector_db_ids"),
        ("tool-runtime/rag-tool/query", {**RAG, "query_config": {"max_chunks": 101}}, "query_config.max_chunks"),
        (
            "tool-runtime/rag-tool/query",
            {**RAG, "query_config": {"chunk_template": "{chunk.content.__class__}"}},
            "query_config.chunk_template",
        ),
    ],
)
def test_what_means_nothing_is_refused(path: str, body: Any, param: str, road: Road) -> None:
    before = rows()
    answer = road.post(path, body)

    assert answer.status_code == 400, answer.content
    assert answer.json()["error"]["param"].startswith(param)
    assert rows() == before


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("vector-io/insert", {**INSERT, "vector_db_id": "no such"}),
        ("vector-io/query", {**QUERY, "vector_db_id": "no\0such"}),
        ("tool-runtime/rag-tool/insert", {**DOCUMENTS, "vector_db_id": "NO"}),
        ("tool-runtime/rag-tool/query", {**RAG, "vector_db_ids": ["kb", "no"]}),
    ],
)
def test_a_database_that_is_not_there(path: str, body: Any, road: Road) -> None:
    answer = road.post(path, body)

    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "vector_db_not_found")


def test_another_database_of_the_name_is_a_conflict(road: Road) -> None:
    assert road.post("vector-dbs", {**DB, "embedding_dimension": 8}).status_code == 409
    assert road.post("vector-dbs", {**DB, "provider_id": None, "embedding_dimension": None}).status_code == 200


def test_odd_texts_go_in_and_come_out(road: Road) -> None:
    odd = ["a\0b", "\ud83d\ude00", "'; DROP TABLE x; --", "x" * 100_000, "{chunk.content}{index}", "\u202egnirts"]
    chunks = [{"content": f"kettle {text}", "metadata": {"n\0": text, "document_id": text}} for text in odd]
    assert road.post("vector-io/insert", {**INSERT, "chunks": chunks}).status_code == 204
    found = road.post("vector-io/query", {**QUERY, "params": {"max_chunks": 100}}).json()
    told = road.post("tool-runtime/rag-tool/query", {**RAG, "query_config": {"max_tokens_in_context": 10**6}}).json()

    assert len(found["chunks"]) == len(found["scores"]) == len(odd)
    assert any("{chunk.content}{index}" in item["text"] for item in told["content"])


def test_a_lone_surrogate_is_no_text(road: Road) -> None:
    assert road.post("vector-io/query", b'{"vector_db_id": "kb", "query": "\\ud800"}').status_code in (200, 400)


def test_the_wrong_dimension_is_said(road: Road) -> None:
    road.post("vector-dbs", {**DB, "vector_db_id": "small", "embedding_dimension": 8})
    answer = road.post("vector-io/insert", {**INSERT, "vector_db_id": "small"})

    assert (answer.status_code, answer.json()["error"]["param"]) == (400, "embedding_dimension")


def test_no_documents_are_no_trouble(road: Road) -> None:
    assert road.post("tool-runtime/rag-tool/insert", {**DOCUMENTS, "documents": []}).status_code == 204
    assert road.post("vector-io/insert", {**INSERT, "chunks": []}).status_code == 204
    assert road.post("tool-runtime/rag-tool/query", {**RAG, "vector_db_ids": []}).json()["content"] is None
    assert road.post("vector-io/query", {**QUERY, "query": ""}).json() == {"chunks": [], "scores": []}


def test_newer_clients_call_a_database_a_vector_store(road: Road) -> None:
    assert road.post("vector-io/insert", {"vector_store_id": "kb", "chunks": INSERT["chunks"]}).status_code == 204
    found = road.post("vector-io/query", {"vector_store_id": "kb", "query": "kettle"}).json()
    assert [chunk["content"] for chunk in found["chunks"]] == ["kettle"]
    refused = road.post("vector-io/query", {"query": "kettle"})
    assert (refused.status_code, refused.json()["error"]["param"]) == (400, "vector_db_id")


def test_an_embedding_of_ones_own_may_have_any_length_where_none_was_said(road: Road) -> None:
    store = road.post("vector_stores", {"name": "kb", "embedding_model": "scripted/embed"}).json()["id"]
    chunk = {"content": "kettle", "metadata": {}, "embedding": [0.5, 0.5, 1.0]}
    assert road.post("vector-io/insert", {"vector_db_id": store, "chunks": [chunk]}).status_code == 204

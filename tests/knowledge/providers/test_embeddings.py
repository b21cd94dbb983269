"""Embeddings: those made up here, and those of an endpoint on a real socket."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from agents.base.errors import ProviderError
from agents.loop.embeddings.openai_compatible import EmbeddingEndpoint, OpenAIEmbeddings
from agents.loop.embeddings.registry import EmbeddingModels
from agents.loop.embeddings.scripted import ScriptedEmbeddings
from agents.loop.inference.openai_compatible import EndpointConfig
from agents.loop.protocols.embeddings import EmbeddingModel

Answer = Callable[[dict[str, Any]], tuple[int, Any]]


class Endpoint:
    """Answers ``POST /v1/embeddings`` as it is told; ``asked`` are the bodies."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.keys: list[str] = []
        self.answer: Answer = vectors
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                endpoint.asked.append(body)
                endpoint.keys.append(self.headers.get("Authorization", ""))
                status, answer = endpoint.answer(body) if self.path == "/v1/embeddings" else (404, {})
                raw = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)

            def log_message(self, format: str, *args: Any) -> None:
                """Says nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.base = f"http://127.0.0.1:{self.server.server_address[1]}/v1"


def vectors(body: dict[str, Any]) -> tuple[int, Any]:
    """Each text's length, last first: the index says whose it is."""
    data = [{"index": place, "embedding": [float(len(text)), 1.0]} for place, text in enumerate(body["input"])]
    return 200, {"object": "list", "data": data[::-1], "model": body["model"]}


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    made = Endpoint()
    thread = threading.Thread(target=made.server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield made
    made.server.shutdown()
    made.server.server_close()
    thread.join()


def embed(endpoint: Endpoint, texts: list[str]) -> list[list[float]]:
    async def ask() -> list[list[float]]:
        way = EmbeddingEndpoint("lab", endpoint.base, "sk-long-secret")
        model = OpenAIEmbeddings(way, "e5", sleep=lambda seconds: asyncio.sleep(0))
        try:
            return await model.embed(texts)
        finally:
            await way.close()

    return asyncio.run(ask())


def test_texts_go_in_batches_and_come_back_in_order(endpoint: Endpoint) -> None:
    texts = ["x" * number for number in range(150)]

    assert [vector[0] for vector in embed(endpoint, texts)] == [1.0, *map(float, range(1, 150))]
    assert sorted(len(one["input"]) for one in endpoint.asked) == [22, 64, 64]
    assert {one["model"] for one in endpoint.asked} == {"e5"}
    assert set(endpoint.keys) == {"Bearer sk-long-secret"}
    assert embed(endpoint, []) == []


def test_a_busy_endpoint_is_asked_again(endpoint: Endpoint) -> None:
    endpoint.answer = lambda body: vectors(body) if len(endpoint.asked) > 1 else (503, {"error": {"message": "busy"}})

    assert embed(endpoint, ["ab"]) == [[2.0, 1.0]]
    assert len(endpoint.asked) == 2


@pytest.mark.parametrize(
    "answer",
    [
        (200, b"no json"),
        (200, {"data": []}),
        (200, {"data": [{"index": 0, "embedding": []}]}),
        (200, {"data": [{"index": 1, "embedding": [1.0]}]}),
        (200, {"data": [{"index": 0, "embedding": ["x"]}]}),
        (200, b'{"data": [{"index": 0, "embedding": [1e999]}]}'),
        (200, b"[" * 100_000),
        (401, {"error": {"message": "bad key sk-long-secret"}}),
        (400, {"error": {"message": "too long"}}),
    ],
)
def test_what_an_endpoint_does_wrong_is_told_by_its_name(answer: tuple[int, Any], endpoint: Endpoint) -> None:
    endpoint.answer = lambda body: answer
    with pytest.raises(ProviderError) as raised:
        embed(endpoint, ["one"])

    assert raised.value.provider == "lab"
    assert "sk-long-secret" not in raised.value.message


def test_an_endpoint_that_is_not_there() -> None:
    async def ask() -> None:
        way = EmbeddingEndpoint("lab", "http://127.0.0.1:1/v1")
        try:
            await OpenAIEmbeddings(way, "e5", sleep=lambda seconds: asyncio.sleep(0)).embed(["x"])
        finally:
            await way.close()

    with pytest.raises(ProviderError):
        asyncio.run(ask())


# --------------------------------------------------------------------------------------------- scripted


def test_made_up_vectors_tell_what_is_alike() -> None:
    model: EmbeddingModel = ScriptedEmbeddings()
    texts = ["the blue kettle", "a kettle, blue", "red cups on shelves", ""]
    one, alike, other, empty = asyncio.run(model.embed(texts))

    assert _dot(one, alike) > 0.4 > _dot(one, other)
    assert [round(_dot(vector, vector), 6) for vector in (one, other, empty)] == [1.0, 1.0, 1.0]
    assert asyncio.run(model.embed(texts))[0] == one
    assert len(one) == model.dimension == 384


def _dot(one: list[float], other: list[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


# --------------------------------------------------------------------------------------------- registry


def test_names_lead_to_models() -> None:
    lab = EndpointConfig(base_url="http://127.0.0.1:1/v1")
    plain, own = EmbeddingModels({"lab": lab}), EmbeddingModels({"lab": lab}, "lab/e5")

    def names(models: EmbeddingModels, *asked: str) -> list[str]:
        return [model.name if (model := models.resolve(name)) else "" for name in asked]

    asked = ("keyword", "scripted/embed", "lab/bge", "all-MiniLM-L6-v2", "sentence-transformers/x", "lab/")
    assert names(plain, *asked) == ["", "scripted/embed", "lab/bge", "", "", ""]
    assert names(own, *asked) == ["", "scripted/embed", "lab/bge", "lab/e5", "lab/e5", "lab/e5"]
    assert plain.find("all-MiniLM-L6-v2") is own.find("all-MiniLM-L6-v2") is None
    with pytest.raises(ValueError, match="EMBEDDING_MODEL"):
        EmbeddingModels({}, "lab/e5")

"""Files and vector stores through the official OpenAI client, and through Llama Stack's where it has them."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from llama_stack_client import LlamaStackClient
from openai import BadRequestError, NotFoundError, OpenAI
from openai.types import FileObject, VectorStore
from openai.types.file_create_params import ExpiresAfter

from tests.support.live.process import ServerProcess, eventually
from tests.support.pdf import make_pdf

pytestmark = pytest.mark.server

KETTLE = "The kettle in the kitchen is blue. It whistles at noon."
CUP = "The cup is red. It stands on the shelf."
POLL = 20


@pytest.fixture(params=["v1", "v1/openai/v1"])
def either(server: ServerProcess, request: pytest.FixtureRequest) -> Iterator[OpenAI]:
    """A client of each of the two addresses."""
    with OpenAI(base_url=f"{server.base}/{request.param}", api_key="none", max_retries=0) as client:
        yield client


@pytest.fixture
def client(server: ServerProcess) -> Iterator[OpenAI]:
    with OpenAI(base_url=f"{server.base}/v1", api_key="none", max_retries=0) as client:
        yield client


@pytest.fixture
def llama(server: ServerProcess) -> Iterator[LlamaStackClient]:
    with LlamaStackClient(base_url=server.base) as client:
        yield client


@pytest.fixture
def store(client: OpenAI, request: pytest.FixtureRequest) -> Iterator[VectorStore]:
    """A store of the test's own."""
    made = client.vector_stores.create(name=request.node.name)
    yield made
    client.vector_stores.delete(made.id)


def upload(client: OpenAI, name: str, content: bytes | str) -> FileObject:
    raw = content.encode() if isinstance(content, str) else content
    return client.files.create(file=(name, raw), purpose="assistants")


def add(client: OpenAI, store: VectorStore, name: str, content: bytes | str, **more: Any) -> Any:
    """Put a file into a store and wait until it is read."""
    file = upload(client, name, content)
    return client.vector_stores.files.create_and_poll(
        file.id, vector_store_id=store.id, poll_interval_ms=POLL, max_wait_seconds=30, **more
    )


# ------------------------------------------------------------------------------------------------ files


def test_a_file_goes_in_and_comes_out(either: OpenAI) -> None:
    content = bytes(range(256)) * 5000
    made = either.files.create(file=("naïve.bin", content), purpose="user_data")
    found = either.files.retrieve(made.id)
    listed = {one.id: one for one in either.files.list(purpose="user_data")}

    assert made.id.startswith("file-")
    assert (made.filename, made.bytes, made.purpose, made.object) == ("naïve.bin", len(content), "user_data", "file")
    assert made.expires_at is None
    assert found.to_dict() == made.to_dict() == listed[made.id].to_dict()
    assert either.files.content(made.id).read() == content
    assert made.id not in {one.id for one in either.files.list(purpose="batch")}
    gone = either.files.delete(made.id)
    assert (gone.id, gone.deleted, gone.object) == (made.id, True, "file")
    for lost in (either.files.retrieve, either.files.content, either.files.delete):
        with pytest.raises(NotFoundError, match=r"not found"):
            lost(made.id)


def test_an_empty_file_is_a_file(client: OpenAI) -> None:
    made = client.files.create(file=("empty.txt", b""), purpose="assistants")

    assert (made.bytes, client.files.content(made.id).read()) == (0, b"")


def test_a_file_lives_as_long_as_was_said(client: OpenAI) -> None:
    expiry: ExpiresAfter = {"anchor": "created_at", "seconds": 3600}
    too_soon: ExpiresAfter = {"anchor": "created_at", "seconds": 60}
    made = client.files.create(file=("short.txt", b"x"), purpose="assistants", expires_after=expiry)

    assert made.expires_at == made.created_at + 3600
    with pytest.raises(BadRequestError, match=r"expires_after.seconds"):
        client.files.create(file=("s.txt", b"x"), purpose="assistants", expires_after=too_soon)


def test_files_are_listed_page_by_page(client: OpenAI) -> None:
    made = [client.files.create(file=(f"{n}.txt", b"x"), purpose="vision").id for n in range(5)]
    newest_first = [one.id for one in client.files.list(purpose="vision", limit=2)]
    oldest_first = [one.id for one in client.files.list(purpose="vision", limit=2, order="asc")]
    page = client.files.list(purpose="vision", limit=2, order="asc", after=made[1])

    assert newest_first == made[::-1]
    assert oldest_first == made
    assert ([one.id for one in page.data], page.has_more) == (made[2:4], True)
    for name in made:
        client.files.delete(name)


def test_a_large_file_passes_through_without_staying_in_memory(server: ServerProcess, client: OpenAI) -> None:
    content = random.Random(7).randbytes(60 * 2**20)
    client.files.list()
    before = peak(server)
    made = client.files.create(file=("large.bin", content), purpose="assistants")
    digest = hashlib.sha256()
    with client.files.with_streaming_response.content(made.id) as response:
        for piece in response.iter_bytes():
            digest.update(piece)

    assert made.bytes == len(content)
    assert digest.digest() == hashlib.sha256(content).digest()
    assert peak(server) - before < 40 * 2**20
    client.files.delete(made.id)


def peak(server: ServerProcess) -> int:
    """The most memory the server's process has held, in bytes."""
    assert server._process is not None  # it runs
    status = Path(f"/proc/{server._process.pid}/status").read_text()
    [line] = [line for line in status.splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) * 1024


# ----------------------------------------------------------------------------------------------- stores


def test_a_store_is_made_changed_and_deleted(either: OpenAI) -> None:
    expiry: Any = {"anchor": "last_active_at", "days": 7}
    made = either.vector_stores.create(name="kitchen", metadata={"room": "kitchen"}, expires_after=expiry)
    changed = either.vector_stores.update(made.id, name="cellar", metadata={"room": "cellar"}, expires_after=None)

    assert made.id.startswith("vs_")
    assert (made.name, made.metadata, made.status, made.usage_bytes) == ("kitchen", {"room": "kitchen"}, "completed", 0)
    assert made.file_counts.total == 0
    assert made.expires_at == (made.last_active_at or 0) + 7 * 86_400
    assert (changed.name, changed.metadata, changed.expires_after, changed.expires_at) == (
        "cellar",
        {"room": "cellar"},
        None,
        None,
    )
    assert either.vector_stores.retrieve(made.id).to_dict() == changed.to_dict()
    assert made.id in {one.id for one in either.vector_stores.list(limit=100)}
    gone = either.vector_stores.delete(made.id)
    assert (gone.id, gone.deleted, gone.object) == (made.id, True, "vector_store.deleted")
    with pytest.raises(NotFoundError):
        either.vector_stores.retrieve(made.id)


def test_stores_are_listed_both_ways(client: OpenAI) -> None:
    made = [client.vector_stores.create(name=str(number)).id for number in range(4)]
    behind = client.vector_stores.list(after=made[2], limit=2)
    before = client.vector_stores.list(before=made[0], limit=2)

    assert [one.id for one in behind.data] == [made[1], made[0]]
    assert [one.id for one in before.data] == [made[2], made[1]]
    for name in made:
        client.vector_stores.delete(name)


def test_a_store_takes_files_when_it_is_made(client: OpenAI) -> None:
    files = [upload(client, "kettle.txt", KETTLE), upload(client, "cup.txt", CUP)]
    made = client.vector_stores.create(name="both", file_ids=[one.id for one in files])
    ready = eventually(lambda: ready_store(client, made.id))

    assert (ready.status, ready.file_counts.completed, ready.file_counts.total) == ("completed", 2, 2)
    assert ready.usage_bytes == len(KETTLE) + len(CUP)
    with pytest.raises(NotFoundError):
        client.vector_stores.create(name="none", file_ids=["file-0"])
    assert "none" not in {one.name for one in client.vector_stores.list()}
    client.vector_stores.delete(made.id)
    assert client.files.retrieve(files[0].id).id == files[0].id


def ready_store(client: OpenAI, store: str) -> VectorStore | None:
    found = client.vector_stores.retrieve(store)
    return found if found.file_counts.in_progress == 0 else None


# ------------------------------------------------------------------------------------------ files in stores


def test_a_file_in_a_store(client: OpenAI, store: VectorStore) -> None:
    chunking: Any = {"type": "static", "static": {"max_chunk_size_tokens": 100, "chunk_overlap_tokens": 0}}
    text = f"{KETTLE} " * 20
    file = add(client, store, "kettle.txt", text, attributes={"room": "kitchen"}, chunking_strategy=chunking)
    content = list(client.vector_stores.files.content(file.id, vector_store_id=store.id))
    listed = list(client.vector_stores.files.list(store.id, filter="completed"))

    assert (file.status, file.last_error, file.attributes) == ("completed", None, {"room": "kitchen"})
    assert (file.object, file.vector_store_id, file.usage_bytes) == ("vector_store.file", store.id, len(text))
    assert file.chunking_strategy.to_dict() == chunking
    assert len(content) > 1
    assert all(str(part.text) in text for part in content)
    assert (text.startswith(str(content[0].text)), text.strip().endswith(str(content[-1].text))) == (True, True)
    assert [one.to_dict() for one in listed] == [file.to_dict()]
    assert list(client.vector_stores.files.list(store.id, filter="failed")) == []
    gone = client.vector_stores.files.delete(file.id, vector_store_id=store.id)
    assert (gone.deleted, gone.object) == (True, "vector_store.file.deleted")
    with pytest.raises(NotFoundError):
        client.vector_stores.files.retrieve(file.id, vector_store_id=store.id)
    assert client.files.retrieve(file.id).filename == "kettle.txt"
    assert client.vector_stores.search(store.id, query="kettle").data == []


def test_upload_and_poll(client: OpenAI, store: VectorStore, tmp_path: Path) -> None:
    path = tmp_path / "notes.md"
    path.write_text(f"# Notes\n\n{KETTLE}")
    with path.open("rb") as opened:
        file = client.vector_stores.files.upload_and_poll(
            vector_store_id=store.id, file=opened, poll_interval_ms=POLL, max_wait_seconds=30
        )

    assert (file.status, file.chunking_strategy.to_dict()["static"]) == (  # type: ignore[union-attr]  # it has one
        "completed",
        {"max_chunk_size_tokens": 800, "chunk_overlap_tokens": 400},
    )
    [hit] = client.vector_stores.search(store.id, query="what whistles?").data
    assert (hit.file_id, hit.filename, hit.attributes) == (file.id, "notes.md", {})
    assert KETTLE in hit.content[0].text


@pytest.mark.parametrize(
    ("name", "content", "code"),
    [
        ("picture.png", b"\x89PNG\r\n\x1a\n\0\0", "unsupported_file"),
        ("numbers.bin", bytes(range(256)), "unsupported_file"),
        ("broken.pdf", b"%PDF-1.4 and nothing more", "invalid_file"),
        ("latin.txt", "Kaffeelöffel".encode("latin-1") * 10, "unsupported_file"),
    ],
)
def test_a_file_that_cannot_be_read_says_why(
    name: str, content: bytes, code: str, client: OpenAI, store: VectorStore
) -> None:
    file = add(client, store, name, content)

    assert (file.status, file.last_error and file.last_error.code) == ("failed", code)
    assert file.last_error is not None
    assert name in file.last_error.message
    counts = client.vector_stores.retrieve(store.id)
    assert (counts.status, counts.file_counts.failed, counts.file_counts.completed) == ("completed", 1, 0)


def test_files_of_all_kinds_are_read(client: OpenAI, store: VectorStore) -> None:
    given: dict[str, bytes] = {
        "a.pdf": make_pdf(),
        "b.html": b"<p>Hello from <b>HTML</b></p><script>alert(1)</script>",
        "c.csv": b"greeting,from\nHello,CSV",
        "d.json": b'{"greeting": "Hello from JSON"}',
        "e.rs": b'fn main() { println!("Hello from Rust") }',
        "f": b"Hello from a file without an ending",
    }
    files = {name: add(client, store, name, content) for name, content in given.items()}
    texts = {
        name: " ".join(str(part.text) for part in client.vector_stores.files.content(file.id, vector_store_id=store.id))
        for name, file in files.items()
    }

    assert {file.status for file in files.values()} == {"completed"}
    assert texts["a.pdf"] == "Hello from a PDF"
    assert texts["b.html"] == "Hello from HTML"
    assert texts["c.csv"] == "greeting: Hello; from: CSV"
    assert all("Hello" in text for text in texts.values())


def test_a_deleted_file_is_in_no_store_any_more(client: OpenAI, store: VectorStore) -> None:
    file = add(client, store, "kettle.txt", KETTLE)
    assert len(client.vector_stores.search(store.id, query="kettle").data) == 1
    client.files.delete(file.id)

    assert client.vector_stores.search(store.id, query="kettle").data == []
    assert client.vector_stores.retrieve(store.id).file_counts.total == 0
    with pytest.raises(NotFoundError):
        client.vector_stores.files.create(store.id, file_id=file.id)


# ---------------------------------------------------------------------------------------------- batches


def test_a_batch_goes_in_together(client: OpenAI, store: VectorStore) -> None:
    files = [upload(client, name, text) for name, text in (("kettle.txt", KETTLE), ("cup.txt", CUP), ("x.png", "\0"))]
    batch = client.vector_stores.file_batches.create_and_poll(
        store.id, file_ids=[one.id for one in files], attributes={"room": "kitchen"}, poll_interval_ms=POLL
    )
    listed = list(client.vector_stores.file_batches.list_files(batch.id, vector_store_id=store.id, limit=2))
    failed = list(client.vector_stores.file_batches.list_files(batch.id, vector_store_id=store.id, filter="failed"))

    assert batch.id.startswith("vsfb_")
    assert (batch.status, batch.vector_store_id) == ("completed", store.id)
    assert batch.object == "vector_store.files_batch"
    counts = batch.file_counts
    assert (counts.completed, counts.failed, counts.in_progress, counts.total) == (2, 1, 0, 3)
    assert sorted(one.id for one in listed) == sorted(one.id for one in files)
    assert [one.id for one in failed] == [files[2].id]
    assert all(one.attributes == {"room": "kitchen"} for one in listed)
    assert client.vector_stores.file_batches.cancel(batch.id, vector_store_id=store.id).status == "completed"


def test_a_batch_of_files_each_on_its_own_terms(client: OpenAI, store: VectorStore) -> None:
    kettle, cup = upload(client, "kettle.txt", KETTLE), upload(client, "cup.txt", CUP)
    batch = client.vector_stores.file_batches.create_and_poll(
        store.id,
        files=[{"file_id": kettle.id, "attributes": {"colour": "blue"}}, {"file_id": cup.id}],
        poll_interval_ms=POLL,
    )

    assert batch.status == "completed"
    found = client.vector_stores.files.retrieve(kettle.id, vector_store_id=store.id)
    assert found.attributes == {"colour": "blue"}
    with pytest.raises(BadRequestError, match="either file_ids or files"):
        client.vector_stores.file_batches.create(store.id, file_ids=[cup.id], files=[{"file_id": cup.id}])


# ----------------------------------------------------------------------------------------------- search

NOTES = {
    "north.txt": ("The budget of the north.", {"region": "north", "year": 2023, "open": True, "on": "2023-05-01"}),
    "south.txt": ("The budget of the south.", {"region": "south", "year": 2024, "open": False, "on": "2024-05-01"}),
    "plain.txt": ("The budget of nobody.", {}),
}


@pytest.fixture(scope="module")
def notes(server: ServerProcess) -> Iterator[Callable[..., list[str]]]:
    """Asks a store of three notes for budgets; the names of those found, sorted."""
    with OpenAI(base_url=f"{server.base}/v1", api_key="none", max_retries=0) as client:
        store = client.vector_stores.create(name="notes", extra_body={"embedding_model": "scripted/embed"})
        for name, (text, attributes) in NOTES.items():
            assert add(client, store, name, text, attributes=attributes).status == "completed"

        def ask(query: Any = "budget", **more: Any) -> list[str]:
            return sorted(one.filename for one in client.vector_stores.search(store.id, query=query, **more))

        yield ask
        client.vector_stores.delete(store.id)


NORTH, SOUTH, PLAIN = NOTES


def compare(kind: str, key: str, value: Any) -> dict[str, Any]:
    return {"type": kind, "key": key, "value": value}


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        (compare("eq", "region", "north"), [NORTH]),
        (compare("ne", "region", "north"), [PLAIN, SOUTH]),
        (compare("gt", "year", 2023), [SOUTH]),
        (compare("gte", "year", 2023), [NORTH, SOUTH]),
        (compare("lt", "on", "2024-01-01"), [NORTH]),
        (compare("lte", "year", 2022.5), []),
        (compare("eq", "open", False), [SOUTH]),
        (compare("eq", "year", True), []),
        (compare("in", "region", ["south", "west"]), [SOUTH]),
        (compare("nin", "region", ["south", "west"]), [NORTH, PLAIN]),
        ({"type": "and", "filters": [compare("gte", "year", 2023), compare("eq", "region", "south")]}, [SOUTH]),
        (
            {
                "type": "or",
                "filters": [
                    compare("eq", "region", "north"),
                    {"type": "and", "filters": [compare("eq", "year", 2024), compare("eq", "open", False)]},
                ],
            },
            [NORTH, SOUTH],
        ),
        (None, [NORTH, PLAIN, SOUTH]),
    ],
)
def test_filters(filters: Any, found: list[str], notes: Callable[..., list[str]]) -> None:
    assert notes(filters=filters) == found
    assert notes(filters=filters, extra_body={"search_mode": "keyword"}) == found


def test_limits_of_a_search(notes: Callable[..., list[str]]) -> None:
    assert len(notes(max_num_results=2)) == 2
    assert notes(["north", "south"], extra_body={"search_mode": "keyword"}) == [NORTH, SOUTH]
    assert notes("budget of the north", ranking_options={"score_threshold": 0.99, "ranker": "auto"}) == [NORTH]
    assert notes("zebra", extra_body={"search_mode": "keyword"}, rewrite_query=True) == []
    refused: tuple[dict[str, Any], ...] = (
        {"max_num_results": 51},
        {"filters": {"type": "near"}},
        {"query": ""},
        {"query": []},
    )
    for wrong in refused:
        with pytest.raises(BadRequestError, match=next(iter(wrong))):
            notes(**wrong)


def test_what_a_search_says(client: OpenAI, store: VectorStore) -> None:
    add(client, store, "kettle.txt", KETTLE, attributes={"room": "kitchen"})
    add(client, store, "cup.txt", CUP)
    assert client.vector_stores.files.update(
        (file := add(client, store, "pot.txt", "A kettle and a cup, too.")).id,
        vector_store_id=store.id,
        attributes={"late": True},
    ).attributes == {"late": True}
    raw = client.vector_stores.with_raw_response.search(store.id, query="blue kettle").http_response.json()

    assert (raw["object"], raw["search_query"], raw["has_more"], raw["next_page"]) == (
        "vector_store.search_results.page",
        ["blue kettle"],
        False,
        None,
    )
    first, second = raw["data"]
    assert first["content"] == [{"type": "text", "text": KETTLE}]
    assert (first["filename"], first["attributes"], first["score"]) == ("kettle.txt", {"room": "kitchen"}, 1.0)
    assert (second["file_id"], second["attributes"]) == (file.id, {"late": True})
    assert 0 < second["score"] < 1


# ---------------------------------------------------------------------------------- with Llama Stack's client


def test_stores_through_llama_stacks_client(client: OpenAI, llama: LlamaStackClient) -> None:
    made = llama.vector_stores.create(
        name="kb", embedding_model="all-MiniLM-L6-v2", embedding_dimension=384, provider_id="faiss"
    )
    file = upload(client, "kettle.txt", KETTLE)
    llama.vector_stores.files.create(made.id, file_id=file.id, attributes={"room": "kitchen"})
    eventually(lambda: ready_store(client, made.id))
    found = llama.vector_stores.search(made.id, query="kettle", filters=compare("eq", "room", "kitchen"))

    assert [one.content[0].text for one in found.data] == [KETTLE]
    assert llama.vector_stores.retrieve(made.id).file_counts.completed == 1
    assert llama.vector_stores.update(made.id, name="other").name == "other"
    assert made.id in {one.id for one in llama.vector_stores.list().data}
    assert llama.files.retrieve(file.id).filename == "kettle.txt"
    assert llama.files.content(file.id) == KETTLE
    assert file.id in {one.id for one in llama.files.list().data}
    assert llama.vector_stores.delete(made.id).deleted


def test_a_store_is_a_vector_database(client: OpenAI, llama: LlamaStackClient, store: VectorStore) -> None:
    file = add(client, store, "kettle.txt", KETTLE, attributes={"room": "kitchen"})
    found = llama.tool_runtime.rag_tool.query(content="what whistles?", vector_db_ids=[store.id])
    tool = llama.tool_runtime.invoke_tool(
        tool_name="knowledge_search", kwargs={"query": "kettle", "vector_db_ids": [store.id]}
    )
    document: Any = {"document_id": "cup", "content": CUP, "mime_type": "text/plain", "metadata": {"room": "hall"}}
    llama.tool_runtime.rag_tool.insert(documents=[document], vector_db_id=store.id, chunk_size_in_tokens=64)
    [hit] = client.vector_stores.search(store.id, query="red", filters=compare("eq", "room", "hall"))  # type: ignore[arg-type]  # a plain dict

    assert llama.vector_dbs.retrieve(store.id).identifier == store.id
    assert found.metadata["document_ids"] == [file.id]
    assert "kitchen" in found.content[1].text  # type: ignore[index, union-attr]  # a text
    assert KETTLE in str(tool.content)
    assert (hit.file_id, hit.filename, hit.attributes) == ("cup", "cup", {"room": "hall", "document_id": "cup"})


@pytest.mark.parametrize("mode", ["keyword", "vector", "hybrid"])
def test_chunks_are_found_by_their_own_metadata(
    mode: str, client: OpenAI, llama: LlamaStackClient, store: VectorStore
) -> None:
    pages = [{"document_id": "notes", "page": page, "room": "hall", "seen": {"by": ["ann"]}} for page in (1, 2, 3)]
    chunks: Any = [{"content": f"page {page['page']}: a kettle", "metadata": page} for page in pages]
    llama.vector_io.insert(vector_db_id=store.id, chunks=chunks)
    late: Any = {"type": "and", "filters": [compare("gte", "page", 2), compare("eq", "room", "hall")]}
    hits = client.vector_stores.search(store.id, query="kettle", filters=late, extra_body={"search_mode": mode}).data

    assert {hit.content[0].text for hit in hits} == {"page 2: a kettle", "page 3: a kettle"}
    shown = {"document_id": "notes", "page": 2, "room": "hall"}
    assert shown in [hit.attributes for hit in hits]
    none: Any = compare("eq", "room", "kitchen")
    assert not client.vector_stores.search(store.id, query="kettle", filters=none).data


# ---------------------------------------------------------------------------------------------- crashes


def test_a_file_whose_server_dies_is_read_by_the_next_one(own_server: ServerProcess) -> None:
    def connect() -> OpenAI:
        return OpenAI(base_url=f"{own_server.base}/v1", api_key="none", max_retries=0)

    with connect() as client:
        store = client.vector_stores.create(name="mortal")
        large = upload(client, "large.txt", "a word and another " * 600_000)
        file = client.vector_stores.files.create(store.id, file_id=large.id)
        assert file.status == "in_progress"
    own_server.kill()
    own_server.start()

    with connect() as client:

        def status() -> str:
            return client.vector_stores.files.retrieve(large.id, vector_store_id=store.id).status

        eventually(lambda: status() == "completed", 60)
        assert client.files.retrieve(large.id).bytes == large.bytes


def test_a_store_has_as_many_numbers_as_its_model_gives(guarded: ServerProcess) -> None:
    with OpenAI(base_url=f"{guarded.base}/v1", api_key="none", max_retries=0) as client:
        file = client.files.create(file=("kettles.txt", b"The kettle is blue."), purpose="assistants")
        store = client.vector_stores.create(name="kb", extra_body={"embedding_model": "lab/embed"})
        added = client.vector_stores.files.create_and_poll(file.id, vector_store_id=store.id)
        assert (added.status, added.last_error) == ("completed", None)
        [hit] = client.vector_stores.search(store.id, query="anything").data
        assert hit.file_id == file.id

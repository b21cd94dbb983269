"""Files and the documents made of them in the store: all or nothing, expiry, attempts that no longer count."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from agents.base import ids
from agents.base.access import Actor
from agents.base.errors import InvalidRequest, NotFound
from agents.base.models.processes import Process
from agents.base.store.keyset import Cursor
from agents.base.timestamps import to_datetime
from agents.knowledge.models.files import File, FileBlock
from agents.knowledge.models.vector_dbs import Chunk, FileBatch, VectorDocument
from agents.knowledge.schemas.filters import AttributeComparison
from agents.knowledge.store import (
    files,
    filter_sql,
    indexing,
    retrieval,
    vector_dbs,
    vector_files,
    vector_stores,
    vectors,
)
from agents.knowledge.store.files import BLOCK_BYTES, FileRecord, NewFile
from agents.knowledge.store.retrieval import SearchMethod
from agents.knowledge.store.vector_dbs import NewChunk
from agents.knowledge.store.vector_files import AddedFiles, NewStoreFile
from agents.knowledge.store.vector_stores import NewStore
from tests.conftest import Clock

MakeUser = Callable[..., Actor]
HERE, GONE = "5e2e", "60e0"
"""A process that lives, and one that does not."""


@pytest.fixture(autouse=True)
def lives(db: None) -> None:
    for process in (HERE, "another"):
        Process.objects.create(id=process, pid=1, started_at=to_datetime(ids.now_us()))


@pytest.fixture
def ann(make_user: MakeUser) -> Actor:
    return make_user("ann", teams=["red"])


def make_file(actor: Actor, content: bytes = b"kettle", name: str = "kettle.txt") -> FileRecord:
    pieces = (content[at : at + BLOCK_BYTES] for at in range(0, len(content), BLOCK_BYTES))
    return files.create(actor, NewFile(name, "assistants", "text/plain"), pieces)


def make_store(actor: Actor, expires_days: int | None = None) -> str:
    made = vector_files.create_store(actor, NewStore("kb", "keyword", 4, expires_days=expires_days), [], HERE)
    return ids.openai(ids.Kind.VECTOR_STORE, made.store)


def add(actor: Actor, store: str, *names: str, owner: str = HERE, batch: bool = False) -> AddedFiles:
    wanted = [NewStoreFile(name, 800, 400, {"n": place}) for place, name in enumerate(names)]
    return vector_files.add(actor, store, wanted, owner, batch=batch)


def fill(added: AddedFiles, text: str = "a blue kettle", vector: list[float] | None = None) -> list[bool]:
    chunk = NewChunk(text, 3, {}, vectors.pack(vector) if vector else None)
    return [indexing.fill(one, added.store, [chunk], len(text)) for one in added.work]


def rows() -> dict[str, int]:
    counted = {model.__name__: model.objects.count() for model in (FileBlock, VectorDocument, Chunk, FileBatch)}
    return {**counted, "File": File.objects.unscoped("counted").count()}


# ------------------------------------------------------------------------------------------------ files


def test_a_file_is_kept_in_blocks(ann: Actor) -> None:
    content = bytes(range(256)) * (BLOCK_BYTES // 100)
    made = make_file(ann, content)

    assert made.size == len(content)
    assert b"".join(files.blocks(made.key)) == content
    assert FileBlock.objects.count() == -(-len(content) // BLOCK_BYTES)
    assert files.block(made.key, 99) is None


def test_an_upload_that_breaks_off_leaves_nothing(ann: Actor) -> None:
    def broken() -> Iterator[bytes]:
        yield b"x" * BLOCK_BYTES
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        files.create(ann, NewFile("x", "assistants"), broken())
    assert set(rows().values()) == {0}


def test_nobody_sees_a_file_that_is_still_coming(ann: Actor) -> None:
    def looking() -> Iterator[bytes]:
        yield b"x"
        assert rows()["File"] == 1
        assert files.listing(ann, Cursor()) == ([], False)

    files.create(ann, NewFile("x", "assistants"), looking())
    assert len(files.listing(ann, Cursor())[0]) == 1


def test_an_expired_file_is_gone_at_once_and_cleared_away_later(ann: Actor, clock: Clock) -> None:
    made = files.create(ann, NewFile("x", "assistants", lives_s=3600), [b"x"])
    store = make_store(ann)
    fill(add(ann, store, made.public_id))
    clock.pass_s(3599)
    assert files.get(ann, made.public_id) == made
    assert files.expire(ids.now_us()) == 0
    clock.pass_s(2)

    with pytest.raises(NotFound):
        files.get(ann, made.public_id)
    assert files.listing(ann, Cursor()) == ([], False)
    with pytest.raises(NotFound):
        add(ann, store, made.public_id)
    assert files.expire(ids.now_us()) == 1
    assert set(rows().values()) == {0}
    assert vector_dbs.get(ann, store).version == 2


def test_an_upload_that_was_killed_is_cleared_away(ann: Actor, clock: Clock) -> None:
    unfinished = make_file(ann)
    File.objects.unscoped("test").update(stored=False, expires_at=clock.now_us + files.UNFINISHED_US)
    with pytest.raises(NotFound):
        files.get(ann, unfinished.public_id)
    assert files.expire(ids.now_us()) == 0
    clock.pass_s(3601)

    assert files.expire(ids.now_us()) == 1
    assert rows()["FileBlock"] == 0


def test_files_are_their_owners_and_their_teams(ann: Actor, make_user: MakeUser) -> None:
    bob, eve = make_user("bob", teams=["red"]), make_user("eve", teams=["green"])
    made, store = make_file(ann), make_store(ann)
    theirs = make_store(eve)

    assert files.get(bob, made.public_id) == made
    for wrong in (
        lambda: files.get(eve, made.public_id),
        lambda: files.delete(eve, made.public_id),
        lambda: add(eve, theirs, made.public_id),
        lambda: add(eve, store, make_file(eve).public_id),
        lambda: vector_stores.delete(eve, store),
    ):
        with pytest.raises(NotFound):
            wrong()
    assert rows()["VectorDocument"] == 0


# --------------------------------------------------------------------------------------- files in stores


def test_all_of_a_batch_or_none(ann: Actor) -> None:
    store, one = make_store(ann), make_file(ann).public_id
    with pytest.raises(NotFound, match="file-nothing"):
        add(ann, store, one, "file-nothing", batch=True)
    with pytest.raises(InvalidRequest, match="twice"):
        add(ann, store, one, one, batch=True)

    assert (rows()["VectorDocument"], rows()["FileBatch"]) == (0, 0)


def test_a_file_put_in_again_is_read_again(ann: Actor) -> None:
    store, file = make_store(ann), make_file(ann).public_id
    first = add(ann, store, file)
    assert fill(first, "an old kettle") == [True]
    second = add(ann, store, file)
    again = vector_files.get(ann, store, file)

    assert (again.status, rows()["Chunk"]) == ("in_progress", 0)
    assert fill(first, "an old kettle") == [False]
    assert fill(second) == [True]
    assert list(vector_files.texts(vector_files.get(ann, store, file))) == ["a blue kettle"]
    assert rows()["VectorDocument"] == 1


def test_what_was_cancelled_is_not_filled(ann: Actor) -> None:
    store, names = make_store(ann), [make_file(ann).public_id for _ in range(3)]
    added = add(ann, store, *names, batch=True)
    assert added.batch is not None
    public = ids.openai(ids.Kind.FILE_BATCH, added.batch)
    done = indexing.fill(added.work[0], added.store, [NewChunk("a kettle", 2)], 8)
    assert vector_files.get_batch(ann, store, public).status == "in_progress"
    batch = vector_files.cancel(ann, store, public)

    assert (done, batch.status, batch.counts) == (True, "cancelled", {"completed": 1, "cancelled": 2})
    assert indexing.begin(added.work[1]) is None
    assert indexing.fill(added.work[1], added.store, [NewChunk("a kettle", 2)], 8) is False
    indexing.fail(added.work[2], "server_error", "too late")
    assert vector_files.get_batch(ann, store, public).counts == {"completed": 1, "cancelled": 2}
    assert vector_stores.get(ann, store).counts == {"completed": 1, "cancelled": 2}


def test_a_batch_of_failures_has_failed(ann: Actor) -> None:
    store = make_store(ann)
    added = add(ann, store, make_file(ann).public_id, batch=True)
    assert added.batch is not None
    indexing.fail(added.work[0], "invalid_file", "x" * 9000)
    public = ids.openai(ids.Kind.FILE_BATCH, added.batch)
    [file] = vector_files.listing(ann, store, Cursor(), batch=public, status="failed")[0]

    assert vector_files.get_batch(ann, store, public).status == "failed"
    assert (file.error_code, file.error) == ("invalid_file", "x" * 2000)


def test_work_whose_process_is_gone_is_taken_over(ann: Actor, clock: Clock) -> None:
    store = make_store(ann)
    lost, held, mine = (add(ann, store, make_file(ann).public_id, owner=owner).work[0] for owner in (GONE, HERE, HERE))

    def taken(own: frozenset[int] = frozenset(), owner: str = HERE) -> list[int]:
        return [work.document for work in indexing.take_over(owner, ids.now_us(), own)]

    assert taken() == [lost.document]
    assert indexing.begin(lost) is None
    clock.pass_s(indexing.LEASE_S - 1)
    indexing.renew([lost.document, mine.document], HERE, ids.now_us())
    clock.pass_s(2)
    assert taken() == [held.document]
    clock.pass_s(2 * indexing.LEASE_S)
    assert taken(frozenset({mine.document, held.document})) == [lost.document]
    indexing.release([lost.document], HERE)
    assert taken(frozenset({mine.document, held.document}), "another") == [lost.document]
    assert taken(frozenset({mine.document, held.document})) == []


def test_a_file_that_the_server_dies_of_is_given_up(ann: Actor) -> None:
    store = make_store(ann)
    [work] = add(ann, store, make_file(ann).public_id).work
    for _ in range(indexing.MAX_ATTEMPTS):
        assert indexing.begin(work) is not None
        indexing.release([work.document], HERE)
        [work] = indexing.take_over(HERE, ids.now_us())
    assert indexing.begin(work) is None
    document = VectorDocument.objects.get(pk=work.document)
    assert (document.status, document.error_code) == ("failed", "server_error")
    assert indexing.take_over(HERE, ids.now_us()) == []


def test_other_attributes_are_told_with_the_chunks(ann: Actor) -> None:
    store, file = make_store(ann), make_file(ann).public_id
    fill(add(ann, store, file))
    vector_files.describe(ann, store, file, {"room": "kitchen"})
    [found] = retrieval.search(vector_dbs.get(ann, store), "kettle", None, SearchMethod(5))

    assert found.metadata == {"room": "kitchen", "document_id": file, "filename": "kettle.txt"}
    assert vector_files.get(ann, store, file).attributes == {"room": "kitchen"}


def test_a_store_goes_with_all_that_is_in_it_but_its_files(ann: Actor) -> None:
    store, file = make_store(ann), make_file(ann)
    fill(add(ann, store, file.public_id, batch=True))
    vector_stores.delete(ann, store)

    assert rows() == {"File": 1, "FileBlock": 1, "VectorDocument": 0, "Chunk": 0, "FileBatch": 0}


@pytest.mark.parametrize("mode", ["keyword", "vector", "hybrid"])
def test_a_search_within_a_selection(mode: retrieval.Mode, ann: Actor) -> None:
    store, names = make_store(ann), [make_file(ann).public_id for _ in range(3)]
    fill(add(ann, store, *names), vector=[1.0, 0.0, 0.0, 0.0])
    db = vector_dbs.get(ann, store)

    def found(least: int) -> set[str]:
        within = filter_sql.chunks_matching(db.key, AttributeComparison("gte", "n", least))
        hits = retrieval.search(db, "kettle", [1.0, 0.1, 0.0, 0.0], SearchMethod(5, mode), within)
        return {one.document_id for one in hits}

    assert found(0) == set(names)
    assert found(1) == set(names[1:])
    assert found(2) == {names[2]}
    assert found(3) == set()


# ------------------------------------------------------------------------------------------------ expiry


def test_a_store_expires_after_its_last_use(ann: Actor, clock: Clock) -> None:
    store, file = make_store(ann, expires_days=1), make_file(ann).public_id
    clock.pass_s(86_000)
    vector_stores.use(vector_dbs.get(ann, store).key)
    clock.pass_s(86_000)
    add(ann, store, file)
    clock.pass_s(86_401)

    with pytest.raises(InvalidRequest, match="expired"):
        vector_stores.use(vector_dbs.get(ann, store).key)
    with pytest.raises(InvalidRequest, match="expired"):
        add(ann, store, file)
    vector_stores.update(ann, store, {"expires_days": 2})
    vector_stores.use(vector_dbs.get(ann, store).key)
    assert vector_stores.get(ann, store).expires_at == clock.now_us + 2 * vector_stores.DAY_US

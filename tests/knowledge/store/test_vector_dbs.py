"""Vector databases in the store: whose they are, what is found, what goes with what."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from agents.base import ids
from agents.base.access import Actor
from agents.base.errors import Conflict, NotFound
from agents.knowledge.models.vector_dbs import Chunk, VectorDB, VectorDocument
from agents.knowledge.store import retrieval, vector_dbs, vectors
from agents.knowledge.store.retrieval import Fusion, SearchMethod
from agents.knowledge.store.vector_dbs import NewChunk, NewDocument, VectorDBRecord
from agents.record.store import sessions
from tests.support.builders import make_session

MakeUser = Callable[..., Actor]
RED, GREEN, BLUE = [1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]


@pytest.fixture
def ann(make_user: MakeUser) -> Actor:
    return make_user("ann", teams=["red"])


def make_db(actor: Actor, name: str = "kb", **more: Any) -> VectorDBRecord:
    given = {"embedding_model": "keyword", "embedding_dimension": 4, "provider_id": "builtin", **more}
    return vector_dbs.register(actor, name, **given)


def fill(db: VectorDBRecord, **texts: str | tuple[str, list[float]]) -> None:
    """Documents of one chunk each, some with a vector."""
    made = []
    for name, given in texts.items():
        text, vector = given if isinstance(given, tuple) else (given, None)
        chunk = NewChunk(text, len(text.split()), {"page": 1}, vectors.pack(vector) if vector else None)
        made.append(NewDocument(name, [chunk], size=len(text)))
    vector_dbs.insert(db.key, made)


def found(actor: Actor, db: VectorDBRecord, question: str, vector: list[float] | None = None, **how: Any) -> list[str]:
    now = vector_dbs.get(actor, db.identifier)
    return [one.document_id for one in retrieval.search(now, question, vector, SearchMethod(**{"limit": 5, **how}))]


# ---------------------------------------------------------------------------------------------- databases


def test_a_database_is_its_makers_and_its_teams(ann: Actor, make_user: MakeUser) -> None:
    bob, eve = make_user("bob", teams=["red"]), make_user("eve", teams=["green"])
    made = make_db(ann)

    assert vector_dbs.get(ann, "kb") == vector_dbs.get(bob, "kb") == made
    assert (vector_dbs.listing(bob), vector_dbs.listing(eve)) == ([made], [])
    with pytest.raises(NotFound):
        vector_dbs.get(eve, "kb")
    with pytest.raises(NotFound):
        vector_dbs.delete(eve, "kb")
    assert make_db(eve).key != made.key  # of the same name, and she is not told
    assert vector_dbs.get(eve, "kb").key != made.key


def test_ones_own_comes_before_a_colleagues(ann: Actor, make_user: MakeUser) -> None:
    bob = make_user("bob", teams=["red"])
    of_ann, of_bob = make_db(ann), make_db(bob)

    assert [vector_dbs.get(who, "kb").key for who in (ann, bob)] == [of_ann.key, of_bob.key]


def test_registering_again_finds_the_same(ann: Actor) -> None:
    assert make_db(ann) == make_db(ann)
    with pytest.raises(Conflict):
        make_db(ann, embedding_dimension=8)


def test_deleting_leaves_nothing(ann: Actor) -> None:
    kept, gone = make_db(ann, "kept"), make_db(ann, "gone")
    for db in (kept, gone):
        fill(db, one=("Kettles are blue.", BLUE))
    vector_dbs.delete(ann, "gone")

    assert [model.objects.count() for model in (Chunk, VectorDocument)] == [1, 1]
    assert VectorDB.objects.unscoped("counted").count() == 1
    with connection.cursor() as cursor:
        cursor.execute("SELECT COUNT(*) FROM agents_chunk_search")
        assert cursor.fetchone()[0] == 1
    with pytest.raises(NotFound):
        vector_dbs.insert(gone.key, [NewDocument("late", [])])


def test_a_sessions_database_dies_with_it(ann: Actor, make_user: MakeUser) -> None:
    session = make_session(ann)
    assert vector_dbs.of_session(session) is None
    db = vector_dbs.of_session(session, embedding_model="keyword")
    assert db is not None
    fill(db, one="Kettles are blue.")

    assert vector_dbs.of_session(session, embedding_model="keyword") == vector_dbs.get(ann, db.identifier)
    assert db.identifier == f"vector_db_{ids.public(ids.Kind.SESSION, session)}"
    assert vector_dbs.listing(ann) == []
    with pytest.raises(NotFound):
        vector_dbs.get(make_user("eve", teams=["green"]), db.identifier)
    sessions.delete(ann, session)
    assert Chunk.objects.count() == 0


# ------------------------------------------------------------------------------------------------ by words


def test_rare_words_weigh_more(ann: Actor) -> None:
    db = make_db(ann)
    fill(db, a="the kettle is blue", b="the kettle is red", c="the whistle of the kettle", d="the cup")

    assert found(ann, db, "which kettle has a whistle?")[0] == "c"
    assert set(found(ann, db, "kettle")) == {"a", "b", "c"}
    assert found(ann, db, "teapot") == []
    assert found(ann, db, "?!") == []


def test_words_of_all_scripts_are_found(ann: Actor) -> None:
    db = make_db(ann)
    fill(
        db,
        german="Die Straße ist naß",
        japanese="東京の天気は晴れ",
        hindi="नमस्ते दुनिया",
        quoted="it's \"odd\" OR 'so' & | !",
    )

    assert found(ann, db, "STRASSE") == ["german"]
    assert found(ann, db, "天気") == ["japanese"]
    assert found(ann, db, "दुनिया") == ["hindi"]
    assert found(ann, db, "odd' OR \"so") == ["quoted"]


def test_nothing_is_found_in_a_strangers_database(ann: Actor) -> None:
    mine, other = make_db(ann, "mine"), make_db(ann, "other")
    fill(mine, one="the kettle is blue")
    alone = retrieval.search(vector_dbs.get(ann, "mine"), "kettle", None, SearchMethod(5))
    fill(other, two="a kettle", three="another kettle", four="the last kettle", five=("a kettle", BLUE))

    assert found(ann, mine, "kettle", BLUE) == ["one"]
    assert [one.text for one in alone] == ["the kettle is blue"]


# ---------------------------------------------------------------------------------------------- by vectors


def test_the_nearest_vector_comes_first(ann: Actor) -> None:
    db = make_db(ann)
    fill(db, red=("x", RED), green=("y", GREEN), mixed=("z", [1.0, 1.0, 0.0, 0.0]), bare="x")
    scores = [one.score for one in retrieval.search(vector_dbs.get(ann, "kb"), "", RED, SearchMethod(5, "vector"))]

    assert found(ann, db, "", [5.0, 1.0, 0.0, 0.0], mode="vector") == ["red", "mixed", "green"]
    assert scores == pytest.approx([1.0, 0.5**0.5, 0.0], abs=1e-6)
    assert found(ann, db, "", [0.0] * 4, mode="vector") == []
    assert found(ann, db, "", [1.0] * 8, mode="vector") == []


def test_what_is_remembered_follows_the_rows(ann: Actor) -> None:
    db = make_db(ann)
    fill(db, red=("x", RED), green=("y", GREEN))
    before = found(ann, db, "", RED, mode="vector")
    fill(db, red=("x", BLUE), blue=("z", RED))

    assert (before[0], found(ann, db, "", RED, mode="vector")[0]) == ("red", "blue")
    assert set(found(ann, db, "", BLUE, mode="vector")) == {"red", "green", "blue"}


def test_both_ways_together_beat_each(ann: Actor) -> None:
    db = make_db(ann)
    fill(db, word=("kettle", GREEN), near=("cup", RED), both=("the kettle", [1.0, 0.1, 0.0, 0.0]))

    assert found(ann, db, "kettle", RED)[0] == "both"
    assert found(ann, db, "kettle", RED, mode="keyword")[0] == "word"
    assert found(ann, db, "kettle", RED, mode="vector")[0] == "near"
    assert found(ann, db, "kettle", RED, fusion=Fusion(alpha=1.0))[0] == "near"
    assert found(ann, db, "kettle", RED, fusion=Fusion(alpha=0.0))[0] == "word"


# ----------------------------------------------------------------------------------------------- documents


def test_a_document_is_replaced_by_its_next_version(ann: Actor) -> None:
    db = make_db(ann)
    fill(db, one="kettles are blue")
    fill(db, one="cups are red")

    assert (found(ann, db, "kettles"), found(ann, db, "cups")) == ([], ["one"])
    assert vector_dbs.documents(db.key) == [("one", 1)]


def test_chunks_are_added_once(ann: Actor) -> None:
    db = make_db(ann)
    for text in ("first", "second", "first"):
        vector_dbs.insert(db.key, [NewDocument("one", [NewChunk(text, 1)])], replace=False)

    assert sorted(Chunk.objects.values_list("text", flat=True)) == ["first", "second"]
    assert found(ann, db, "first") == ["one"]


def test_hostile_texts_are_kept(ann: Actor) -> None:
    db = make_db(ann)
    fill(db, nul="a\0b kettle", long="kettle " + "x" * 5000, empty="")

    assert set(found(ann, db, "kettle")) == {"nul", "long"}
    assert found(ann, db, "x" * 5000) == ["long"]

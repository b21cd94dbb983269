"""Vector databases and their documents in the admin: read, found, deleted through the store."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from agents.base import ids
from agents.base.access import Actor, system
from agents.base.ids import Kind
from agents.base.timestamps import to_datetime
from agents.knowledge.models.vector_dbs import Chunk, VectorDB, VectorDocument
from agents.knowledge.store import passages, vector_dbs
from agents.knowledge.store.vector_dbs import NewChunk, NewDocument
from tests.conftest import START_US
from tests.fixtures.admin import Browser
from tests.support.builders import make_agent, make_session
from tests.support.inprocess import idle_service
from tests.support.pages.markup import elements, words

pytestmark = pytest.mark.django_db

DBS, DOCUMENTS = "/admin/agents/vectordb/", "/admin/agents/vectordocument/"
SERVER = system("the tests")
HOSTILE = "</script><img src=x onerror=alert(1)>"


def made(actor: Actor = SERVER, name: str = "kb", *documents: str) -> int:
    db = vector_dbs.register(actor, name, embedding_model="keyword", embedding_dimension=384, provider_id="builtin")
    for text in documents:
        new = NewDocument(text[:50], [NewChunk(text, 2), NewChunk("the rest", 2)], size=len(text))
        vector_dbs.insert(db.key, [new])
    return db.key


def url(key: int, page: str = "change") -> str:
    return f"{DBS}{ids.public(Kind.VECTOR_DB, key)}/{page}/"


def document_url(document: VectorDocument) -> str:
    return f"{DOCUMENTS}{ids.public(Kind.VECTOR_DOCUMENT, document.pk)}/change/"


def test_a_database_shows_its_documents(boss: Browser) -> None:
    key = made(SERVER, "kb", "the blue kettle")
    VectorDocument.objects.update(status="failed", error="it was no text")
    read = words(boss.read(url(key)))
    for said in (
        "kb",
        "keyword",
        "384",
        "the blue kettle failed text/plain 15 characters 2",
        ids.public(Kind.VECTOR_DB, key),
    ):
        assert said in read
    links = {each.get("href") for each in elements(boss.read(url(key)), "a")}
    document = VectorDocument.objects.get()
    assert document_url(document) in links
    assert f"{DOCUMENTS}?db={ids.public(Kind.VECTOR_DB, key)}" in links
    shown = words(boss.read(document_url(document)))
    for said in ("the blue kettle", "the rest", "it was no text", "failed"):
        assert said in shown


def test_it_says_how_long_a_store_is_kept(boss: Browser) -> None:
    key = made()
    assert "Kept: until it is deleted" in words(boss.read(url(key)))
    at = to_datetime(START_US)
    VectorDB.objects.unscoped("a test's").update(is_store=True, expires_days=7, last_active_at=at)
    assert "Kept: 7 days after its last use" in words(boss.read(url(key)))


def test_it_says_how_it_is_searched_where_the_server_runs(boss: Browser) -> None:
    key = made()
    with idle_service():
        assert "Searched: keyword" in words(boss.read(url(key)))


def test_only_the_newest_documents_stand_beside_a_database(boss: Browser) -> None:
    key = made(SERVER, "kb", *(f"document {number}" for number in range(25)))
    read = words(boss.read(url(key)))
    assert "document 24" in read
    assert "document 4 " not in read
    assert len(boss.get(DOCUMENTS, {"db": ids.public(Kind.VECTOR_DB, key)}).context["cl"].result_list) == 25


def test_what_a_session_has_leads_to_it(boss: Browser) -> None:
    session = make_session(SERVER, make_agent(SERVER))
    found = vector_dbs.of_session(session, embedding_model="keyword")
    assert found
    path = f"/admin/agents/session/{ids.public(Kind.SESSION, session)}/change/"
    assert path in {each.get("href") for each in elements(boss.read(url(found.key)), "a")}
    rows = boss.get(DBS, {"q": ids.public(Kind.SESSION, session)}).context["cl"].result_list
    assert [row.pk for row in rows] == [found.key]


def test_documents_are_found(boss: Browser) -> None:
    kb = made(SERVER, "kb", "kettle", "teapot")
    made(SERVER, "other", "kettle too")

    def found(**params: str) -> list[str]:
        return [row.document_id for row in boss.get(DOCUMENTS, params).context["cl"].result_list]

    assert found(q="kettle") == ["kettle too", "kettle"]
    assert found(db=ids.public(Kind.VECTOR_DB, kb)) == ["teapot", "kettle"]
    assert found(q=ids.public(Kind.VECTOR_DB, kb)) == ["teapot", "kettle"]
    assert found(db="nonsense") == []


def test_nothing_is_made_or_changed(boss: Browser) -> None:
    key = made(SERVER, "kb", "kettle")
    for path in (DBS, DOCUMENTS):
        assert boss.get(f"{path}add/").status_code == 403
    assert boss.post(url(key), {"name": "x"}).status_code == 403
    document = VectorDocument.objects.get()
    assert boss.post(document_url(document), {"name": "x"}).status_code == 403
    assert boss.post(document_url(document).replace("change", "delete"), {"post": "yes"}).status_code == 403
    assert VectorDocument.objects.get().name == document.name


def test_a_database_is_deleted_with_all_that_is_in_it(boss: Browser) -> None:
    key, other = made(SERVER, "kb", "kettle"), made(SERVER, "other", "kettle")
    assert "Vector databases: 1 Documents: 1 Chunks: 2" in words(boss.read(url(key, "delete")))
    assert boss.post(url(key, "delete"), {"post": "yes"}).headers["Location"] == DBS
    assert list(VectorDB.objects.unscoped("a test's").values_list("pk", flat=True)) == [other]
    assert set(Chunk.objects.values_list("vector_db_id", flat=True)) == {other}
    assert passages.search(key, "kettle", 5) == []
    assert len(passages.search(other, "kettle", 5)) == 1


def test_the_chosen_one_of_several_of_a_name_is_deleted(boss: Browser, make_user: Callable[..., Actor]) -> None:
    older, newer = made(make_user("ann", teams=["red"])), made(make_user("ben", teams=["blue"]))
    boss.post(url(newer, "delete"), {"post": "yes"})
    assert [row.pk for row in VectorDB.objects.unscoped("a test's")] == [older]


def test_hostile_text_stays_text(boss: Browser) -> None:
    key = made(SERVER, HOSTILE, HOSTILE)
    for path in (DBS, DOCUMENTS, url(key), url(key, "delete"), document_url(VectorDocument.objects.get())):
        assert HOSTILE not in boss.read(path)


def test_staff_see_what_their_actor_sees(staff: Callable[..., Browser], make_user: Callable[..., Actor]) -> None:
    mine = made(make_user("friend", teams=["red"]), "mine", "my kettle")
    theirs = made(make_user("stranger", teams=["blue"]), "theirs", "their kettle")
    rights = ("view_vectordb", "delete_vectordb", "view_vectordocument")
    rita = staff("rita", *rights, teams=["red"])
    for path in (DBS, DOCUMENTS):
        assert "their" not in words(rita.read(path)).replace("their own", "")
    assert rita.get(url(theirs)).status_code == 302
    hidden = VectorDocument.objects.get(vector_db=theirs)
    assert rita.get(document_url(hidden)).status_code == 302
    rita.act(DBS, "delete_selected", theirs, post="yes")
    reader = staff("reader", *rights, teams=["red"], roles=["reader"])
    assert "my kettle" in words(reader.read(DOCUMENTS))
    assert reader.post(url(mine, "delete"), {"post": "yes"}).status_code == 403
    assert VectorDB.objects.unscoped("a test's").count() == 2
    rita.post(url(mine, "delete"), {"post": "yes"})
    assert [row.pk for row in VectorDB.objects.unscoped("a test's")] == [theirs]
    assert staff("nobody", roles=["admin"]).get(DOCUMENTS).status_code == 403

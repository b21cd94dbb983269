"""Retrieval through the official client: databases, documents of turns, the tool and the memory."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

import pytest
from llama_stack_client import BadRequestError, LlamaStackClient, NotFoundError
from llama_stack_client.lib.agents.agent import Agent
from llama_stack_client.types import Document
from llama_stack_client.types.agents.turn_create_params import Document as TurnDocument

from tests.support.live.caller import Caller, Talk, script, tool, user
from tests.support.live.held_model import HeldModel
from tests.support.live.library import turn_of
from tests.support.live.process import ServerProcess
from tests.support.live.web_pages import Pages, serving
from tests.support.pdf import make_pdf

pytestmark = pytest.mark.server

KETTLE = "The kettle in the kitchen is blue. It whistles at noon."
CUP = "The cup is red. It stands on the shelf."
PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"\0" * 24).decode()


@pytest.fixture
def client(server: ServerProcess) -> Iterator[LlamaStackClient]:
    with LlamaStackClient(base_url=server.base) as client:
        yield client


@pytest.fixture(scope="session")
def pages() -> Iterator[Pages]:
    with serving() as pages:
        yield pages


@pytest.fixture
def db(client: LlamaStackClient, request: pytest.FixtureRequest) -> Iterator[str]:
    """A database of the test's own, searched by words and vectors."""
    name = f"db::{request.node.name[:200]}"
    client.vector_dbs.register(vector_db_id=name, embedding_model="scripted/embed", embedding_dimension=384)
    yield name
    client.vector_dbs.unregister(name)


def document(name: str, content: Any, **more: Any) -> Document:
    return Document(**{"document_id": name, "content": content, "mime_type": "text/plain", "metadata": {}, **more})


def fill(client: LlamaStackClient, db: str, *documents: Document) -> None:
    given: Any = documents  # the client takes its models, though it names the types of plain dicts
    client.tool_runtime.rag_tool.insert(documents=given, vector_db_id=db, chunk_size_in_tokens=64)


def told(content: Any) -> str:
    return content if isinstance(content, str) else "\n".join(item.text for item in content)


# --------------------------------------------------------------------------------------------- databases


def test_databases_are_registered_and_listed(client: LlamaStackClient) -> None:
    made = client.vector_dbs.register(
        vector_db_id="kb/a b", embedding_model="all-MiniLM-L6-v2", embedding_dimension=384, provider_id="faiss"
    )
    again = client.vector_dbs.register(vector_db_id="kb/a b", embedding_model="all-MiniLM-L6-v2")
    listed = {one.identifier: one for one in client.vector_dbs.list()}

    assert (made.identifier, made.embedding_dimension, made.provider_id, made.type) == (
        "kb/a b",
        384,
        "faiss",
        "vector_db",
    )
    assert again == made
    assert listed["kb/a b"].embedding_model == "all-MiniLM-L6-v2"
    assert client.vector_dbs.retrieve("kb/a b").to_dict() == made.to_dict()
    assert "words alone" in made.metadata["note"]  # type: ignore[attr-defined]  # ours
    client.vector_dbs.unregister("kb/a b")
    with pytest.raises(NotFoundError):
        client.vector_dbs.retrieve("kb/a b")
    with pytest.raises(NotFoundError):
        client.vector_dbs.unregister("kb/a b")


def test_documents_are_found(client: LlamaStackClient, db: str) -> None:
    fill(client, db, document("kettle", KETTLE, metadata={"room": "kitchen"}), document("cup", CUP))
    found = client.tool_runtime.rag_tool.query(content="which whistles, the kettle or the cup?", vector_db_ids=[db])
    assert isinstance(found.content, list)
    [head, first, *_] = found.content

    assert head.type == "text"
    assert first.type == "text"
    assert head.text.startswith("knowledge_search tool found 2 chunks:\nBEGIN of knowledge_search tool results.")
    assert first.text.startswith(f"Result 1\nContent: {KETTLE}\nMetadata: ")
    assert '"room": "kitchen"' in first.text
    assert "END of knowledge_search tool results." in told(found.content)
    metadata: dict[str, Any] = found.metadata
    assert metadata["document_ids"] == ["kettle", "cup"]
    assert metadata["chunks"][0] == KETTLE
    assert metadata["scores"] == sorted(metadata["scores"], reverse=True)


def test_an_empty_database_has_no_answer(client: LlamaStackClient, db: str) -> None:
    found = client.tool_runtime.rag_tool.query(content="anything", vector_db_ids=[db])

    assert (found.content, found.metadata["document_ids"]) == (None, [])


def test_a_template_and_limits(client: LlamaStackClient, db: str) -> None:
    fill(client, db, document("kettle", KETTLE), document("cup", CUP))

    def ask(**config: Any) -> Any:
        config = {
            "max_chunks": 5,
            "max_tokens_in_context": 100,
            "query_generator_config": {"type": "default"},
            **config,
        }
        config.setdefault("chunk_template", "{index}: {chunk.content}")
        return client.tool_runtime.rag_tool.query(content="it", vector_db_ids=[db], query_config=config)  # type: ignore[arg-type]  # a plain dict will do

    assert ask(max_chunks=1).metadata["document_ids"].__len__() == 1
    assert ask(max_tokens_in_context=1).content is None
    assert ask(mode="keyword").content[1].text.startswith("1: The ")
    for wrong in ({"chunk_template": "{chunk.__class__}"}, {"max_chunks": 0}, {"mode": "magic"}):
        with pytest.raises(BadRequestError):
            ask(**wrong)


def test_chunks_go_in_and_come_out(client: LlamaStackClient, db: str) -> None:
    chunks = [
        {"content": KETTLE, "metadata": {"document_id": "kettle", "page": 1}},
        {"content": CUP, "metadata": {"document_id": "cup"}, "embedding": [1.0] + [0.0] * 383},
    ]
    client.vector_io.insert(vector_db_id=db, chunks=chunks)  # type: ignore[arg-type]  # plain dicts will do
    found = client.vector_io.query(vector_db_id=db, query="whistles", params={"max_chunks": 1})

    assert [chunk.content for chunk in found.chunks] == [KETTLE]
    assert found.chunks[0].metadata == {"document_id": "kettle", "page": 1}
    assert len(found.scores) == 1
    wrong = [chunks[0], {"content": "x", "metadata": {}, "embedding": [1.0, 2.0]}]
    with pytest.raises(BadRequestError, match=r"chunks.1.embedding: 384 numbers are needed, not 2"):
        client.vector_io.insert(vector_db_id=db, chunks=wrong)  # type: ignore[arg-type]  # plain dicts will do
    with pytest.raises(NotFoundError):
        client.vector_io.query(vector_db_id="no such", query="x")


# --------------------------------------------------------------------------------- documents of all kinds


def test_documents_at_urls_and_in_data_urls(client: LlamaStackClient, db: str, pages: Pages) -> None:
    html = "<html><head><title>Tea</title><script>alert(1)</script></head><body><p>Green &amp; black</body></html>"
    pages.put("/tea", html.encode(), "text/html; charset=utf-8")
    pages.put("/moved", b"", location="/tea")
    fill(
        client,
        db,
        document("tea", {"uri": f"{pages.base}/moved"}),
        document("table", "data:text/csv,name%2Ccolour%0Akettle%2Cblue"),
        document(
            "pdf", f"data:application/pdf;base64,{base64.b64encode(make_pdf()).decode()}", mime_type="application/pdf"
        ),
    )
    found = client.vector_io.query(vector_db_id=db, query="x", params={"mode": "vector", "max_chunks": 10})
    texts = {chunk.metadata["document_id"]: chunk.content for chunk in found.chunks}

    assert texts["tea"] == "Tea\nGreen & black"
    assert texts["table"] == "name: kettle; colour: blue"
    assert texts["pdf"] == "Hello from a PDF"


def test_documents_that_cannot_be_had_are_named(client: LlamaStackClient, db: str, pages: Pages) -> None:
    pages.put("/zip", b"PK", "application/zip")
    wrong = {
        f"{pages.base}/absent": "status 404",
        f"{pages.base}/zip": "application/zip",
        "file:///etc/passwd": "http",
        "http://169.254.169.254/latest": "may not be asked",
        "http://no-such-host.invalid/": "cannot be found",
        "data:application/pdf;base64,AAAA": "no PDF",
        "data:text/plain;base64,!!": "base64",
    }
    for url, words in wrong.items():
        with pytest.raises(BadRequestError, match=r"documents\.1") as refused:
            fill(client, db, document("good", KETTLE), document("bad", {"uri": url}))
        assert words in str(refused.value)
    assert (
        client.tool_runtime.rag_tool.query(content="kettle", vector_db_ids=[db]).content is None
    )  # nothing is half-stored


# -------------------------------------------------------------------------------------------------- turns


def test_an_agent_searches_its_database(client: LlamaStackClient, db: str) -> None:
    fill(client, db, document("kettle", KETTLE), document("cup", CUP))
    agent = Agent(
        client,
        model="scripted/fast",
        instructions="",
        tools=[{"name": "builtin::rag/knowledge_search", "args": {"vector_db_ids": [db], "max_chunks": 1}}],
    )
    text = script('call knowledge_search {"query": "what whistles?"}', "then", "say Found.")
    turn = turn_of(agent, text, agent.create_session("rag"))
    [step] = [step for step in turn.steps if step.step_type == "tool_execution"]
    [response] = step.tool_responses

    assert KETTLE in told(response.content)
    assert response.metadata is not None
    assert response.metadata["document_ids"] == ["kettle"]
    assert turn.output_message.content == "Found."


def test_the_tool_can_be_called_by_hand(client: LlamaStackClient, db: str) -> None:
    fill(client, db, document("kettle", KETTLE))
    args: dict[str, Any] = {"query": "kettle", "vector_db_ids": [db]}
    found = client.tool_runtime.invoke_tool(tool_name="knowledge_search", kwargs=args)
    lost = client.tool_runtime.invoke_tool(tool_name="knowledge_search", kwargs={"query": "x", "vector_db_ids": ["no"]})

    assert KETTLE in told(found.content)
    assert "not found" in told(lost.content)
    assert {"knowledge_search", "insert_into_memory"} <= {one.identifier for one in client.tools.list()}


def test_documents_of_a_turn_are_searched_later(client: LlamaStackClient) -> None:
    agent = Agent(client, model="scripted/fast", instructions="", tools=["builtin::rag"])
    session = agent.create_session("documents")
    documents: list[TurnDocument] = [
        {"content": KETTLE, "mime_type": "text/plain"},
        {"content": CUP, "mime_type": "text/markdown"},
    ]
    turn_of(agent, script("say Thanks.", "end"), session, documents=documents)
    remember = script('call insert_into_memory {"content": "The pot is green."}', "then", "say Noted.")
    turn_of(agent, remember, session)
    ask = script('call knowledge_search {"query": "kettle pot"}', "then", "say Found.")
    turn = turn_of(agent, ask, session)
    [step] = [step for step in turn.steps if step.step_type == "tool_execution"]

    assert KETTLE in told(step.tool_responses[0].content)
    assert "The pot is green." in told(step.tool_responses[0].content)


def test_memory_is_asked_before_the_model(caller: Caller, client: LlamaStackClient, db: str, held: HeldModel) -> None:
    fill(client, db, document("kettle", KETTLE))
    talk = Talk(caller, model="held/held", toolgroups=[{"name": "builtin::memory", "args": {"vector_db_ids": [db]}}])
    question = held.hold()
    question.end("Blue.")
    turn = talk.say(f"{question.question}\nkettle").json
    [retrieval, inference] = turn["steps"]

    assert (retrieval["step_type"], inference["step_type"]) == ("memory_retrieval", "inference")
    assert retrieval["vector_db_ids"] == db
    assert KETTLE in retrieval["inserted_context"]
    assert KETTLE in question.asked[0][-1]["content"]
    assert talk.turn(turn["turn_id"]) == turn


def test_a_memory_of_nowhere_starts_no_turn(caller: Caller) -> None:
    talk = Talk(caller, toolgroups=[{"name": "builtin::memory", "args": {"vector_db_ids": ["no such"]}}])
    asked = talk.say("hi")
    limits = {"toolgroups": [{"name": "builtin::memory", "args": {"max_chunks": 0}}]}
    wrong = caller.post(f"{talk.path}/turn", {"messages": [user("hi")], **limits})

    assert (asked.status, asked.json["error"]["code"]) == (404, "vector_db_not_found")
    assert (wrong.status, wrong.json["error"]["param"]) == (400, "toolgroups")
    assert talk.turns() == []


def test_documents_by_url_and_images_reach_the_model(caller: Caller, held: HeldModel, pages: Pages) -> None:
    pages.put("/note", KETTLE.encode(), "text/plain")
    pages.put("/dot", base64.b64decode(PNG), "image/png")
    talk = Talk(caller, model="held/held")
    question = held.hold()
    question.end("Seen.")
    documents = [
        {"content": {"uri": f"{pages.base}/note"}, "mime_type": "text/plain"},
        {"content": {"uri": f"{pages.base}/dot"}, "mime_type": "image/png"},
        {"content": {"type": "image", "image": {"data": PNG}}, "mime_type": "image/png"},
    ]
    picture = {"type": "image", "image": {"url": {"uri": "https://example.org/x.png"}}}
    message = {"role": "user", "content": [{"type": "text", "text": question.question}, picture]}
    turn = caller.post(f"{talk.path}/turn", {"messages": [message], "documents": documents})
    parts = question.asked[0][-1]["content"]

    assert turn.json["status"] == "completed", turn.json
    assert [part["text"] for part in parts if part["type"] == "text"] == [question.question, KETTLE]
    data = f"data:image/png;base64,{PNG}"
    urls = [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]
    assert urls == ["https://example.org/x.png", data, data]


def test_a_document_that_cannot_be_had_fails_the_turn(caller: Caller, pages: Pages) -> None:
    talk = Talk(caller)
    body = {
        "messages": [user(script("say Never."))],
        "documents": [{"content": {"uri": f"{pages.base}/gone"}, "mime_type": "text/plain"}],
    }
    answer = caller.post(f"{talk.path}/turn", body)
    [turn] = talk.turns()

    assert answer.status == 400
    assert answer.json["error"]["code"] == "document_unavailable"
    assert "documents.0" in answer.json["error"]["message"]
    assert (turn["status"], turn["steps"]) == ("failed", [])
    assert talk.say(script("say Go on.")).json["output_message"]["content"] == "Go on."


@pytest.mark.parametrize(
    "given",
    [
        {"content": {"uri": "file:///etc/passwd"}},
        {"content": {"uri": "http://[::ffff:169.254.169.254]/"}},
        {"content": "x", "mime_type": "application/zip"},
        {"content": "x", "mime_type": "image/png"},
    ],
)
def test_what_could_never_be_had_is_refused_at_once(caller: Caller, given: dict[str, Any]) -> None:
    talk = Talk(caller)
    answer = caller.post(f"{talk.path}/turn", {"messages": [user("hi")], "documents": [given]})

    assert answer.status == 400
    assert "documents.0" in answer.json["error"]["message"]
    assert talk.turns() == []


def test_an_images_url_never_names_a_file(caller: Caller) -> None:
    talk = Talk(caller)
    picture = {"type": "image", "image": {"url": {"uri": "file:///etc/passwd"}}}
    answer = caller.post(f"{talk.path}/turn", {"messages": [{"role": "user", "content": [picture]}]})

    assert (answer.status, talk.turns()) == (400, [])


def test_images_of_tools_are_attachments(caller: Caller) -> None:
    talk = Talk(caller, client_tools=[tool("draw", "what")])
    waiting = talk.say(script('call draw {"what": "a dot"}', "then", "say Drawn.")).json
    [call] = waiting["output_message"]["tool_calls"]
    picture = {"type": "image", "image": {"data": PNG}}
    response = {"call_id": call["call_id"], "tool_name": "draw", "content": [{"type": "text", "text": "here"}, picture]}
    turn = talk.answer(waiting["turn_id"], response).json

    [attached] = turn["output_attachments"]
    assert attached["mime_type"] == "image/png"
    assert attached["content"]["image"]["data"] == PNG
    assert talk.turn(turn["turn_id"])["output_attachments"] == [attached]
    assert json.dumps(waiting["output_attachments"]) == "[]"

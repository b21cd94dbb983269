"""Answers from a folder of Markdown files, with their sources.

    python examples/folder_rag.py [FOLDER] [QUESTION]

The files go into a vector database that is searched by words, which needs no embedding model; an agent searches it.
"""

import logging
import os
import sys
from pathlib import Path
from typing import Any

from llama_stack_client import LlamaStackClient
from llama_stack_client.types.agents import Turn
from llama_stack_client.types.shared_params.agent_config import AgentConfig
from llama_stack_client.types.shared_params.document import Document

SERVER = os.environ.get("TURNLOG_URL", "http://localhost:8321").rstrip("/")
MODEL = os.environ.get("TURNLOG_MODEL", "scripted/demo")
DOCS = Path(__file__).resolve().parent.parent / "docs"
QUESTION = "Search: how is a webhook signed?"


def fill(client: LlamaStackClient, database: str, folder: Path) -> int:
    """Make the database anew from the files of a folder; returns how many these are."""
    if any(known.identifier == database for known in client.vector_dbs.list()):
        client.vector_dbs.unregister(database)
    client.vector_dbs.register(vector_db_id=database, embedding_model="keyword", embedding_dimension=1)
    documents = [
        Document(
            document_id=str(path.relative_to(folder)),
            content=path.read_text(encoding="utf-8"),
            mime_type="text/markdown",
            metadata={},
        )
        for path in sorted(folder.rglob("*.md"))
    ]
    client.tool_runtime.rag_tool.insert(documents=documents, vector_db_id=database, chunk_size_in_tokens=256)
    return len(documents)


def sources(turn: Turn) -> list[str]:
    """The documents that the agent's searches found, the best first."""
    found: list[Any] = []
    for step in turn.steps or ():
        if step.step_type == "tool_execution":
            found += [result.metadata or {} for result in step.tool_responses]
    return list(dict.fromkeys(name for metadata in found for name in metadata.get("document_ids", [])))


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else DOCS
    question = sys.argv[2] if len(sys.argv) > 2 else QUESTION
    logging.getLogger("httpx").setLevel(logging.WARNING)  # the client would show every request
    client = LlamaStackClient(base_url=SERVER)
    database = f"files of {folder.resolve().name}"
    print(f"{fill(client, database, folder)} files of {folder}\n\n{question}\n")
    config: AgentConfig = {
        "name": "librarian",
        "model": MODEL,
        "instructions": "Answer from what you find with knowledge_search, and from nothing else.",
        "toolgroups": [
            {"name": "builtin::rag/knowledge_search", "args": {"vector_db_ids": [database], "max_chunks": 3}}
        ],
        "enable_session_persistence": True,
    }
    agent = client.agents.create(agent_config=config).agent_id
    session = client.agents.session.create(agent, session_name=f"A question to {folder.resolve().name}/").session_id
    turn = client.agents.turn.create(session, agent_id=agent, messages=[{"role": "user", "content": question}])
    print(turn.output_message.content, "\n\nSources:")
    for name in sources(turn):
        print(f"- {folder / name}")
    print(f"\nIn the log: {SERVER}/turns/{turn.turn_id}/")


if __name__ == "__main__":
    main()

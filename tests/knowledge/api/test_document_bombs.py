"""Documents that cost more than they weigh, by every way a document comes in: each is read, or refused with
a reason, in little time; none is a 5xx, and whatever was taken can be read back.
"""

from __future__ import annotations

import base64
import json
import resource
from collections.abc import Callable
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.test.client import BOUNDARY, MULTIPART_CONTENT, encode_multipart

from agents.knowledge.providers.memory import pdf
from tests.server.api.test_bad_input import refusal
from tests.support.cases import sparing
from tests.support.document_bombs import BOMBS, Bomb
from tests.support.inprocess import body_of

pytestmark = pytest.mark.usefixtures("_served", "_quiet")

CPU_S = 25.0
"""Of this process and of those that read PDFs, for one document. Most take a tenth of a second."""
PDF_S = 10
"""A PDF that goes on for longer is stopped."""
REFUSED = {"document_type", "document_unreadable", "document_too_large"}
QUICK = (
    "PDF: pages that hold themselves",
    "PDF: a table before itself",
    "PDF: halves of letters",
    "PDF: broken, 1",
    "a Word document",
    "flags",
    "blanks",
    "halves of letters in UTF-7",
    "a charset of somewhere",
    "a table of long names",
    "numbers of letters",
    "a name that leads out",
)


class Doors:
    """The ways in. Each says whether the document's words were had, or fails."""

    def __init__(self) -> None:
        self._client = Client(raise_request_exception=False)

    def post(self, path: str, body: Any) -> Any:
        return self._client.generic("POST", f"/v1/{path}", json.dumps(body), "application/json")

    def by_insert(self, bomb: Bomb) -> bool:
        """Put into a vector database as a data URL."""
        self.post("vector-dbs", {"vector_db_id": "kb", "embedding_model": "keyword"})
        document = {"document_id": bomb.filename[:200], "content": data_url(bomb), "mime_type": bomb.mime_type}
        insert = {"vector_db_id": "kb", "documents": [document], "chunk_size_in_tokens": 512}
        taken = self._taken(self.post("tool-runtime/rag-tool/insert", insert), 204)
        query = {"vector_db_ids": ["kb"], "content": "kettle"}
        assert self.post("tool-runtime/rag-tool/query", query).status_code == 200
        return taken

    def by_store(self, bomb: Bomb) -> bool:
        """Uploaded as a file, and read into a vector store."""
        upload = SimpleUploadedFile("x", bomb.make(), bomb.mime_type)
        upload._name = bomb.filename  # type: ignore[attr-defined]  # its own setter would clean it
        form = encode_multipart(BOUNDARY, {"file": upload, "purpose": "assistants"})
        made = self._client.generic("POST", "/v1/files", form, MULTIPART_CONTENT)
        assert made.status_code == 200, made.content
        file = made.json()
        assert not {"/", "\0"} & set(file["filename"])
        store = self.post("vector_stores", {"name": "kb"}).json()["id"]
        read = self.post(f"vector_stores/{store}/files", {"file_id": file["id"]}).json()
        assert read["status"] in {"completed", "failed"}
        if read["status"] == "failed":
            assert read["last_error"]["code"] in {"unsupported_file", "invalid_file"}, read
        assert self.post(f"vector_stores/{store}/search", {"query": "kettle"}).status_code == 200
        assert self._client.get(f"/v1/vector_stores/{store}/files/{file['id']}/content").status_code in {200, 400, 404}
        return bool(read["status"] == "completed")

    def by_response(self, bomb: Bomb) -> bool:
        """Beside a question to a model."""
        part = {"type": "input_file", "filename": bomb.filename[:200], "file_data": data_url(bomb)}
        message = {"role": "user", "content": [part, {"type": "input_text", "text": "What is it?"}]}
        answered = self.post("responses", {"model": "scripted/fast", "input": [message]})
        taken = self._taken(answered, 200)
        if taken:
            assert self._client.get(f"/v1/responses/{answered.json()['id']}/input_items").status_code == 200
        return taken

    def by_turn(self, bomb: Bomb) -> bool:
        """Attached to a turn."""
        config = {"model": "scripted/fast", "instructions": "Be brief."}
        agent = self.post("agents", {"agent_config": config}).json()["agent_id"]
        session = self.post(f"agents/{agent}/session", {"session_name": "s"}).json()["session_id"]
        document = {"content": data_url(bomb), "mime_type": bomb.mime_type}
        turn = {"messages": [{"role": "user", "content": "What is it?"}], "documents": [document]}
        taken = self._taken(self.post(f"agents/{agent}/session/{session}/turn", turn), 200)
        assert self._client.get(f"/v1/agents/{agent}/session/{session}").status_code == 200
        return taken

    def _taken(self, answer: Any, status: int) -> bool:
        if answer.status_code == status:
            return True
        body_of(answer)
        error = refusal(answer)
        assert answer.status_code in {400, 413}, error
        assert error["code"] in REFUSED or error["param"], error
        return False


DOORS: dict[str, Callable[[Doors, Bomb], bool]] = {
    "insert": Doors.by_insert,
    "store": Doors.by_store,
    "response": Doors.by_response,
    "turn": Doors.by_turn,
}


def data_url(bomb: Bomb) -> str:
    return f"data:{bomb.mime_type};base64,{base64.b64encode(bomb.make()).decode()}"


def spent_s() -> float:
    """Time of the processor that this process has used, and those that it waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


@pytest.mark.parametrize("name", sparing(BOMBS, *QUICK))
@pytest.mark.parametrize("door", sparing(DOORS, "insert", "store"))
def test_no_document_is_too_much(name: str, door: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdf, "TIMEOUT_S", PDF_S)
    bomb, before = BOMBS[name], spent_s()
    was_read = DOORS[door](Doors(), bomb)

    assert bomb.is_readable in {None, was_read}
    assert spent_s() - before < CPU_S

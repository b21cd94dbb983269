"""The import pages: a form that works without scripts, a page that tells how far it is."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from agents.base.store import keys
from agents.telemetry.store import import_jobs
from agents.telemetry.store.import_jobs import NewImport
from tests.support.inprocess import idle_service, open_database
from tests.telemetry.reading import reports


@pytest.fixture(autouse=True)
def _open(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    with open_database(django_db_blocker), idle_service():
        yield


def upload(name: str = "spans.jsonl", more: bytes = b"") -> SimpleUploadedFile:
    body = json.dumps(reports.request(*reports.turn(1))).encode() + b"\n" + more
    return SimpleUploadedFile(name, body)


def text(answer: Any) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", answer.content.decode()).split())


def test_an_upload_leads_to_its_report_and_its_turns() -> None:
    client = Client()
    answer = client.post("/import/", {"file": upload(more=b"{broken\n"), "format": "auto"}, follow=True)
    assert re.fullmatch(r"/import/[0-9a-f-]{36}/", answer.redirect_chain[-1][0])
    said = text(answer)
    assert "spans.jsonl" in said
    assert "New turns 1" in said
    assert "spans.jsonl 2 this is no JSON." in said
    assert "Refresh" not in answer.headers
    assert "talk-1" in said
    [there] = re.findall(r'href="(/logs/\?q=[^"]+)"', answer.content.decode())
    assert "How warm is it?" in text(client.get(there))
    assert "spans.jsonl completed" in text(client.get("/import/"))


def test_a_running_one_loads_itself_again() -> None:
    record = import_jobs.create(keys.local(), NewImport("spans.jsonl", 10))
    answer = Client().get(f"/import/{record.public_id}/")
    assert answer.headers["Refresh"] == "2"
    assert "<progress" in answer.content.decode()


def test_the_form_says_what_is_wrong_with_it() -> None:
    answer = Client().post("/import/", {"format": "auto", "agent": "kept <b>"})
    assert answer.status_code == 400
    assert "a file is needed" in text(answer)
    assert 'value="kept &lt;b&gt;"' in answer.content.decode()
    assert Client().post("/import/", {"file": upload(), "format": "docx"}).status_code == 400


def test_what_a_file_says_is_only_text() -> None:
    name = "<script>alert(1)</script>.jsonl"
    answer = Client().post("/import/", {"file": upload(name, b'{"resourceSpans": 3}\n'), "agent": '"<i>"'}, follow=True)
    page = answer.content.decode()
    assert "<script>alert" not in page
    assert "<i>" not in page


def test_it_needs_the_token_of_its_form() -> None:
    assert Client(enforce_csrf_checks=True).post("/import/", {"file": upload()}).status_code == 403

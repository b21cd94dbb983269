"""``/v1/imports``: a form with files, and what came of them."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from agents.base import ids
from agents.base.access import ACTIONS
from agents.base.models.people import User
from agents.base.store import keys
from agents.base.store.claims import ClaimKind, Claims
from agents.loop import current_service
from agents.record.models.turns import Turn
from agents.telemetry.models.imports import Import, ImportBlock, ImportState
from agents.telemetry.reading.chunked_files import read_chunks
from agents.telemetry.runner import import_queue
from agents.telemetry.store import import_files, import_jobs
from agents.telemetry.store.external.projector import projector
from agents.telemetry.store.import_jobs import NewImport
from agents.telemetry.store.importer import Importer
from tests.conftest import Clock
from tests.support.builders import make_turn
from tests.support.inprocess import IdleRunner, body_of, idle_service, open_database
from tests.telemetry.reading import reports
from tests.telemetry.reading.test_zip_files import archive


@pytest.fixture(autouse=True)
def _open(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    with open_database(django_db_blocker), idle_service():
        yield


def spans(*traces: int) -> bytes:
    bodies = [reports.request(*reports.turn(trace, at=trace * 10.0)) for trace in traces]
    return b"".join(json.dumps(body).encode() + b"\n" for body in bodies)


def post(*files: bytes, **fields: str) -> Any:
    return post_as({}, *files, **fields)


def post_as(headers: dict[str, str], *files: bytes, **fields: str) -> Any:
    uploads = [SimpleUploadedFile(f"{number}.jsonl", body) for number, body in enumerate(files)]
    return Client(headers=headers).post("/v1/imports", {"file": uploads, **fields})


def done(answer: Any) -> Any:
    assert answer.status_code == 202, answer.content
    found = Client().get(f"/v1/imports/{answer.json()['id']}")
    assert found.status_code == 200
    return found.json()


def test_files_are_taken_in_and_told_of() -> None:
    begun = post(spans(1, 2) + b"{broken\n", spans(3), agent="support", session="case 7")
    assert begun.json()["state"] == "waiting"
    told = done(begun)
    assert (told["state"], told["name"], told["agent"], told["session"]) == (
        "completed",
        "0.jsonl + 1",
        "support",
        "case 7",
    )
    report = told["report"]
    assert report["turns"] == {"new": 3, "known": 0, "changed": 0}
    assert (report["files"], report["lines"], report["bytes"]) == (2, 4, told["bytes"])
    assert report["skipped"] == [{"file": "0.jsonl", "line": 3, "reason": "this is no JSON."}]
    [session] = Turn.objects.unscoped("test").values_list("session_id", flat=True).distinct()
    assert report["sessions"] == [ids.public(ids.Kind.SESSION, session)]
    again = done(post(spans(1, 2), agent="support", session="case 7"))
    assert again["report"]["turns"] == {"new": 0, "known": 2, "changed": 0}


@pytest.mark.parametrize(
    ("fields", "param"),
    [({"format": "docx"}, "format"), ({"agent": "x" * 301}, "agent"), ({"session": "x" * 301}, "session")],
)
def test_what_is_wrong_with_the_form_is_told(fields: dict[str, str], param: str) -> None:
    answer = post(spans(1), **fields)
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, param)


def test_it_needs_a_file() -> None:
    assert post().status_code == 400
    assert Client().post("/v1/imports", b"{}", content_type="application/json").status_code == 415
    assert Client().get(f"/v1/imports/{ids.public(ids.Kind.IMPORT, 1)}").status_code == 404


def test_too_much_is_refused(settings: Any) -> None:
    settings.MAX_UPLOAD_MB = 0
    answer = post(spans(1))
    assert answer.status_code == 413
    assert "turnlog logs import" in answer.json()["error"]["message"]


def test_what_no_reader_understands_ends_in_the_report() -> None:
    told = done(post(b"\xff\xfe\x00 nothing", b'{"resourceSpans": 3}'))
    assert told["state"] == "completed"
    assert [skip["line"] for skip in told["report"]["skipped"]] == [None, 1]


def test_the_files_of_an_archive_are_taken_in() -> None:
    told = done(post(archive({"a.jsonl": spans(1), "b.jsonl": spans(2) + b"{broken\n", "c.zip": b"PK"})))
    report = told["report"]
    assert (told["state"], report["turns"]["new"], report["files"], report["lines"]) == ("completed", 2, 2, 3)
    assert [(skip["file"], skip["line"]) for skip in report["skipped"]] == [
        ("0.jsonl/b.jsonl", 2),
        ("0.jsonl/c.zip", None),
    ]
    assert 0 < report["bytes"] <= told["bytes"]


def test_a_key_may_import_only_for_itself() -> None:
    made = {}
    for name in ("one", "two"):
        user = User.objects.create_user(name, password="correct horse battery")
        _, made[name] = keys.create(keys.of_user(user), name=name, actions=["ingest"])
    bearer = {name: {"Authorization": f"Bearer {secret}"} for name, secret in made.items()}
    begun = post_as(bearer["one"], spans(1)).json()
    owner = Turn.objects.unscoped("test").get().owner_id
    assert owner == User.objects.get(username="one").pk
    answers = {name: Client(headers=bearer[name]).get(f"/v1/imports/{begun['id']}").status_code for name in bearer}
    assert answers == {"one": 200, "two": 404}
    _, reader = keys.create(keys.local(), name="r", actions=sorted(ACTIONS - {"ingest"}))
    assert post_as({"Authorization": f"Bearer {reader}"}, spans(1)).status_code == 403


def test_it_stops_between_two_pieces() -> None:
    record = import_jobs.create(keys.local(), NewImport("a.jsonl", 10))
    assert not import_jobs.run(keys.local(), record, [], lambda: True)
    assert import_jobs.get(keys.local(), record.public_id).state == "waiting"


def test_who_has_too_many_waiting_is_told_to_come_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_queue, "imports", import_queue.ImportShares(1, 1))
    me, others = keys.local().caller, ("others", None)
    places = [import_queue.imports.enter(whose) for whose in (others, me)]
    refused = post(spans(1))
    assert (refused.status_code, refused["Retry-After"]) == (429, "30")
    assert refused.json()["error"]["code"] == "too_many_imports"
    assert not ImportBlock.objects.exists()
    for place in places:
        import_queue.imports.leave(place)
    assert post(spans(1)).status_code == 202


# --------------------------------------------------------------------------------------------- restarts


class Dies(IdleRunner):
    """A process that ends before it comes to what it has accepted."""

    def run_in_background(self, work: Any) -> None:
        import_queue._pending.clear()


def accepted_and_left(monkeypatch: pytest.MonkeyPatch, *files: bytes, **fields: str) -> str:
    """The id of an import whose process has gone."""
    with monkeypatch.context() as patch:
        patch.setattr(current_service.service().runner, "__class__", Dies)
        answer = post(*files, **fields)
    assert answer.status_code == 202
    return str(answer.json()["id"])


def resume() -> int:
    return import_queue.resume(current_service.service().runner)


def state_of(public_id: str) -> str:
    return str(Client().get(f"/v1/imports/{public_id}").json()["state"])


def test_what_was_accepted_is_done_by_another_process(monkeypatch: pytest.MonkeyPatch) -> None:
    left = accepted_and_left(monkeypatch, spans(1, 2), spans(3), agent="support")
    assert state_of(left) == "waiting"
    assert resume() == 1
    told = Client().get(f"/v1/imports/{left}").json()
    assert (told["state"], told["report"]["turns"]["new"]) == ("completed", 3)
    assert not ImportBlock.objects.exists()
    assert resume() == 0
    assert Turn.objects.unscoped("test").count() == 3


def test_files_of_many_blocks_are_read_as_they_came(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_files, "BLOCK_BYTES", 100)
    left = accepted_and_left(monkeypatch, spans(1, 2), b"", spans(3))
    assert resume() == 1
    report = Client().get(f"/v1/imports/{left}").json()["report"]
    assert (report["turns"]["new"], report["files"]) == (3, 2)
    assert report["skipped"][0]["reason"].startswith("it is of no known format; known are turns, otlp,")


def test_turns_that_were_made_behind_an_import_are_its_own() -> None:
    """It broke off once; what it had taken is made into turns while it is read again."""
    broken, again = (Importer(keys.local()) for _ in range(2))
    for importer in (broken, again):
        for piece in read_chunks(io.BytesIO(spans(1)), "otlp"):
            importer.add("a.jsonl", piece)
    projector.wake()
    assert list(again.finish()) == [1]
    assert (again.report.new, again.report.known, again.report.changed) == (1, 0, 0)


def test_what_another_process_is_at_is_left_alone(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    left = accepted_and_left(monkeypatch, spans(1))
    key, claims = Import.objects.unscoped("test").get().pk, Claims(ClaimKind.IMPORT)
    Import.objects.unscoped("test").update(state=ImportState.RUNNING)
    claims.take([key])
    assert resume() == 0
    clock.pass_s(6)
    assert resume() == 1
    assert state_of(left) == "running"
    claims.close()  # as the system does when a process dies
    assert resume() == 1
    assert state_of(left) == "completed"


def test_what_nobody_asked_for_any_more_is_dropped(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    accepted_and_left(monkeypatch, spans(1))
    accepted_and_left(monkeypatch, spans(2))
    Import.objects.unscoped("test").order_by("-pk")[0].delete()
    assert import_files.delete_unneeded(clock.now_us) == 0
    clock.pass_s(3601)
    assert import_files.delete_unneeded(clock.now_us) == 1
    assert ImportBlock.objects.count() == 1
    assert resume() == 1


def test_files_go_whose_process_was_killed_after_their_import(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    ended, waits = accepted_and_left(monkeypatch, spans(1)), accepted_and_left(monkeypatch, spans(2))
    Import.objects.unscoped("test").filter(pk=ids.parse(ids.Kind.IMPORT, ended)).update(state=ImportState.COMPLETED)
    assert import_files.delete_unneeded(clock.now_us) == 1
    assert ImportBlock.objects.count() == 1
    assert resume() == 1
    assert (state_of(ended), state_of(waits)) == ("completed", "completed")


def test_nothing_stays_of_an_upload_that_broke_off() -> None:
    class Cut(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            raise ConnectionError("cut")

    with pytest.raises(ConnectionError):
        import_files.store(ids.new_key(), [io.BytesIO(spans(1)), Cut()])
    assert not ImportBlock.objects.exists()


def test_what_the_server_dies_of_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    left = accepted_and_left(monkeypatch, spans(1))
    key = Import.objects.unscoped("test").get().pk
    for _ in range(import_jobs.MAX_ATTEMPTS):
        assert import_jobs.begin(key) is not None
    assert resume() == 1
    assert state_of(left) == "failed"
    assert not ImportBlock.objects.exists()
    assert resume() == 0


def test_a_server_that_is_stopped_does_not_count_as_dying(monkeypatch: pytest.MonkeyPatch) -> None:
    left = accepted_and_left(monkeypatch, spans(1))
    key = Import.objects.unscoped("test").get().pk
    for _ in range(import_jobs.MAX_ATTEMPTS + 1):
        record = import_jobs.begin(key)
        assert record is not None
        assert not import_jobs.run(keys.local(), record, [], lambda: True)
    assert resume() == 1
    assert state_of(left) == "completed"


def test_one_of_an_earlier_version_says_that_it_is_to_be_done_again() -> None:
    record = import_jobs.create(keys.local(), NewImport("a.jsonl", 10))
    assert resume() == 1
    told = Client().get(f"/v1/imports/{record.public_id}").json()
    assert (told["state"], told["error"]) == (
        "failed",
        "An earlier version of the server accepted it; import the same again.",
    )


@pytest.mark.parametrize("form", ["format=otlp", "whole=true"])
def test_what_the_api_exports_it_takes_in(form: str) -> None:
    made = make_turn(keys.local(), "say Hello.")
    body = body_of(Client().get(f"/v1/logs/turns/export?{form}"))
    assert done(post(body))["report"]["turns"] == {"new": 0, "known": 1, "changed": 0}  # it is here
    user = User.objects.create_user("other", password="correct horse battery")
    _, key = keys.create(keys.of_user(user), name="k", actions=["ingest"])
    assert post_as({"Authorization": f"Bearer {key}"}, body).status_code == 202
    [copy] = Turn.objects.unscoped("test").filter(owner_id=user.pk)
    assert copy.foreign_id == made.public_id.replace("-", "")


def test_only_whole_turns_are_exported_as_spans() -> None:
    for path in ("logs/steps/export?format=otlp", "logs/turns/export?format=otlp&fields=id"):
        answer = Client().get(f"/v1/{path}")
        assert (answer.status_code, answer.json()["error"]["param"]) == (400, "format")

"""``manage.py logs import``: files of every format, once, whole, and for whom they are."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from agents.base import ids
from agents.base.access import Actor
from agents.base.store import changes, keys
from agents.logs.store import listing, rows
from agents.query.parser import read
from agents.record.models.agents import Agent, Session
from agents.record.models.choices import Source
from agents.record.models.turns import Step, Turn
from agents.telemetry.models.traces import Trace
from agents.telemetry.reading import chunked_files
from agents.telemetry.store.external import inbox
from tests.conftest import Clock
from tests.support.comparable_turns import of_owner, seen
from tests.support.sample_turns import sample
from tests.telemetry.reading import reports
from tests.telemetry.reading.captures import SESSIONS

pytestmark = pytest.mark.django_db


def logs(*given: object, **more: Any) -> str:
    said = io.StringIO()
    call_command("logs", *map(str, given), stdout=said, stderr=more.pop("stderr", io.StringIO()), **more)
    return said.getvalue()


def refused(*given: object) -> str:
    """What is said of files without a turn."""
    said = io.StringIO()
    with pytest.raises(CommandError, match="No turn was found"):
        call_command("logs", "import", *map(str, given), stdout=said, stderr=io.StringIO())
    return said.getvalue()


def turns(actor: Actor | None = None, text: str = "") -> list[Any]:
    """The rows of the list, the oldest first."""
    found = listing.page(actor or keys.local(), read(text, now_us=0, level="turn"))
    return rows.of("turn", found.keys[::-1])


def line(*spans: Any) -> str:
    return json.dumps(reports.request(*spans)) + "\n"


# ------------------------------------------------------------------------------------------ our own


def test_what_is_exported_can_be_read_back(
    admin: Actor, clock: Clock, make_user: Callable[..., Actor], tmp_path: Path
) -> None:
    sample(admin, clock)
    file = tmp_path / "turns.jsonl"
    logs("export", "--whole", "--out", file)
    other = make_user("other")
    assert logs("import", file, "--user", "other").startswith(
        "Read 15 lines of 1 files. Turns: 15 new, 0 known, 0 changed."
    )
    assert seen(of_owner(other)) == seen(of_owner(admin))
    before = Step.objects.unscoped("test").count(), changes.latest()
    assert "0 new, 15 known, 0 changed" in logs("import", file, "--user", "other")
    assert (Step.objects.unscoped("test").count(), changes.latest()) == before
    assert {row.source for row in turns(other)} == {"import"}


def test_what_is_this_stores_own_is_known(admin: Actor, clock: Clock, tmp_path: Path) -> None:
    sample(admin, clock)
    file = tmp_path / "turns.jsonl"
    logs("export", "--whole", "--out", file)
    assert "0 new, 15 known, 0 changed" in logs("import", file, "--user", "root")
    assert Turn.objects.unscoped("test").count() == 15


def test_a_turn_that_went_on_is_changed(admin: Actor, clock: Clock, tmp_path: Path) -> None:
    first, tool, last, root = reports.turn(1)
    early, late = tmp_path / "early.jsonl", tmp_path / "late.jsonl"
    early.write_text(line(first, tool))
    late.write_text(line(first, tool) + line(last, root))
    assert "1 new, 0 known, 0 changed" in logs("import", early)
    assert [row.status for row in turns()] == ["in_progress"]
    assert "0 new, 0 known, 1 changed" in logs("import", late)
    assert [row.status for row in turns()] == ["completed"]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"version": 2}, "record.version: Input should be 1"),
        ({"started_at": "yesterday"}, "record.started_at: "),
        ({"started_at": "0001-01-01T00:00:00"}, "record"),
        ({"started_at": 10**30}, "record.started_at: "),
        ({"id": "x" * 4000}, "record.id: "),
        ({"steps": [{"id": "1", "type": "other", "status": "completed", "started_at": 1, "detail": {}}]}, "record."),
        ({"input": [{"role": "wizard", "content": "x"}]}, "record.input.0: "),
    ],
)
def test_a_broken_record_is_told_with_its_line(change: dict[str, Any], reason: str, tmp_path: Path) -> None:
    good = {
        "version": 1,
        "id": "a",
        "session": {"id": "s"},
        "status": "completed",
        "started_at": "2026-01-01T00:00:00Z",
    }
    file = tmp_path / "turns.jsonl"
    whole = [{"turn": {"turn_id": "a"}, "record": good}, {"turn": {"turn_id": "b"}, "record": {**good, **change}}]
    file.write_text("".join(json.dumps(each) + "\n" for each in whole))
    said = logs("import", file)
    assert "1 new" in said
    assert f"{file}:2: {reason}" in said


def test_rows_without_their_turns_are_no_turns(admin: Actor, clock: Clock, tmp_path: Path) -> None:
    sample(admin, clock)
    file = tmp_path / "rows.jsonl"
    logs("export", "--out", file)
    assert ":1: there is no whole turn in it: export with whole=true." in refused(file, "--format", "turns")


def test_a_hostile_record_has_its_text_mended(tmp_path: Path) -> None:
    record = {
        "version": 1,
        "id": "a",
        "session": {"id": "s", "name": "n\0n"},
        "agent": {"name": "\ud800 agent"},
        "status": "completed",
        "started_at": 1_795_000_000_000_000,
        "input": [{"role": "user", "content": "hi\0\udfff"}],
        "metadata": {"deep": json.loads("[" * 40 + "]" * 40), "\0": "\0"},
        "foreign": {"agents": [1, "\0"], "warnings": "no list"},
    }
    file = tmp_path / "turns.jsonl"
    file.write_text(json.dumps({"turn": {"turn_id": "a"}, "record": record}))
    assert "1 new" in logs("import", file)
    [row] = turns()
    assert row.input_preview == "hi��"
    assert row.agent_name == "� agent"


# ------------------------------------------------------------------------------------------ others


def test_session_files_become_turns(tmp_path: Path) -> None:
    said = logs("import", SESSIONS)
    assert "Skipped" not in said
    assert {row.agent_name for row in turns()} >= {"claude-code", "codex", "gemini-cli"}
    found = [(row.id, row.status, row.input_preview) for row in turns()]
    assert f"0 new, {len(found)} known, 0 changed" in logs("import", SESSIONS)
    assert [(row.id, row.status, row.input_preview) for row in turns(text="source:import")] == found


def test_lines_and_one_object_are_the_same(tmp_path: Path) -> None:
    pretty = tmp_path / "pretty.json"
    pretty.write_text(json.dumps(reports.request(*reports.turn(1)), indent=2))
    lines = tmp_path / "lines.jsonl"
    lines.write_text("\n".join(line(span) for span in reports.turn(1)))
    assert "1 new, 0 known" in logs("import", pretty)
    assert "0 new, 1 known, 0 changed" in logs("import", lines)
    assert [row.source for row in turns()] == ["import"]


def test_a_broken_line_is_told_and_passed_over(tmp_path: Path) -> None:
    file = tmp_path / "spans.jsonl"
    bad = '{"resourceSpans": 3}\n'
    file.write_text(line(*reports.turn(1)) + "{broken\n\n" + bad + line(*reports.turn(2)))
    said = logs("import", file)
    assert "Read 5 lines of 1 files. Turns: 2 new" in said
    assert f"{file}:2: this is no JSON." in said
    assert f"{file}:4: resourceSpans: a list is expected, not a number." in said


def test_a_line_that_is_too_long_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunked_files, "MAX_VALUE_BYTES", 20_000)
    file = tmp_path / "spans.jsonl"
    file.write_text(line(*reports.turn(1)) + line(*reports.turn(2, "x" * 100_000)) + line(*reports.turn(3)))
    said = logs("import", file)
    assert "2 new" in said
    assert f"{file}:2: it is longer than" in said


def test_names_can_be_given(tmp_path: Path) -> None:
    file = tmp_path / "spans.jsonl"
    file.write_text(line(*reports.turn(1)) + line(*reports.turn(2, at=10.0)))
    logs("import", file, "--agent", "support", "--session", "case 7")
    assert {(row.agent_name, row.session_name) for row in turns()} == {("support", "case 7")}
    assert Session.objects.unscoped("test").count() == 1
    assert list(Agent.objects.unscoped("test").values_list("name", flat=True)) == ["support"]


def test_an_import_that_broke_off_goes_on(tmp_path: Path) -> None:
    file = tmp_path / "spans.jsonl"
    file.write_text(line(*reports.turn(1)))
    with file.open("rb") as opened:
        for piece in chunked_files.read_chunks(opened, "otlp"):
            inbox.accept(keys.local(), piece.spans)  # and then the machine stopped
    assert "1 new, 0 known, 0 changed" in logs("import", file)
    assert "0 new, 1 known, 0 changed" in logs("import", file)


def test_a_file_of_no_format_is_told(tmp_path: Path) -> None:
    (tmp_path / "notes.json").write_text('{"dear": "diary"}')
    (tmp_path / "image.png").write_bytes(b"\x89PNG")
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "spans.jsonl").write_text(line(*reports.turn(1)))
    (tmp_path / "deep" / "spans.jsonl.gz").write_bytes(gzip.compress(line(*reports.turn(2)).encode()))
    said = logs("import", tmp_path)
    assert "Turns: 2 new" in said
    assert "notes.json: it is of no known format; known are turns, otlp, " in said
    assert "image" not in said


def test_what_has_no_turn_is_a_failure_that_says_why(tmp_path: Path) -> None:
    file = tmp_path / "notes.json"
    file.write_text('{"dear": "diary"}')
    assert "notes.json: it is of no known format" in refused(file)


def test_it_says_what_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="no such file"):
        logs("import", tmp_path / "nothing.jsonl")
    file = tmp_path / "empty.jsonl"
    file.touch()
    with pytest.raises(CommandError, match="no active user 'nobody'"):
        logs("import", file, "--user", "nobody")


def test_a_large_file_goes_piece_by_piece(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agents.server.command_line.importing.PROGRESS_MIN_BYTES", 1)
    file, told = tmp_path / "spans.jsonl", io.StringIO()
    file.write_text("".join(line(*reports.turn(number, at=float(number))) for number in range(1, 400)))
    with file.open("rb") as opened:
        found = list(chunked_files.read_chunks(opened, "otlp"))
    assert [len(piece.spans) for piece in found] == [1000, 596]
    assert "399 new" in logs("import", file, stderr=told)
    assert "399 lines" in told.getvalue()


@pytest.mark.parametrize(("name", "format_"), [("claude_code", "claude_code"), ("codex_rollout", "codex")])
def test_a_long_session_is_cut_between_turns(name: str, format_: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    file = SESSIONS / f"{name}.jsonl"
    logs("import", file)
    expected = seen(Turn.objects.unscoped("test").all())
    for table in (Turn, Trace, Session):
        table.objects.unscoped("test").delete()
    monkeypatch.setattr(chunked_files, "CHUNK_BYTES", 1)
    with file.open("rb") as opened:
        assert len(list(chunked_files.read_chunks(opened, format_))) == 3
    logs("import", file)
    assert seen(Turn.objects.unscoped("test").all()) == expected


def test_ids_and_times_are_kept(tmp_path: Path) -> None:
    file = tmp_path / "spans.jsonl"
    file.write_text(line(*reports.turn(7)))
    logs("import", file)
    [turn] = Turn.objects.unscoped("test").all()
    assert turn.foreign_id == f"{7:032x}"
    assert turn.source == Source.IMPORT
    assert turns()[0].started_at == reports.START // 1000
    assert ids.key_time_us(turn.pk) // 1000 == reports.START // 10**6

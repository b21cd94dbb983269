"""``manage.py logs import``: files of other programs, of each format, taken in once."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path
from typing import Any

import pandas
import pytest
from django.core.management import CommandError

from tests.server.command_line.test_importing import logs, refused, turns
from tests.telemetry.reading import reports
from tests.telemetry.reading.dataframe_rows import ROWS
from tests.telemetry.reading.test_atif import TRAJECTORY
from tests.telemetry.reading.test_jaeger import REQUEST, as_jaeger
from tests.telemetry.reading.test_langfuse import TRACE
from tests.telemetry.reading.test_openai_chat import EXAMPLE, STORED
from tests.telemetry.reading.test_tempo import as_tempo
from tests.telemetry.reading.test_zip_files import archive

pytestmark = pytest.mark.django_db


def as_lines(*values: Any) -> bytes:
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


def parquet(rows: list[dict[str, Any]]) -> bytes:
    out = io.BytesIO()
    pandas.DataFrame(rows).to_parquet(out)
    return out.getvalue()


TURN_ROW = {"id": "1", "session_id": "2", "started_at": 3}
FILES: dict[str, tuple[str, bytes]] = {
    "phoenix_lines": ("spans.jsonl", as_lines(*ROWS)),
    "phoenix_parquet": ("spans.parquet", parquet(ROWS)),
    "langfuse": ("trace.json", json.dumps(TRACE, indent=1).encode()),
    "langfuse_lines": ("observations.jsonl", as_lines(*TRACE["observations"])),
    "openai_example": ("examples.jsonl", as_lines(EXAMPLE)),
    "openai_completion": ("completions.json", json.dumps([STORED], indent=1).encode()),
    "atif": ("trajectory.json", json.dumps(TRAJECTORY, indent=1).encode()),
    "jaeger": ("trace.json", json.dumps(as_jaeger(REQUEST), indent=1).encode()),
    "tempo": ("trace.json", json.dumps(as_tempo(REQUEST)).encode()),
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_becomes_its_turn_once(name: str, tmp_path: Path) -> None:
    file = tmp_path / FILES[name][0]
    file.write_bytes(FILES[name][1])
    said = logs("import", tmp_path)
    assert "Turns: 1 new, 0 known, 0 changed." in said
    assert "Skipped" not in said
    [row] = turns()
    assert (row.input_preview, row.output_preview) == ("How warm is it in Rome?", "It is 18 degrees.")
    assert row.source == "import"
    assert "Turns: 0 new, 1 known, 0 changed." in logs("import", file)


BROKEN: dict[str, tuple[str, bytes, str]] = {
    "phoenix": ("spans.jsonl", as_lines({**ROWS[0], "context.trace_id": "?"}), "OpenTelemetry's trace_id and span_id"),
    "parquet": ("spans.parquet", parquet(ROWS)[:-20], "the Parquet file is broken"),
    "jaeger": ("trace.json", as_lines({"data": [{"traceID": "1", "spans": [{"spanID": "1"}]}]}), "no span has a"),
    "tempo": ("trace.json", as_lines({"trace": {"resourceSpans": 5}}), "resourceSpans: a list is expected"),
    "langfuse": ("trace.json", as_lines({**TRACE, "id": ""}), "nothing in it has the id of a trace"),
    "openai": ("batch.jsonl", as_lines({"custom_id": "1", "body": {}}), "it is a request without an answer"),
    "atif": ("trajectory.json", as_lines({**TRAJECTORY, "session_id": 5}), "session_id: short text is expected"),
    "zip": ("files.zip", archive({"notes.txt": b"n"}), "there is no file in the zip archive that ends in"),
    "zip_in_zip": (
        "files.zip",
        archive({"a.zip": archive({"a.json": b"{}"})}),
        "files.zip/a.zip: a packed file inside",
    ),
    "table": ("table.parquet", parquet([{"a": 1}]), "no span has a context"),
    "turns_not_whole": ("turns.parquet", parquet([TURN_ROW]), "there is no whole turn in it: export with whole"),
    "turns_broken": ("turns.parquet", parquet([{**TURN_ROW, "record": "{"}]), "turns.parquet:1: this is no JSON."),
    "turns_of_another_type": ("turns.parquet", parquet([{**TURN_ROW, "record": 5}]), "turns.parquet:1: record: "),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_file_of_which_nothing_can_be_taken_says_why(name: str, tmp_path: Path) -> None:
    file, content, reason = BROKEN[name]
    (tmp_path / file).write_bytes(content)
    assert reason in refused(tmp_path)


def test_spans_of_no_agent_are_counted_and_formats_named(tmp_path: Path) -> None:
    file = tmp_path / "spans.jsonl"
    file.write_bytes(as_lines(reports.request(reports.span(1, 1, "GET /"))))
    with pytest.raises(CommandError, match=r"None of its 1 spans is a call .* Formats that are read: turns, otlp,"):
        logs("import", file)


def test_files_of_an_archive_and_of_a_folder_are_read_each_by_its_format(tmp_path: Path) -> None:
    files = {name: FILES[name][1] for name in ("phoenix_parquet", "langfuse", "atif")}
    broken = {"notes.json": b"{}", "../../evil.jsonl": as_lines(EXAMPLE) + b"no json\n\n{}\n"}
    named = {f"{name}.{'parquet' if name == 'phoenix_parquet' else 'json'}": found for name, found in files.items()}
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "files.zip").write_bytes(archive({**named, **broken}))
    said = logs("import", tmp_path / "in")
    assert "of 4 files. Turns: 4 new, 0 known, 0 changed." in said
    assert "files.zip/notes.json: it is of no known format; known are turns, otlp, " in said
    assert "files.zip/../../evil.jsonl:2: this is no JSON." in said
    assert "files.zip/../../evil.jsonl:4: messages: there are no messages" in said
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["files.zip", "in"]
    assert "Turns: 0 new, 4 known, 0 changed." in logs("import", tmp_path / "in" / "files.zip")


def test_names_of_an_archive_cannot_control_the_terminal(tmp_path: Path) -> None:
    evil = as_lines({**TRAJECTORY, "agent": {"name": "\x1b[2J", "version": "1"}})
    (tmp_path / "files.zip").write_bytes(archive({"\x1b[2J\x1b]0;evil\x07.json": b"{}", "good.json": evil}))
    said = logs("import", tmp_path)
    assert "/\ufffd[2J\ufffd]0;evil\ufffd.json: it is of no known format" in said
    assert "\x1b" not in said + logs("list")


def test_what_is_no_file_of_a_folder_is_passed_by(tmp_path: Path) -> None:
    (tmp_path / "trajectory.json").write_bytes(FILES["atif"][1])
    (tmp_path / "gone.json").symlink_to(tmp_path / "nowhere.json")
    os.mkfifo(tmp_path / "pipe.json")
    (tmp_path / "folder.json").mkdir()
    assert "lines of 1 files. Turns: 1 new" in logs("import", tmp_path)

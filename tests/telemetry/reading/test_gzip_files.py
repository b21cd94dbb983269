"""Files that are packed with gzip: read as they are, as far as they can be."""

from __future__ import annotations

import gzip
import io
import json

import pytest

from agents.telemetry.reading import chunked_files, gzip_files
from agents.telemetry.reading.detect_format import format_of_file
from tests.telemetry.reading import captures, reports


def lines(*traces: int) -> bytes:
    bodies = [reports.request(*reports.turn(trace, at=trace * 10.0)) for trace in traces]
    return b"".join(json.dumps(body).encode() + b"\n" for body in bodies)


def read(data: bytes) -> list[chunked_files.FileChunk]:
    file = io.BytesIO(data)
    format_ = format_of_file(file)
    assert format_ is not None
    return list(chunked_files.read_chunks(file, format_))


@pytest.mark.parametrize("name", ["codex_rollout.jsonl", "claude_code.jsonl"])
def test_a_packed_file_holds_what_is_in_it(name: str) -> None:
    data = (captures.SESSIONS / name).read_bytes()
    plain, unpacked = read(data), read(gzip.compress(data))
    assert [span for piece in unpacked for span in piece.spans] == [span for piece in plain for span in piece.spans]
    assert sum(piece.lines for piece in unpacked) == sum(piece.lines for piece in plain)


def test_its_size_is_that_of_the_file() -> None:
    data = gzip.compress(lines(*range(1, 2_000)))
    assert len(chunks := read(data)) > 1
    assert sum(piece.size for piece in chunks) == len(data)


def test_one_that_is_cut_off_is_read_up_to_there() -> None:
    data = gzip.compress(lines(*range(1, 400)))
    *some, last = read(data[: len(data) // 2])
    assert [skip.reason for skip in last.skipped] == [gzip_files.BROKEN]
    assert len({span.trace for piece in some for span in piece.spans}) > 50


def test_so_is_one_with_something_else_behind() -> None:
    *some, last = read(gzip.compress(lines(1, 2)) + b"something else")
    assert [skip.reason for skip in last.skipped] == [gzip_files.BROKEN]
    assert len({span.trace for piece in some for span in piece.spans}) == 2


def test_one_that_only_fills_the_machine_is_not_read_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gzip_files, "UNCHECKED_BYTES", 2**20)
    *some, last = read(gzip.compress(lines(1) + b"\n" * 32 * 2**20))
    assert [skip.reason for skip in last.skipped] == [gzip_files.TOO_DENSE]
    assert {span.trace for piece in some for span in piece.spans}


@pytest.mark.parametrize(
    "data", [b"", b"\x1f", b"\x1f\x8b", b"\x1f\x8bnothing of the kind", gzip.compress(b"", mtime=0)]
)
def test_what_is_nothing_has_no_format(data: bytes) -> None:
    assert format_of_file(io.BytesIO(data)) is None

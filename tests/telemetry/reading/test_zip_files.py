"""Zip archives: what is read of them, and what they cannot do."""

from __future__ import annotations

import io
import zipfile
from typing import Any

import pytest

from agents.telemetry.reading import gzip_files, zip_files
from agents.telemetry.reading.decoding import FormatError


def archive(files: dict[str, bytes], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    """An archive of files by their names."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as target:
        for name, content in files.items():
            target.writestr(name, content)
    return out.getvalue()


def members(data: bytes) -> list[tuple[str, bytes, str]]:
    return [(found.name, found.content.read(), found.problem) for found in zip_files.read_members(io.BytesIO(data))]


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_it_reads_the_files_that_can_be_imported_by_name(compression: int) -> None:
    others = {"notes.txt": b"n", "__MACOSX/a.json": b"m", "a.meta.json": b"{}"}
    data = archive({"b.jsonl": b"2", "deep/a.json": b"3", "../../a.parquet": b"1", **others}, compression)
    assert zip_files.is_zip(io.BytesIO(data))
    assert members(data) == [("../../a.parquet", b"1", ""), ("b.jsonl", b"2", ""), ("deep/a.json", b"3", "")]


def test_it_refuses_what_is_packed_twice() -> None:
    found = members(archive({"a.zip": archive({"b.json": b"{}"}), "c.json.gz": b"x", "d.json": b"{}"}))
    assert [(name, problem) for name, _, problem in found] == [
        ("a.zip", zip_files.PACKED_TWICE),
        ("c.json.gz", zip_files.PACKED_TWICE),
        ("d.json", ""),
    ]


def test_it_stops_at_the_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    data = archive({"a.json": b"1" * 600_000, "b.json": b"2" * 600_000, "c.json": b"3"})
    monkeypatch.setattr(zip_files, "MAX_UNPACKED_BYTES", 1_000_000)
    read = zip_files.read_members(io.BytesIO(data))
    assert next(read).name == "a.json"
    with pytest.raises(FormatError, match="unpacks to more than"):
        next(read)
    monkeypatch.undo()
    monkeypatch.setattr(gzip_files, "UNCHECKED_BYTES", 100_000)
    with pytest.raises(FormatError, match="250 times its size"):
        list(zip_files.read_members(io.BytesIO(archive({"a.json": b"1" * 20_000_000}))))
    monkeypatch.setattr(zip_files, "MAX_MEMBERS", 2)
    read = zip_files.read_members(io.BytesIO(archive({"a.json": b"1", "b.json": b"2", "c.json": b"3"})))
    assert [next(read).name, next(read).name] == ["a.json", "b.json"]
    with pytest.raises(FormatError, match="has more than"):
        next(read)


def test_a_directory_that_is_too_long_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zip_files, "_MAX_DIRECTORY_BYTES", 100)
    data = archive({"a.json": b"1", "b.json": b"2", "c.json": b"3"})
    with pytest.raises(FormatError, match="has more than"):
        members(data)
    end = data.rindex(b"PK\x05\x06")
    longer = b"PK\x06\x06" + bytes(36) + (10**9).to_bytes(8, "little") + bytes(8) + b"PK\x06\x07" + bytes(16)
    lying = data[:end] + longer + data[end : end + 12] + (50).to_bytes(4, "little") + data[end + 16 :]
    with pytest.raises(FormatError, match="has more than"):
        members(lying)


@pytest.mark.parametrize("cut", [10, 60, -1, -10])
def test_a_broken_archive_says_so(cut: int) -> None:
    with pytest.raises(FormatError, match="the zip archive is broken"):
        members(archive({"a.json": b"1" * 50, "b.json": b"2"})[:cut])


@pytest.mark.parametrize("change", ["content", "method", "encrypted"])
def test_a_broken_file_does_not_hide_the_others(change: str) -> None:
    data = bytearray(archive({"a.json": b"aaaa", "b.json": b"b"}, zipfile.ZIP_STORED))
    where = {"content": data.index(b"aaaa"), "method": data.index(b"PK\x01\x02") + 10, "encrypted": 0}[change]
    data[where] = 77
    if change == "encrypted":
        data[0], data[data.index(b"PK\x01\x02") + 8], data[6] = ord("P"), 1, 1
    found = members(bytes(data))
    assert [(name, problem) for name, _, problem in found] == [("a.json", zip_files.BROKEN_MEMBER), ("b.json", "")]


@pytest.mark.parametrize("files", [{}, {"notes.txt": b"n"}])
def test_an_archive_of_nothing_says_what_it_lacks(files: dict[str, Any]) -> None:
    with pytest.raises(FormatError, match=r"no file in the zip archive that ends in \.json, "):
        members(archive(files))

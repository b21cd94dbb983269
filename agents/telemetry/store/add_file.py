"""Adds files to an import, each by its own format, and those of an archive one by one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO, cast

from agents.telemetry.reading import zip_files
from agents.telemetry.reading.chunked_files import read_chunks
from agents.telemetry.reading.decoding import FormatError
from agents.telemetry.reading.detect_format import UNKNOWN_FORMAT, FileFormat, format_of_file
from agents.telemetry.store.importer import Importer

AUTO_FORMAT = "auto"
"""In place of a format: each file is read by the one that its content has."""


def add_file(importer: Importer, name: str, file: BinaryIO, format_: str) -> Iterator[None]:
    """Add a file, which stands at its beginning; yields after each chunk, so that progress can be told."""
    if not zip_files.is_zip(file):
        yield from _add_content(importer, name, file, format_)
        return
    report = importer.report
    try:
        for member in zip_files.read_members(file):
            member_name = f"{name}/{member.name}"
            if member.problem:
                report.skip(member_name, 0, member.problem)
                continue
            before = report.size
            for _ in _add_content(importer, member_name, member.content, format_):
                report.size = before  # what was unpacked does not count as progress in the archive
                yield
            report.size = before + member.packed_bytes
            yield
    except FormatError as error:
        report.skip(name, 0, error.reason)


def _add_content(importer: Importer, name: str, file: BinaryIO, format_: str) -> Iterator[None]:
    read_as = format_of_file(file) if format_ == AUTO_FORMAT else cast(FileFormat, format_)
    if read_as is None:
        importer.report.skip(name, 0, UNKNOWN_FORMAT)
        return
    importer.report.files += 1
    for chunk in read_chunks(file, read_as):
        importer.add(name, chunk)
        yield

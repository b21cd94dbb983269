"""``turnlog logs import``: imports files of external agents' turns into the log."""

from __future__ import annotations

import os
import time
from argparse import ArgumentParser
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Protocol, cast, get_args

from django.core.management.base import CommandError

from agents.base.access import Actor
from agents.base.store import keys
from agents.telemetry.reading.chunked_files import read_chunks
from agents.telemetry.reading.detect_format import UNKNOWN_FORMAT, FileFormat, format_of_file
from agents.telemetry.store.importer import Importer, ImportResult

AUTO = "auto"
FORMATS: tuple[str, ...] = (AUTO, *get_args(FileFormat))
PROGRESS_MIN_BYTES = 4 * 2**20
"""Bytes of all files from which on progress is printed."""
PROGRESS_INTERVAL_S = 2.0
MAX_SKIPPED_LINES = 20
"""Skipped lines that are printed one by one."""
_SUFFIXES = frozenset({".jsonl", ".json", ".ndjson", ".parquet"})
"""Suffixes of files that are imported from a folder, gzipped or not."""


class ProgressStream(Protocol):
    """The stream that progress is written to."""

    def write(self, msg: str = "", *, ending: str | None = None) -> None: ...

    def isatty(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """The files of an import, their owner, and the names of agent and session ('' for those in the files)."""

    files: tuple[Path, ...]
    format: str
    agent: str
    session: str
    actor: Actor


class ImportProgress:
    """Prints the progress of an import at intervals: on one line of a terminal, else on separate lines."""

    def __init__(self, out: Any) -> None:
        self._out = cast(ProgressStream, out)
        self._next = time.monotonic() + PROGRESS_INTERVAL_S
        self.total = 0

    def write(self, report: ImportResult, suffix: str = "", *, force: bool = False) -> None:
        if self.total < PROGRESS_MIN_BYTES or (not force and time.monotonic() < self._next):
            return
        self._next = time.monotonic() + PROGRESS_INTERVAL_S
        line = f"{report.size / 2**20:,.1f} of {self.total / 2**20:,.1f} MiB, {report.lines:,} lines{suffix}"
        if self._out.isatty():
            self._out.write(f"\r{line}", ending="\n" if force else "")
        else:
            self._out.write(line)


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", type=Path, help="files, or folders with some")
    parser.add_argument("--format", choices=FORMATS, default=AUTO, help="told from each file by itself")
    parser.add_argument("--agent", default="", help="the agent they are of, whatever they say")
    parser.add_argument("--session", default="", help="the session they are of, whatever they say")
    parser.add_argument("--user", default="", help="whose they will be; by default the local user's")


def import_options(options: dict[str, Any]) -> ImportOptions:
    """Return the options of an import. Raises CommandError for a missing file or user."""
    files = tuple(dict.fromkeys(file for path in options["files"] for file in _files_in(path)))
    if not files:
        raise CommandError(
            "There is no .jsonl, .ndjson, .json or .parquet file in it, nor one of these with .gz behind."
        )
    names = (options["agent"].strip()[:300], options["session"].strip()[:300])
    return ImportOptions(files, options["format"], *names, _actor(options["user"]))


def _files_in(path: Path) -> Iterator[Path]:
    if path.is_dir():
        for folder, inner, names in os.walk(path):
            inner.sort()
            yield from (Path(folder) / name for name in sorted(names) if _is_importable(name))
    elif path.is_file():
        yield path
    else:
        raise CommandError(f"{path}: there is no such file.")


def _is_importable(name: str) -> bool:
    name = name.lower().removesuffix(".gz")
    return Path(name).suffix in _SUFFIXES and not name.endswith(".meta.json")


def _actor(name: str) -> Actor:
    if not name:
        return keys.local()
    actor = keys.of_name(name)
    if actor is None:
        raise CommandError(f"There is no active user '{name[:80]}'.")
    return actor


def run(options: ImportOptions, progress: ImportProgress) -> ImportResult:
    """Import all files and build their turns. Raises CommandError for a file that cannot be read at all."""
    importer = Importer(options.actor, agent=options.agent, session=options.session)
    progress.total = sum(path.stat().st_size for path in options.files)
    for path in options.files:
        try:
            with path.open("rb") as file:
                _import_file(importer, file, path, options, progress)
        except OSError as error:
            raise CommandError(f"{path}: {error.strerror or error}") from error
    for count in importer.finish():
        progress.write(importer.report, f", {count:,} traces understood")
    progress.write(importer.report, force=True)
    return importer.report


def _import_file(
    importer: Importer, file: BinaryIO, path: Path, options: ImportOptions, progress: ImportProgress
) -> None:
    report = importer.report
    format_ = format_of_file(file) if options.format == AUTO else cast(FileFormat, options.format)
    if format_ is None:
        report.skip(str(path), 0, UNKNOWN_FORMAT)
        return
    report.files += 1
    for chunk in read_chunks(file, format_):
        importer.add(str(path), chunk)
        progress.write(report)


def nothing_found(report: ImportResult) -> str:
    """Return what is said of an import without a turn."""
    spans = f" None of its {report.spans:,} spans is a call of a model, a tool or an agent." if report.spans else ""
    return f"No turn was found in it.{spans} Formats that are read: {', '.join(get_args(FileFormat))}."


def summary_lines(report: ImportResult) -> Iterator[str]:
    """Yield the lines of a summary of the import."""
    turns = f"{report.new:,} new, {report.known:,} known, {report.changed:,} changed"
    yield f"Read {report.lines:,} lines of {report.files:,} files. Turns: {turns}."
    if not report.reasons:
        return
    yield f"Skipped {report.reasons.total():,}:"
    visible = report.skipped[:MAX_SKIPPED_LINES]
    yield from (f"  {name}{f':{line}' if line else ''}: {reason}" for name, line, reason in visible)
    remaining = report.reasons.total() - len(visible)
    if remaining > 0:
        yield f"  and {remaining:,} more:"
        yield from (f"    {count:,} times: {reason}" for reason, count in report.reasons.most_common(MAX_SKIPPED_LINES))

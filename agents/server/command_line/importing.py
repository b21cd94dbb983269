"""``turnlog logs import``: imports files of external agents' turns into the log."""

from __future__ import annotations

import os
import time
from argparse import ArgumentParser
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, cast, get_args

from django.core.management.base import CommandError

from agents.base.access import Actor
from agents.base.store import keys
from agents.server.command_line.printing import printable
from agents.telemetry.reading import zip_files
from agents.telemetry.reading.detect_format import FileFormat
from agents.telemetry.store.add_file import AUTO_FORMAT, add_file
from agents.telemetry.store.importer import Importer, ImportResult

FORMATS: tuple[str, ...] = (AUTO_FORMAT, *get_args(FileFormat))
PROGRESS_MIN_BYTES = 4 * 2**20
"""Bytes of all files from which on progress is printed."""
PROGRESS_INTERVAL_S = 2.0
MAX_SKIPPED_LINES = 20
"""Skipped lines that are printed one by one."""


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
    parser.add_argument("files", nargs="+", metavar="FILE", type=Path, help="files, zip archives, or folders with some")
    parser.add_argument("--format", choices=FORMATS, default=AUTO_FORMAT, help="told from each file by itself")
    parser.add_argument("--agent", default="", help="the agent they are of, whatever they say")
    parser.add_argument("--session", default="", help="the session they are of, whatever they say")
    parser.add_argument("--user", default="", help="whose they will be; by default the local user's")


def import_options(options: dict[str, Any]) -> ImportOptions:
    """Return the options of an import. Raises CommandError for a missing file or user."""
    files = tuple(dict.fromkeys(file for path in options["files"] for file in _files_in(path)))
    if not files:
        raise CommandError(
            "There is no .jsonl, .ndjson, .json, .parquet or .zip file in it, nor one of these with .gz behind."
        )
    names = (options["agent"].strip()[:300], options["session"].strip()[:300])
    return ImportOptions(files, options["format"], *names, _actor(options["user"]))


def _files_in(path: Path) -> Iterator[Path]:
    if path.is_dir():
        for folder, inner, names in os.walk(path):
            inner.sort()
            paths = (Path(folder) / name for name in sorted(names) if _is_imported(name))
            yield from (inside for inside in paths if inside.is_file())  # a pipe would wait for ever
    elif path.is_file():
        yield path
    else:
        raise CommandError(f"{path}: there is no such file.")


def _is_imported(name: str) -> bool:
    return zip_files.is_importable(name) or name.lower().endswith(".zip")


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
                for _ in add_file(importer, str(path), file, options.format):
                    progress.write(importer.report)
        except OSError as error:
            raise CommandError(f"{path}: {error.strerror or error}") from error
    for count in importer.finish():
        progress.write(importer.report, f", {count:,} traces understood")
    progress.write(importer.report, force=True)
    return importer.report


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
    yield from (printable(f"  {name}{f':{line}' if line else ''}: {reason}") for name, line, reason in visible)
    remaining = report.reasons.total() - len(visible)
    if remaining > 0:
        yield f"  and {remaining:,} more:"
        reasons = report.reasons.most_common(MAX_SKIPPED_LINES)
        yield from (printable(f"    {count:,} times: {reason}") for reason, count in reasons)

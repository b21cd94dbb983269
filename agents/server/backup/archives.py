"""The file of a backup: written, checked by reading it back, read."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Self

import msgspec
import zstandard

from agents.base.errors import AgentsError
from agents.server.backup import rows
from agents.server.backup.rows import ContentHash, Row
from agents.server.backup.snapshots import Rows
from agents.server.backup.tables import BackupTable

FORMAT = 1
MANIFEST, SECRET = "manifest.json", "secret"
MAX_BATCH_BYTES = 4 * 2**20
"""Bytes of lines that are decoded together, or one line."""


class BackupError(AgentsError):
    """A backup that cannot be made, read or restored."""


class TableContent(msgspec.Struct, frozen=True):
    """What a backup has of a table: the number of its rows and the SHA-256 of their content."""

    table: BackupTable
    rows: int
    sha256: str


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """What a backup says of itself. ``migrations`` are all that its database had seen, by app; ``id_secret`` is a
    fingerprint of the secret that formed the public ids, ``has_secret`` tells whether the file holds that secret."""

    format: int = FORMAT
    made_at: str
    engine: str
    version: str
    migrations: dict[str, list[str]]
    id_secret: str
    has_secret: bool
    tables: list[TableContent]

    @property
    def last_migration(self) -> str:
        return self.migrations["agents"][-1]

    @property
    def rows(self) -> int:
        return sum(content.rows for content in self.tables)


class ArchiveWriter:
    """Writes a backup into a file that only its owner can read."""

    def __init__(self, file: IO[bytes]) -> None:
        self._zip = zipfile.ZipFile(file, "w", zipfile.ZIP_STORED)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._zip.close()

    def add_table(self, table: BackupTable, source: Rows) -> TableContent:
        """Write the rows of a table."""
        content = ContentHash(table)
        packer = zstandard.ZstdCompressor(level=3)
        with (
            self._zip.open(_member(table), "w", force_zip64=True) as member,
            packer.stream_writer(member, closefd=False) as packed,
        ):
            for batch in source.batches(table):
                lines = rows.encode(batch)
                content.add(batch, lines)
                packed.write(lines)
        return TableContent(table, content.rows, content.hexdigest())

    def finish(self, manifest: Manifest, secret: bytes | None) -> None:
        """Write the rest of the file: the manifest comes last, so that a file without its end is no backup."""
        if secret is not None:
            self._zip.writestr(SECRET, secret)
        self._zip.writestr(MANIFEST, msgspec.json.format(msgspec.json.encode(manifest), indent=1))


class Archive:
    """A backup that is read. Each method raises BackupError where the file is damaged."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with _damages(path):
            self._zip = zipfile.ZipFile(path)
            raw = self._zip.read(MANIFEST)
            self.manifest = msgspec.json.decode(raw, type=Manifest)
        if self.manifest.format != FORMAT:
            raise BackupError(
                f"{path}: format {self.manifest.format} of backups is of a newer version of this program."
            )

    def secret(self) -> bytes | None:
        with _damages(self.path):
            return self._zip.read(SECRET) if self.manifest.has_secret else None

    def batches(self, table: BackupTable) -> Iterator[list[Row]]:
        """Yield the rows of a table, as plain values."""
        with _damages(self.path):
            for lines in self._lines(table):
                yield list(rows.decode(table, lines))

    def verify(self, on_table: Callable[[TableContent], None] = lambda _: None) -> None:
        """Read everything, and compare numbers and hashes with the manifest."""
        with _damages(self.path):
            self.secret()
            for expected in self.manifest.tables:
                content = ContentHash(expected.table)
                for lines in self._lines(expected.table):
                    content.add(rows.decode(expected.table, lines), lines)
                compare(expected, content, str(self.path))
                on_table(expected)

    def _lines(self, table: BackupTable) -> Iterator[bytes]:
        """Yield the lines of a table in pieces that end with a line."""
        unpacker = zstandard.ZstdDecompressor()
        with self._zip.open(_member(table)) as member, unpacker.stream_reader(member) as unpacked:
            rest: list[bytes] = []
            while piece := unpacked.read(MAX_BATCH_BYTES):
                end = piece.rfind(b"\n") + 1
                if end:
                    yield b"".join([*rest, piece[:end]])
                    rest = []
                rest.append(piece[end:])
            if any(rest):
                raise ValueError(f"{table.name}: the last line has no end")


def compare(expected: TableContent, content: ContentHash, where: str) -> None:
    """Raise BackupError where a table has other content than is expected of it."""
    name = expected.table.name
    if content.rows != expected.rows:
        message = f"{where}: {name} has {content.rows:,} rows instead of {expected.rows:,}."
        raise BackupError(message, code="backup_damaged")
    if content.hexdigest() != expected.sha256:
        message = f"{where}: the {expected.rows:,} rows of {name} are not those that were written."
        raise BackupError(message, code="backup_damaged")


@contextmanager
def private_file(path: Path) -> Iterator[IO[bytes]]:
    """Open a new file that only its owner can read; it gets its name when the block has ended well. Raises
    BackupError for one that exists, OSError."""
    if path.exists():
        raise BackupError(f"{path}: there is such a file already.")
    partial = path.with_name(f".{path.name}.partial")
    partial.unlink(missing_ok=True)
    try:
        with open(partial, "xb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        partial.rename(path)
    finally:
        partial.unlink(missing_ok=True)


def _member(table: BackupTable) -> str:
    return f"tables/{table.name}.jsonl.zst"


_DAMAGES: tuple[type[Exception], ...] = (
    zipfile.BadZipFile,
    zstandard.ZstdError,
    msgspec.MsgspecError,
    KeyError,
    ValueError,
    EOFError,
)


@contextmanager
def _damages(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise BackupError(f"{path}: {error.strerror or error}") from error
    except _DAMAGES as error:
        message = f"{path} is no whole backup: {_words(error)}"
        raise BackupError(message, code="backup_damaged") from error


def _words(error: Any) -> str:
    return str(error.args[0] if error.args else error) or type(error).__name__

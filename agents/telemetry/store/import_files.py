"""Stores the files of unfinished imports on this machine's disk: an accepted import outlives its process.

Each import has a folder, named by its key. The process that works on it holds a lock on the folder, which the system
releases when the process ends, in whatever way: a folder without a lock was abandoned, and may be taken over.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, BinaryIO

import msgspec
from django.conf import settings

MANIFEST, LOCK_FILE = "about.json", "lock"
UNFINISHED_PREFIX = ".new-"
STALE_AFTER_S = 3600.0
"""After this time a folder that is still being filled counts as left by a crash."""


class ImportManifest(msgspec.Struct):
    """The names of an import's files, and how often the import was started."""

    names: list[str]
    attempts: int = msgspec.field(default=0, name="begun")  # its name in folders that older versions left


@dataclass(slots=True)
class StoredFiles:
    """The files of one import, locked by this process until they are deleted or released."""

    key: int
    folder: Path
    manifest: ImportManifest
    _lock: IO[bytes]

    def count_attempt(self) -> int:
        """Count one more attempt on the disk; returns how many there were."""
        self.manifest.attempts += 1
        _write(self.folder / MANIFEST, msgspec.json.encode(self.manifest))
        return self.manifest.attempts

    def open(self) -> list[tuple[str, BinaryIO]]:
        """Open all files by their names; the caller closes them."""
        return [(name, (self.folder / str(number)).open("rb")) for number, name in enumerate(self.manifest.names)]

    def delete(self) -> None:
        """Delete the folder and give up the lock."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self._lock.close()

    def release(self) -> None:
        """Give up the lock, so that another process may take the files over."""
        self._lock.close()


def store(key: int, files: Sequence[tuple[str, BinaryIO]]) -> StoredFiles:
    """Write files to the disk durably, and lock them. Raises OSError."""
    new_folder = _imports_folder() / f"{UNFINISHED_PREFIX}{key}"
    new_folder.mkdir(mode=0o700)
    try:
        lock = _lock_folder(new_folder)
        assert lock is not None  # nobody else knows of it
        manifest = ImportManifest([name for name, _ in files])
        for number, (_, file) in enumerate(files):
            file.seek(0)
            _write(new_folder / str(number), file)
        _write(new_folder / MANIFEST, msgspec.json.encode(manifest))
        folder = new_folder.rename(new_folder.with_name(str(key)))
        _sync(folder.parent)
    except BaseException:
        shutil.rmtree(new_folder, ignore_errors=True)
        raise
    return StoredFiles(key, folder, manifest, lock)


def abandoned() -> Iterator[StoredFiles]:
    """Yield the files that no process holds, locked by this one now."""
    for folder in sorted(_imports_folder().iterdir()):
        if folder.name.startswith(UNFINISHED_PREFIX):
            _delete_if_stale(folder)
        elif folder.name.isdecimal() and (files := _take_over(folder)) is not None:
            yield files


def _take_over(folder: Path) -> StoredFiles | None:
    try:
        lock = _lock_folder(folder)
    except FileNotFoundError:  # it was deleted meanwhile
        return None
    if lock is None:
        return None
    try:
        manifest = msgspec.json.decode((folder / MANIFEST).read_bytes(), type=ImportManifest)
    except (
        FileNotFoundError
    ):  # a crash interrupted its deletion: a folder gets its key as its name only when it is complete
        shutil.rmtree(folder, ignore_errors=True)
        lock.close()
        return None
    return StoredFiles(int(folder.name), folder, manifest, lock)


def _delete_if_stale(folder: Path) -> None:
    with suppress(FileNotFoundError):
        if time.time() - folder.stat().st_mtime > STALE_AFTER_S:
            shutil.rmtree(folder, ignore_errors=True)


def _lock_folder(folder: Path) -> IO[bytes] | None:
    """The lock of a folder; None where somebody else has it. Raises FileNotFoundError."""
    descriptor = os.open(folder / LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o600)
    lock = os.fdopen(descriptor, "r+b")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.close()
        return None
    return lock


def _write(path: Path, content: bytes | BinaryIO) -> None:
    """Write a file durably: it is on the disk when this returns, and complete if it exists at all."""
    part = path.with_name(f"{path.name}.part")
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        if isinstance(content, bytes):
            file.write(content)
        else:
            shutil.copyfileobj(content, file)
        file.flush()
        os.fsync(file.fileno())
    part.rename(path)
    _sync(path.parent)


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _imports_folder() -> Path:
    home = Path(settings.DATA_DIR) / "imports"
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    return home

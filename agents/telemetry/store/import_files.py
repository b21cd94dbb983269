"""The files of imports that are not over, on this machine's disk: what was accepted outlives its process.

Each import has a folder, called by its key. Whoever works on it holds a lock on it, which the system takes
away when the process ends, however it does: what nobody holds was left, and may be taken up.
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

ABOUT, LOCK = "about.json", "lock"
UNFINISHED = ".new-"
STALE_S = 3600.0
"""A folder that is being filled for so long was left by a crash."""


class About(msgspec.Struct):
    """What is said beside the files: what they were called, and how often their import was begun."""

    names: list[str]
    begun: int = 0


@dataclass(slots=True)
class Kept:
    """The files of one import, held by this process until they are dropped or let go."""

    key: int
    folder: Path
    about: About
    _lock: IO[bytes]

    def begin(self) -> int:
        """Note that the import begins (again); returns how often it has."""
        self.about.begun += 1
        _write(self.folder / ABOUT, msgspec.json.encode(self.about))
        return self.about.begun

    def open(self) -> list[tuple[str, BinaryIO]]:
        """All of them, to be closed by the caller."""
        return [(name, (self.folder / str(place)).open("rb")) for place, name in enumerate(self.about.names)]

    def drop(self) -> None:
        """They are needed no more."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self._lock.close()

    def let_go(self) -> None:
        """Leave them to whoever looks next."""
        self._lock.close()


def keep(key: int, files: Sequence[tuple[str, BinaryIO]]) -> Kept:
    """Put files on the disk for good. Raises OSError."""
    made = _home() / f"{UNFINISHED}{key}"
    made.mkdir(mode=0o700)
    try:
        lock = _locked(made)
        assert lock is not None  # nobody else knows of it
        about = About([name for name, _ in files])
        for place, (_, file) in enumerate(files):
            file.seek(0)
            _write(made / str(place), file)
        _write(made / ABOUT, msgspec.json.encode(about))
        folder = made.rename(made.with_name(str(key)))
        _sync(folder.parent)
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise
    return Kept(key, folder, about, lock)


def left() -> Iterator[Kept]:
    """Those that no process holds; they are held by this one now."""
    for folder in sorted(_home().iterdir()):
        if folder.name.startswith(UNFINISHED):
            _clear(folder)
        elif folder.name.isdecimal() and (kept := _taken_up(folder)) is not None:
            yield kept


def _taken_up(folder: Path) -> Kept | None:
    try:
        lock = _locked(folder)
    except FileNotFoundError:  # it was dropped meanwhile
        return None
    if lock is None:
        return None
    try:
        about = msgspec.json.decode((folder / ABOUT).read_bytes(), type=About)
    except FileNotFoundError:  # a crash came while it was dropped: a folder gets its key when it is whole
        shutil.rmtree(folder, ignore_errors=True)
        lock.close()
        return None
    return Kept(int(folder.name), folder, about, lock)


def _clear(folder: Path) -> None:
    with suppress(FileNotFoundError):
        if time.time() - folder.stat().st_mtime > STALE_S:
            shutil.rmtree(folder, ignore_errors=True)


def _locked(folder: Path) -> IO[bytes] | None:
    """The lock of a folder; None where somebody else has it. Raises FileNotFoundError."""
    descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    lock = os.fdopen(descriptor, "r+b")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.close()
        return None
    return lock


def _write(path: Path, content: bytes | BinaryIO) -> None:
    """A file that is on the disk when this returns, and whole if it is there."""
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


def _home() -> Path:
    home = Path(settings.DATA_DIR) / "imports"
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    return home

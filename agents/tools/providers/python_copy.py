"""A copy of this interpreter and its standard library, for the sandbox: readable by whoever runs
there, and gone with the server.

A server that is killed cannot remove its copy. Each holds a lock on the folder of its own as long as
it lives, so that the next one can tell which are left over.
"""

from __future__ import annotations

import fcntl
import logging
import os
import shutil
import stat
import sys
import sysconfig
import tempfile
import weakref
from contextlib import suppress
from pathlib import Path

log = logging.getLogger(__name__)

PREFIX = "agents-sandbox-"
PYTHON, MEMORY = "py", "memory"
"""In a folder: the copy, and where each run mounts what it may write to."""
_EXCLUDED = (
    "test",
    "tests",
    "site-packages",
    "dist-packages",
    "idlelib",
    "tkinter",
    "turtledemo",
    "ensurepip",
    "lib2to3",
)


class PythonCopy:
    """One folder with a copy, and the lock on it."""

    def __init__(self) -> None:
        self.home, lock = _locked_folder()
        self.remove = weakref.finalize(self, _remove, self.home, lock)
        (self.home / MEMORY).mkdir()
        _copy(self.home / PYTHON)
        for folder in (self.home, self.home / MEMORY):
            folder.chmod(0o755)

    def is_complete(self) -> bool:
        """Whether nobody has tidied it away."""
        return (self.home / PYTHON / "bin" / "python3").exists()


def remove_leftovers() -> None:
    """Remove the copies of servers that are gone; those of others, and of other users, stay."""
    folders = [folder for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*") if _is_ours(folder)]
    removed = sum(_remove_unlocked(folder) for folder in folders)
    if removed:
        log.info("removed copies of Python that killed servers left in %s: %d", tempfile.gettempdir(), removed)


def _is_ours(folder: Path) -> bool:
    try:
        status = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()


def _remove_unlocked(folder: Path) -> bool:
    try:
        lock = _lock(folder)
    except OSError:  # its server lives, or another one is removing it
        return False
    _remove(folder, lock)
    return True


def _locked_folder() -> tuple[Path, int]:
    """A new folder. One without its lock yet may be taken for left over by a server that just starts."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=PREFIX))
        with suppress(BlockingIOError, FileNotFoundError):
            return folder, _lock(folder)


def _lock(folder: Path) -> int:
    """A descriptor that holds the lock until it is closed. Raises OSError, where it is held or gone."""
    number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not os.path.samestat(os.fstat(number), folder.lstat()):
            raise FileNotFoundError(folder)
    except OSError:
        os.close(number)
        raise
    return number


def _remove(folder: Path, lock: int) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    os.close(lock)


def _copy(home: Path) -> None:
    library = Path(sysconfig.get_paths()["stdlib"])
    ignored = shutil.ignore_patterns("__pycache__", "config-*", *_EXCLUDED)
    shutil.copytree(library, home / "lib" / library.name, ignore=ignored)
    (home / "bin").mkdir()
    shutil.copy(os.path.realpath(sys.executable), home / "bin" / "python3")
    for shared in Path(sysconfig.get_config_var("LIBDIR") or "/usr/lib").glob("libpython3*.so*"):
        shutil.copy(shared, home / "lib" / shared.name)
    for folder, _, names in os.walk(home):
        Path(folder).chmod(0o755)
        for name in names:
            Path(folder, name).chmod(0o755 if name == "python3" else 0o644)

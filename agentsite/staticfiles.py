"""Stores static files under hashed names, so that browsers may cache them for ever."""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.core.management import call_command
from whitenoise.storage import CompressedManifestStaticFilesStorage


class HashedFiles(CompressedManifestStaticFilesStorage):  # type: ignore[misc]  # untyped
    """A manifest storage that also rewrites ``import`` lines of ES modules to the hashed names. A name that was
    never collected raises ValueError: a page that refers to it is a bug."""

    support_js_module_import_aggregation = True
    manifest_strict = False


def is_collected() -> bool:
    """Tell whether the static files are collected and nothing changed since."""
    stamp = _stamp()
    return stamp.exists() and stamp.read_text() == _sources()


def collect() -> None:
    """Collect the static files, unless that is done: hashing and compressing them takes longer than the rest of a
    start. Of several processes that share the folder, one does it and the others wait."""
    with _locked(Path(settings.STATIC_ROOT)):
        if not is_collected():
            present = _sources()
            call_command("collectstatic", interactive=False, verbosity=0)
            _stamp().write_text(present)


def _stamp() -> Path:
    """Return the file that has the digest of what was collected."""
    return Path(settings.STATIC_ROOT) / "stamp.txt"


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _sources() -> str:
    """Return a digest of the source files: names, sizes and times."""
    digest = hashlib.sha256()
    for finder in get_finders():
        for path, storage in finder.list([]):
            status = Path(storage.path(path)).stat()
            digest.update(f"{path} {status.st_size} {status.st_mtime_ns}\n".encode())
    return digest.hexdigest()

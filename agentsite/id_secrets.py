"""The secret that forms public ids, in backups: a fingerprint of it, and the file where this server made it itself."""

from __future__ import annotations

import os
from pathlib import Path

from django.conf import settings

from agents.base import ids
from agentsite import environment


def fingerprint() -> str:
    """Return a fingerprint of the secret that forms public ids: the same for the same ids."""
    return ids.fingerprint().hex()


def file_content() -> bytes | None:
    """Return the content of ``DATA_DIR/secret`` where the ids are formed with it; None where the environment has the
    secret."""
    if environment.secret("ID_SECRET") or environment.secret("SECRET_KEY"):
        return None
    return _file().read_bytes()


def replace_file(content: bytes) -> Path | None:
    """Write ``DATA_DIR/secret`` from a backup; returns where the one before was put, None where it was the same."""
    if _file().read_bytes() == content:
        return None
    earlier = _file().with_name("secret.before-restore")
    _file().rename(earlier)
    with os.fdopen(os.open(_file(), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)
    return earlier


def _file() -> Path:
    return Path(settings.DATA_DIR) / "secret"

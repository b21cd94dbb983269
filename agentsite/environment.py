"""Reads settings from the environment, one function per type; each raises ImproperlyConfigured on nonsense.

A secret may come from a file instead: ``NAME_FILE`` names it.
"""

from __future__ import annotations

import json
import os
import re
import secrets
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured


def text(name: str, default: str = "") -> str:
    return os.environ.get(name, "").strip() or default


def secret(name: str, default: str = "") -> str:
    path = text(f"{name}_FILE")
    if not path:
        return text(name, default)
    try:
        return Path(path).read_text().strip()
    except OSError as error:
        raise ImproperlyConfigured(f"{name}_FILE: cannot read {path}: {error.strerror}") from error


def integer(name: str, default: int, *, low: int = 0, high: int = 2**31) -> int:
    raw = text(name)
    if not raw:
        return default
    if not raw.lstrip("-").isdecimal() or not low <= int(raw) <= high:
        raise ImproperlyConfigured(f"{name}={raw!r}: a whole number from {low} to {high} is needed")
    return int(raw)


def flag(name: str, default: bool = False) -> bool:
    raw = text(name).lower()
    if not raw:
        return default
    if raw not in {"1", "true", "yes", "on", "0", "false", "no", "off"}:
        raise ImproperlyConfigured(f"{name}={raw!r}: say true or false")
    return raw in {"1", "true", "yes", "on"}


_PATH = re.compile(r"(/[A-Za-z0-9._~-]+)*")


def http_url(name: str) -> str:
    """Return an address of scheme, host, and perhaps port and path, without a slash at its end."""
    raw = text(name).rstrip("/")
    if not raw:
        return ""
    try:
        parts = urlsplit(raw)
        is_plain = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_plain = False
    if not is_plain or parts.username or parts.query or parts.fragment or not _PATH.fullmatch(parts.path):
        raise ImproperlyConfigured(f"{name}={raw!r}: write https://example.org or https://example.org/path")
    return raw


def choice(name: str, choices: Sequence[str]) -> str:
    """Return one of these values; without the variable the first."""
    raw = text(name, choices[0]).lower()
    if raw not in choices:
        raise ImproperlyConfigured(f"{name}={raw!r}: say {' or '.join(choices)}")
    return raw


def word_list(name: str) -> list[str]:
    """Return a list of values separated by commas or blanks."""
    return text(name).replace(",", " ").split()


def mapping(name: str) -> dict[str, Any]:
    """Return the value of a JSON object."""
    raw = secret(name)
    if not raw:
        return {}
    try:
        value = json.loads(raw)
    except ValueError as error:
        raise ImproperlyConfigured(f"{name}: not JSON: {error}") from error
    if not isinstance(value, dict):
        raise ImproperlyConfigured(f"{name}: a JSON object is needed")
    return value


def functions(name: str) -> dict[str, list[str]]:
    """Return the dotted paths of functions by group: from a JSON object of lists, or from paths separated by commas,
    which form the group ``functions``."""
    if not text(name).startswith("{"):
        paths = word_list(name)
        return {"functions": paths} if paths else {}
    groups = mapping(name)
    for group, paths in groups.items():
        if not isinstance(paths, list) or not all(isinstance(path, str) for path in paths):
            raise ImproperlyConfigured(f"{name}: {group}: a list of package.module:function is needed")
    return groups


def folder(name: str, default: Path) -> Path:
    """Return a folder that this process can write to; create it if it is missing."""
    try:
        path = Path(text(name) or default).expanduser().resolve()
    except RuntimeError as error:
        raise ImproperlyConfigured(f"{name}={text(name)}: this user has no home folder") from error
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)  # it contains private conversations
    except OSError as error:
        raise ImproperlyConfigured(f"{name}: cannot make the folder {path}: {error.strerror}") from error
    if not os.access(path, os.W_OK | os.X_OK):
        raise ImproperlyConfigured(f"{name}: the folder {path} is not writable")
    return path


def stored_secret(path: Path) -> str:
    """Return the secret in a file, which is created at the first start and readable by its owner only. Of several
    processes that start at once, all return the same. Raises ImproperlyConfigured for a file that others can read."""
    if not path.exists():
        _create_secret(path)
    if path.stat().st_mode & 0o077:
        raise ImproperlyConfigured(f"{path} can be read by others; run: chmod 600 {path}")
    return path.read_text().strip()


def _create_secret(path: Path) -> None:
    """Create the file with its content, unless another process is first: nobody ever reads half of it."""
    part = path.with_name(f"{path.name}.{os.getpid()}")
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(secrets.token_urlsafe(48))
    with suppress(FileExistsError):
        os.link(part, path)
    part.unlink()

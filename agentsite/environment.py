"""Reads settings from the environment, one function per type; each raises ImproperlyConfigured on nonsense.

A secret may come from a file instead: ``NAME_FILE`` names it.
"""

from __future__ import annotations

import json
import os
import secrets
from pathlib import Path
from typing import Any

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
    path = Path(text(name) or default).expanduser().resolve()
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)  # it contains private conversations
    except OSError as error:
        raise ImproperlyConfigured(f"{name}: cannot make the folder {path}: {error.strerror}") from error
    if not os.access(path, os.W_OK | os.X_OK):
        raise ImproperlyConfigured(f"{name}: the folder {path} is not writable")
    return path


def stored_secret(path: Path) -> str:
    """Return the secret in a file, which is created at the first start and readable by its owner only. Raises
    ImproperlyConfigured for a file that others can read."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        if path.stat().st_mode & 0o077:
            raise ImproperlyConfigured(f"{path} can be read by others; run: chmod 600 {path}") from None
        return path.read_text().strip()
    value = secrets.token_urlsafe(48)
    with os.fdopen(handle, "w") as file:
        file.write(value)
    return value

"""System checks for settings that do not fit together, and for tables without rules of deletion, each with a hint.

``manage.py check`` runs them. The settings module itself refuses values that make a start impossible; these checks
find a server that would start and then not work, or not be safe.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register

from agents.base.store.sqlite import ENGINE as SQLITE
from agents.base.subjects import NEEDS, REMOVABLE, is_installed
from agents.loop.inference.registry import SCRIPTED

LOOPBACK_NAMES = {"localhost", "127.0.0.1", "[::1]"}
EVERYWHERE = {"0.0.0.0", "::"}  # noqa: S104 - compared, not bound

SETTINGS = "settings"
"""The tag of the checks that a start makes: settings differ from server to server. All others look at the code, which
the tests have done, and take a tenth of a start."""

_Messages = Iterator[CheckMessage]


def _checker(find: Callable[[], _Messages]) -> Callable[..., list[CheckMessage]]:
    """Return a Django system check from a function that yields messages."""

    def check(app_configs: Sequence[AppConfig] | None = None, **_: Any) -> list[CheckMessage]:
        return list(find())

    return check


def _names() -> set[str]:
    """Return the names of the configured endpoints."""
    openai = {"openai"} if settings.OPENAI_BASE_URL or settings.OPENAI_API_KEY else set()
    return {SCRIPTED, *settings.MODEL_ENDPOINTS, *openai}


def endpoints() -> _Messages:
    for name, raw in settings.MODEL_ENDPOINTS.items():
        base_url = raw.get("base_url") if isinstance(raw, dict) else None
        if not name or "/" in name:
            hint = "The part of a model's name before the first slash names its endpoint."
            yield Error(f"MODEL_ENDPOINTS: {name!r} cannot be an endpoint's name.", hint=hint, id="agents.E001")
        if not _is_http(base_url):
            hint = f'Say where it is: {{"{name}": {{"base_url": "http://…/v1", "api_key": "…"}}}}.'
            yield Error(f"MODEL_ENDPOINTS: {name!r} has no base_url.", hint=hint, id="agents.E002")
    if settings.OPENAI_BASE_URL and not _is_http(settings.OPENAI_BASE_URL):
        yield Error("OPENAI_BASE_URL is no http or https URL.", hint="For example http://…:8000/v1", id="agents.E003")


def default_endpoint() -> _Messages:
    name = settings.DEFAULT_ENDPOINT
    if name and name not in _names():
        hint = f"There are: {', '.join(sorted(_names()))}. Add it to MODEL_ENDPOINTS, or name one of these."
        yield Error(f"DEFAULT_ENDPOINT: there is no endpoint {name!r}.", hint=hint, id="agents.E004")


def subjects() -> _Messages:
    for name in settings.INSTALLED_SUBJECTS:
        if name not in REMOVABLE:
            hint = f"There are: {', '.join(REMOVABLE)}."
            yield Error(f"INSTALLED_SUBJECTS: there is no subject {name!r}.", hint=hint, id="agents.E005")
    for name, needed in NEEDS.items():
        if is_installed(name) and not is_installed(needed):
            hint = f"Add {needed!r}, or leave {name!r} out, too."
            yield Error(f"INSTALLED_SUBJECTS: {name!r} needs {needed!r}.", hint=hint, id="agents.E007")
    if settings.REQUIRE_LOGIN and not is_installed("identity"):
        hint = "Install it, or read the log over the API, with keys that were made before."
        yield Warning("Nobody can log in to the pages: the subject identity is left out.", hint=hint, id="agents.W007")


def hosts() -> _Messages:
    named = [host for host in settings.ALLOWED_HOSTS if host not in LOOPBACK_NAMES]
    if not named and settings.BEHIND_TLS:
        hint = "Set ALLOWED_HOSTS to the name the proxy is reached by, such as logs.example.org."
        yield Warning(
            "BEHIND_TLS, but requests to every name except localhost are refused.", hint=hint, id="agents.W001"
        )
    elif not named and settings.HOST in EVERYWHERE:
        hint = "Set ALLOWED_HOSTS to the names and addresses this machine is reached by."
        yield Warning(
            f"HOST is {settings.HOST}, but requests to every name except localhost are refused.",
            hint=hint,
            id="agents.W002",
        )
    if "*" in named:
        hint = "List the names; a page of a foreign name could otherwise talk to this server."
        yield Warning("ALLOWED_HOSTS allows every name.", hint=hint, id="agents.W003")


def open_wire() -> _Messages:
    if not settings.LOOPBACK and not settings.BEHIND_TLS:
        hint = "Put a proxy that speaks TLS in front and set BEHIND_TLS, or bind HOST to 127.0.0.1."
        yield Warning("Passwords and API keys travel unencrypted.", hint=hint, id="agents.W004")
    for name, url, key in _keyed_endpoints():
        parts = urlsplit(url)
        if key and parts.scheme == "http" and parts.hostname not in {"localhost", "127.0.0.1", "::1"}:
            hint = "Use https, or leave the key out where the endpoint asks for none."
            yield Warning(f"The key of the endpoint {name!r} travels unencrypted.", hint=hint, id="agents.W005")


def _keyed_endpoints() -> Iterator[tuple[str, str, str]]:
    yield "openai", settings.OPENAI_BASE_URL, settings.OPENAI_API_KEY
    for name, raw in settings.MODEL_ENDPOINTS.items():
        if isinstance(raw, dict):
            yield name, str(raw.get("base_url", "")), str(raw.get("api_key") or "")


def files() -> _Messages:
    database = settings.DATABASES["default"]
    if database["ENGINE"] == SQLITE:
        path = Path(str(database["NAME"]))
        if _others_can_read(path):
            hint = f"chmod 600 {path}*, or chmod 700 {path.parent}"
            yield Warning(f"Every user of this machine can read {path}.", hint=hint, id="agents.W006")


def _others_can_read(path: Path) -> bool:
    """Return whether the file's mode and those of the folders above it let others read it."""
    try:
        return bool(path.stat().st_mode & 0o004) and all(os.stat(above).st_mode & 0o001 for above in path.parents)
    except OSError:
        return False  # missing, or not readable by us


def tables() -> _Messages:
    from agents.record.store import references  # models can be imported only now

    try:
        references.read_models()
    except references.UndeclaredReference as error:
        yield Error(str(error), hint="agents/record/models/references.py has the rules.", id="agents.E006")


def _is_http(url: object) -> bool:
    if not isinstance(url, str):
        return False
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(parts.hostname)


def register_all() -> None:
    """Register all checks with ``manage.py check``."""
    register(_checker(tables))
    for find in (endpoints, default_endpoint, subjects):
        register(_checker(find), SETTINGS)
    for find in (hosts, open_wire, files):
        register(_checker(find), SETTINGS, Tags.security)

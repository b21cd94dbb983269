"""System checks: settings that do not go together are named, with what to do about it."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from django.core.checks import CheckMessage, run_checks

from agents.base.store.sqlite import ENGINE as SQLITE
from agents.server import checks
from tests import ROOT

LOOPBACK = ["localhost", "127.0.0.1", "[::1]"]


def ids(found: Iterable[CheckMessage]) -> list[str]:
    messages = list(found)
    assert all(each.hint for each in messages)
    return [str(each.id) for each in messages]


def test_the_defaults_are_fine() -> None:
    assert [each for each in run_checks() if str(each.id).startswith("agents.") or each.is_serious()] == []


ENDPOINTS: list[tuple[Any, list[str]]] = [
    ({"vllm": {"base_url": "http://localhost:8000/v1"}}, []),
    ({"vllm": {}}, ["agents.E002"]),
    ({"vllm": {"base_url": ""}}, ["agents.E002"]),
    ({"vllm": {"base_url": "localhost:8000"}}, ["agents.E002"]),
    ({"vllm": {"base_url": "ftp://models"}}, ["agents.E002"]),
    ({"vllm": {"base_url": "http://[oops"}}, ["agents.E002"]),
    ({"vllm": {"base_url": 8000}}, ["agents.E002"]),
    ({"vllm": "http://localhost:8000/v1"}, ["agents.E002"]),
    ({"a/b": {"base_url": "http://localhost:8000/v1"}}, ["agents.E001"]),
    ({"": {"base_url": "http://localhost:8000/v1"}}, ["agents.E001"]),
]


@pytest.mark.parametrize(("configured", "expected"), ENDPOINTS)
def test_endpoints_have_a_name_and_an_address(settings: Any, configured: Any, expected: list[str]) -> None:
    settings.MODEL_ENDPOINTS = configured
    assert ids(checks.endpoints()) == expected


@pytest.mark.parametrize(("url", "expected"), [("", []), ("https://models/v1", []), ("models:8000", ["agents.E003"])])
def test_the_openai_address_is_one(settings: Any, url: str, expected: list[str]) -> None:
    settings.OPENAI_BASE_URL = url
    assert ids(checks.endpoints()) == expected


DEFAULTS: list[tuple[str, dict[str, Any], str, list[str]]] = [
    ("", {}, "", []),
    ("scripted", {}, "", []),
    ("vllm", {"vllm": {}}, "", []),
    ("openai", {}, "a key", []),
    ("openai", {}, "", ["agents.E004"]),
    ("vlm", {"vllm": {}}, "", ["agents.E004"]),
]


@pytest.mark.parametrize(("name", "configured", "key", "expected"), DEFAULTS)
def test_the_default_endpoint_exists(
    settings: Any, name: str, configured: dict[str, Any], key: str, expected: list[str]
) -> None:
    settings.DEFAULT_ENDPOINT, settings.MODEL_ENDPOINTS, settings.OPENAI_API_KEY = name, configured, key
    assert ids(checks.default_endpoint()) == expected


HOSTS: list[tuple[str, bool, list[str], list[str]]] = [
    ("127.0.0.1", False, [], []),
    ("127.0.0.1", True, [], ["agents.W001"]),
    ("127.0.0.1", True, ["logs.example.org"], []),
    ("0.0.0.0", False, [], ["agents.W002"]),
    ("::", False, ["10.0.0.5"], []),
    ("127.0.0.1", False, ["*"], ["agents.W003"]),
]


@pytest.mark.parametrize(("host", "tls", "named", "expected"), HOSTS)
def test_the_server_answers_to_its_name(
    settings: Any, host: str, tls: bool, named: list[str], expected: list[str]
) -> None:
    settings.HOST, settings.BEHIND_TLS, settings.ALLOWED_HOSTS = host, tls, [*LOOPBACK, *named]
    assert ids(checks.hosts()) == expected


@pytest.mark.parametrize(
    ("loopback", "tls", "expected"), [(True, False, []), (False, True, []), (False, False, ["agents.W004"])]
)
def test_passwords_do_not_travel_in_the_open(settings: Any, loopback: bool, tls: bool, expected: list[str]) -> None:
    settings.LOOPBACK, settings.BEHIND_TLS = loopback, tls
    assert ids(checks.open_wire()) == expected


KEYED: list[tuple[dict[str, str], list[str]]] = [
    ({"base_url": "http://models.example/v1", "api_key": "secret"}, ["agents.W005"]),
    ({"base_url": "http://models.example/v1"}, []),
    ({"base_url": "https://models.example/v1", "api_key": "secret"}, []),
    ({"base_url": "http://localhost:8000/v1", "api_key": "secret"}, []),
]


@pytest.mark.parametrize(("endpoint", "expected"), KEYED)
def test_keys_of_endpoints_do_not_travel_in_the_open(
    settings: Any, endpoint: dict[str, str], expected: list[str]
) -> None:
    settings.MODEL_ENDPOINTS = {"vllm": endpoint}
    assert ids(checks.open_wire()) == expected


MODES = [
    (0o644, 0o755, True),
    (0o640, 0o755, False),
    (0o600, 0o755, False),
    (0o644, 0o750, False),
    (0o644, 0o700, False),
]


@pytest.mark.parametrize(("file", "folder", "open_to_all"), MODES)
def test_the_database_is_not_for_everyone_to_read(
    settings: Any, monkeypatch: pytest.MonkeyPatch, file: int, folder: int, open_to_all: bool
) -> None:
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "agents.sqlite3"
        path.touch()
        path.chmod(file)
        path.parent.chmod(folder)
        monkeypatch.setitem(settings.DATABASES, "default", {"ENGINE": SQLITE, "NAME": path})
        reached = all(above.stat().st_mode & 0o001 for above in path.parent.parents)
        assert ids(checks.files()) == (["agents.W006"] if open_to_all and reached else [])


def test_a_database_elsewhere_has_no_file(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(settings.DATABASES, "default", {"ENGINE": "django.db.backends.postgresql", "NAME": "agents"})
    assert ids(checks.files()) == []
    monkeypatch.setitem(settings.DATABASES, "default", {"ENGINE": SQLITE, "NAME": ":memory:"})
    assert ids(checks.files()) == []


def test_a_server_for_others_has_nothing_to_mend(tmp_path: Path) -> None:
    """In a process of its own, for settings are read at its start; Django's checks look at the whole API."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LD_LIBRARY_PATH") if name in os.environ}
    given = {"HOST": "0.0.0.0", "ALLOWED_HOSTS": "logs.example.org", "BEHIND_TLS": "true"}
    command = [sys.executable, "manage.py", "check", "--deploy", "--fail-level", "WARNING"]
    environment = {**kept, **given, "DATA_DIR": str(tmp_path / "data")}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=100, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "no issues" in done.stdout

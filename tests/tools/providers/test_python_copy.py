"""Copies of Python that a killed server left behind go; all others stay."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from agents.tools.providers.python_copy import PythonCopy, remove_leftovers


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.fixture
def living() -> Iterator[PythonCopy]:
    copy = PythonCopy()
    yield copy
    copy.remove()


def test_what_nobody_holds_is_removed(place: Path) -> None:
    (place / "agents-sandbox-left" / "py" / "bin").mkdir(parents=True)
    remove_leftovers()
    assert list(place.iterdir()) == []


def test_what_a_server_holds_stays(place: Path, living: PythonCopy) -> None:
    remove_leftovers()
    assert living.is_complete()


def test_it_goes_with_its_server(place: Path) -> None:
    copy = PythonCopy()
    copy.remove()
    assert list(place.iterdir()) == []


def test_whoever_runs_in_it_may_read_it(place: Path) -> None:
    before = os.umask(0o077)
    try:
        copy = PythonCopy()
    finally:
        os.umask(before)
    assert {oct(folder.stat().st_mode)[-3:] for folder in (copy.home, *copy.home.iterdir())} == {"755"}
    copy.remove()


def test_other_names_files_and_links_stay(place: Path) -> None:
    (place / "other").mkdir()
    (place / "other" / "kept").touch()
    (place / "agents-sandbox-file").touch()
    (place / "agents-sandbox-link").symlink_to("other")
    remove_leftovers()
    assert sorted(path.name for path in place.iterdir()) == ["agents-sandbox-file", "agents-sandbox-link", "other"]
    assert (place / "other" / "kept").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make folders of others")
def test_folders_of_other_users_stay(place: Path) -> None:
    folder = place / "agents-sandbox-theirs"
    folder.mkdir()
    os.chown(folder, 65534, 65534)
    remove_leftovers()
    assert folder.exists()

"""Whether a database has this version's tables, told by names of migrations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from agentsite import data_versions

pytestmark = pytest.mark.django_db


def test_a_migrated_database_is_current() -> None:
    assert data_versions.is_current(by_this_version=False)


def test_one_that_lacks_a_migration_is_not() -> None:
    MigrationRecorder(connection).record_unapplied("agents", "0022_unchecked_turn_of_item")
    assert not data_versions.is_current(by_this_version=False)


def test_one_of_a_newer_version_is_not() -> None:
    MigrationRecorder(connection).record_applied("agents", "9999_of_next_year")
    assert not data_versions.is_current(by_this_version=False)


def test_a_migration_of_what_is_no_longer_there_does_no_harm() -> None:
    MigrationRecorder(connection).record_applied("removed_app", "0001_initial")
    assert data_versions.is_current(by_this_version=False)


def test_one_that_an_older_version_has_migrated_last_is_not(settings: Any, tmp_path: Path) -> None:
    settings.DATA_DIR = tmp_path
    assert not data_versions.is_current(by_this_version=True)
    data_versions.remember()
    assert data_versions.is_current(by_this_version=True)
    (tmp_path / data_versions.VERSION_FILE).write_text("0.0.1\n")
    assert not data_versions.is_current(by_this_version=True)

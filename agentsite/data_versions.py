"""Data of other versions: that of an older one is copied before it is migrated, that of a newer one is refused."""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from pkgutil import iter_modules

from django.apps import apps
from django.conf import settings
from django.core.management.base import CommandError
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from agentsite import sqlite
from turnlog import __version__

MAX_COPIES = 2
"""Copies that are kept, the latest ones."""
VERSION_FILE = "version"
"""In DATA_DIR: the version that migrated it last."""
_MARGIN = 64 * 2**20


def is_current(*, by_this_version: bool) -> bool:
    """Tell whether the database has the migrations of this version, and of the app no others, by their names alone: to
    read the migrations takes a tenth of a start. With ``by_this_version`` also whether it was this one that migrated
    it, and not an older one that had the same."""
    if by_this_version and _last_version() != __version__:
        return False
    own, applied = _migrations(), set(MigrationRecorder(connection).applied_migrations())
    return own <= applied and all(key in own for key in applied if key[0] == "agents")


def _migrations() -> set[tuple[str, str]]:
    """Return app and name of each migration of this version."""
    migrations = set()
    for app in apps.get_app_configs():
        module, _is_setting = MigrationLoader.migrations_module(app.label)
        if module is not None and find_spec(module) is not None:
            folders = import_module(module).__path__
            migrations |= {(app.label, name) for _, name, is_folder in iter_modules(folders) if not is_folder}
    return migrations


def refuse_newer(executor: MigrationExecutor) -> None:
    """Raise CommandError where a newer version has migrated the database: this one would misread its tables."""
    loader = executor.loader
    unknown = sorted(
        name for app, name in loader.applied_migrations if app == "agents" and (app, name) not in loader.graph
    )
    if not unknown:
        return
    newer = _last_version()
    version = f"Turnlog {newer}" if newer not in ("", __version__) else "a newer version of Turnlog"
    raise CommandError(
        f"The data was last used by {version}: its tables have changes that {__version__} does not know, the last is "
        f"{unknown[-1]}. Install that version, or name another folder by DATA_DIR."
    )


def _last_version() -> str:
    """Return the version that migrated the data last; nothing where that is not known."""
    try:
        return str((settings.DATA_DIR / VERSION_FILE).read_text(encoding="utf-8").strip())
    except OSError:
        return ""


def remember() -> None:
    """Write down which version has migrated the data, for its owner alone, as all data."""
    path = settings.DATA_DIR / VERSION_FILE
    with open(path, "w", encoding="utf-8", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        file.write(f"{__version__}\n")


def copy_before_migration(executor: MigrationExecutor) -> Path | None:
    """Copy a SQLite file whose tables are of an older version, into the folder ``backups`` beside it; return the copy.
    None where there is nothing to copy, or COPY_BEFORE_MIGRATION says so; PostgreSQL has copies of its own. Raises
    CommandError where there is no room for it."""
    file = sqlite.file_of(executor.connection.settings_dict)
    if file is None or not settings.COPY_BEFORE_MIGRATION:
        return None
    missing = executor.migration_plan(executor.loader.graph.leaf_nodes())
    if not missing or not executor.loader.applied_migrations:
        return None
    folder = file.parent / "backups"
    folder.mkdir(mode=0o700, exist_ok=True)
    _refuse_without_room(folder, file)
    copy = folder / f"before-{missing[0][0].name[:4]}-{datetime.now(UTC):%Y%m%d-%H%M%S}.sqlite3"
    _copy(file, copy)
    for old in sorted(folder.glob("before-*.sqlite3"), key=lambda path: path.stat().st_mtime)[:-MAX_COPIES]:
        old.unlink()
    return copy


def _refuse_without_room(folder: Path, file: Path) -> None:
    needed = sum(path.stat().st_size for path in (file, Path(f"{file}-wal")) if path.exists()) + _MARGIN
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise CommandError(
            f"The tables are of an older version, and there is no room to copy them before they are changed: {folder} "
            f"needs {needed >> 20:,} MiB and has {free >> 20:,}. Make room, or set COPY_BEFORE_MIGRATION=false."
        )


def _copy(file: Path, copy: Path) -> None:
    """Copy what was committed, also beside processes that read and write."""
    part = copy.with_suffix(".part")
    part.touch(mode=0o600)
    with closing(sqlite3.connect(file)) as source, closing(sqlite3.connect(part)) as target:
        source.backup(target)
    part.replace(copy)

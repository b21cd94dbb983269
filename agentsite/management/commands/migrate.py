"""``turnlog migrate``: Django's, by one process at a time, on a file that is its owner's alone, and beside servers
that use the same tables."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.core.management.commands import migrate
from django.db import connections
from django.db.migrations.executor import MigrationExecutor

from agents.base.lock_waits import until_unlocked, waiting_for_locks
from agents.base.store import fingerprints
from agents.base.store.claims import ClaimKind, claimed
from agentsite import data_versions, sqlite

LOCK_TIMEOUT_MS = 2_000
"""How long a change of a table waits at PostgreSQL for those who use it. All who come later wait behind it, so it
then makes way for them and tries again."""
LAST_THAT_CHANGED_ROWS = "0022"
"""Our later migrations add tables, columns and indexes, and fill in columns: ``tests/test_migrations.py`` holds them to
that."""


class Command(migrate.Command):
    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--accept-id-secret",
            action="store_true",
            help="take the present ID_SECRET for the database's, where that is lost; public ids given out are void",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        database = connections[options["database"]]
        sqlite.create_file(database.settings_dict)
        with claimed(ClaimKind.START):
            executor = MigrationExecutor(database)  # reads all migrations, so once
            data_versions.refuse_newer(executor)
            if not options["app_label"] and (copy := data_versions.copy_before_migration(executor)):
                self.stdout.write(
                    f"The tables are of an older version: they were copied to {copy} and are changed now."
                )
            with self._beside_others(executor, options["app_label"]):
                self._migrate(*args, **options)
            data_versions.remember()
            if options["accept_id_secret"]:
                fingerprints.accept_secret()

    @staticmethod
    def _beside_others(executor: MigrationExecutor, app_label: str | None) -> AbstractContextManager[None]:
        """What holds up those who use the database the least."""
        database = executor.connection
        if database.vendor == "postgresql":
            return waiting_for_locks(database, LOCK_TIMEOUT_MS)
        return sqlite.without_reference_checks(database) if not app_label and _only_adds(executor) else nullcontext()

    def _migrate(self, *args: Any, **options: Any) -> None:
        """Migrate, again and again as long as somebody else holds a table."""
        waits = "A table is in use by a long transaction: waiting for its end."
        try:
            until_unlocked(lambda: super(Command, self).handle(*args, **options), lambda: self.stderr.write(waits))
        except TimeoutError as error:
            raise CommandError(str(error)) from error


def _only_adds(executor: MigrationExecutor) -> bool:
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    return all(step.app_label == "agents" and step.name[:4] > LAST_THAT_CHANGED_ROWS for step, _backwards in plan)

"""``turnlog partition``: split the large tables of PostgreSQL into parts by month, beside servers that use them."""

from __future__ import annotations

from argparse import ArgumentParser
from datetime import UTC, datetime
from functools import partial
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import connection
from django.template.defaultfilters import filesizeformat

from agents.base import ids
from agents.base.lock_waits import until_unlocked
from agents.base.store.claims import ClaimKind, claimed
from agents.record.store import partitions
from agents.record.store.partitions import PartitionedTable


class Command(BaseCommand):
    help = (
        "Split the large tables of PostgreSQL into parts by month, so that a month whose turns were deleted gives its "
        "space back to the disk. Servers may run meanwhile. Tables that are split already are left as they are."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--list", action="store_true", help="only name the tables and their parts")

    def handle(self, *args: Any, **options: Any) -> None:
        if connection.vendor != "postgresql":
            raise CommandError("Only PostgreSQL has tables in parts; SQLite gives space back by itself.")
        with claimed(ClaimKind.START):  # beside no migration
            for table in partitions.TABLES:
                if not options["list"] and not partitions.parts(table):
                    self._split(table)
                self._list(table)

    def _split(self, table: PartitionedTable) -> None:
        waits = f"{table.name} is in use by a long transaction: waiting for its end."
        try:
            until_unlocked(partial(partitions.split, table, ids.now_us()), lambda: self.stderr.write(waits))
        except TimeoutError as error:
            raise CommandError(f"{table.name}: {error} Run the command again.") from error
        finally:
            if not partitions.parts(table):
                partitions.withdraw(table)

    def _list(self, table: PartitionedTable) -> None:
        parts = partitions.parts(table)
        self.stdout.write(f"{table.name}: {f'{len(parts)} parts' if parts else 'not split'}")
        for part in parts:
            until = (
                f"until {datetime.fromtimestamp(ids.key_time_us(part.end) / 1e6, UTC):%Y-%m-%d}"
                if part.end
                else "all the rest"
            )
            self.stdout.write(f"  {part.name}  {until}  {filesizeformat(part.bytes)}")

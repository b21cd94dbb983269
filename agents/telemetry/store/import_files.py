"""Stores the files of unfinished imports in blocks, where every process of the database finds them: an accepted import
outlives the process that took it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import BinaryIO

from django.db import DatabaseError

from agents.base import ids
from agents.base.store.sql import Insert, Select
from agents.base.store.writer import writer
from agents.telemetry.models.imports import OPEN_STATES, Import, ImportBlock

BLOCK_BYTES = 256 * 1024
"""Bytes of a block, which is one short write."""
ABANDONED_AFTER_US = 3_600_000_000
"""After this time blocks without an import are those of an upload that a crash cut short."""
_ADD = Insert(ImportBlock, "id import_id file position data")
_BLOCKS = Select(ImportBlock, "id", "import_id = %s AND file = %s ORDER BY position")
_DATA = Select(ImportBlock, "data", "id = %s")


def store(key: int, files: Sequence[BinaryIO]) -> None:
    """Store the content of an import's files, in order. When that fails nothing of it stays."""
    try:
        for number, file in enumerate(files):
            file.seek(0)
            for position, data in enumerate(iter(partial(file.read, BLOCK_BYTES), b"")):
                writer.write(partial(_ADD.execute, ids.new_key(), key, number, position, data))
    except BaseException:
        with suppress(DatabaseError):  # `delete_unneeded` does it later
            delete(key)
        raise


@contextmanager
def opened(key: int, names: Sequence[str]) -> Iterator[list[tuple[str, BinaryIO]]]:
    """Give the files by their names, as temporary files, for the block."""
    files: list[tuple[str, BinaryIO]] = []
    try:
        for number, name in enumerate(names):
            files.append((name, tempfile.TemporaryFile()))  # noqa: SIM115 - closed below
            for (block,) in _BLOCKS.all(key, number):
                for (data,) in _DATA.all(block):
                    files[-1][1].write(bytes(data))
        yield files
    finally:
        for _, file in files:
            file.close()


def delete(key: int) -> None:
    """Delete the files of an import, in short writes."""
    blocks = ImportBlock.objects.filter(import_id=key)
    while keys := list(blocks.values_list("pk", flat=True)[:16]):
        writer.write(partial(ImportBlock.objects.filter(pk__in=keys)._raw_delete, "default"))


def delete_unneeded(now_us: int) -> int:
    """Delete the files that no import needs, and return of how many imports: at once of those that are over, whose
    process was killed before it did so; of uploads that broke off, whose import might still come, after an hour."""
    keys = set(ImportBlock.objects.values_list("import_id", flat=True).distinct())
    owned = Import.objects.unscoped("retention").filter(pk__in=keys, owner__isnull=False)
    states = dict(owned.values_list("pk", "state"))
    oldest = now_us - ABANDONED_AFTER_US
    unneeded = [
        key for key in keys if (states[key] not in OPEN_STATES if key in states else ids.key_time_us(key) < oldest)
    ]
    for key in unneeded:
        delete(key)
    return len(unneeded)

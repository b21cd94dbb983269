"""The table of imports of uploaded files, with their results."""

from __future__ import annotations

from django.db import models

from agents.base.models.fields import KeyField, MomentField, ShortText
from agents.base.models.scoped import Scoped


class ImportState(models.IntegerChoices):
    """The states of an import. One whose server stopped stays *running* until another process goes on with it."""

    WAITING = 1, "waiting"
    RUNNING = 2, "running"
    COMPLETED = 3, "completed"
    FAILED = 4, "failed"


OPEN_STATES = (ImportState.WAITING, ImportState.RUNNING)


class Import(Scoped):
    """One upload, visible to its owner alone. ``size`` is the bytes of all its files; ``report`` is the result so far
    (`agents.telemetry.store.importer.ImportResult` as JSON). ``agent`` and ``session`` are names that the owner chose,
    or ''. ``file_names`` are those of its files, ``attempts`` how often it was started."""

    id = KeyField()
    name = ShortText(max_length=255)
    format = models.CharField(max_length=20)
    agent = ShortText(max_length=300, blank=True)
    session = ShortText(max_length=300, blank=True)
    state = models.SmallIntegerField(choices=ImportState.choices, default=ImportState.WAITING)
    size = models.BigIntegerField(default=0)
    file_names = models.JSONField(default=list, db_default=[], blank=True)
    attempts = models.SmallIntegerField(default=0, db_default=0)
    report = models.JSONField(default=dict, blank=True)
    error = ShortText(max_length=500, blank=True)
    created_at = MomentField()
    updated_at = MomentField()

    class Meta(Scoped.Meta):
        indexes = [
            # one's own, newest first
            models.Index(fields=["owner", "id"], name="import_owner"),
            # those that a process has still to do
            models.Index(fields=["id"], name="import_open", condition=models.Q(state__in=OPEN_STATES)),
        ]

    def __str__(self) -> str:
        return self.name


class ImportBlock(models.Model):
    """A piece of a file of an import that is not done: ``file`` counts its files from 0. The import's row comes after
    its blocks, so that it is accepted as a whole."""

    id = KeyField()
    import_id = models.BigIntegerField()
    file = models.IntegerField()
    position = models.IntegerField()
    data = models.BinaryField()

    class Meta:
        constraints = [
            # a file's content in order
            models.UniqueConstraint(fields=["import_id", "file", "position"], name="import_block"),
        ]

    def __str__(self) -> str:
        return f"block {self.position} of import {self.import_id}"

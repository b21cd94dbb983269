"""The table of imports of uploaded files, with their results."""

from __future__ import annotations

from django.db import models

from agents.base.models.fields import KeyField, MomentField, ShortText
from agents.base.models.scoped import Scoped


class ImportState(models.IntegerChoices):
    """The states of an import. One whose server stopped stays *running*; readers see that by its age."""

    WAITING = 1, "waiting"
    RUNNING = 2, "running"
    COMPLETED = 3, "completed"
    FAILED = 4, "failed"


class Import(Scoped):
    """One upload, visible to its owner alone. ``size`` is the bytes of all its files; ``report`` is the result so far
    (`agents.telemetry.store.importer.ImportResult` as JSON). ``agent`` and ``session`` are names that the owner chose,
    or ''."""

    id = KeyField()
    name = ShortText(max_length=255)
    format = models.CharField(max_length=20)
    agent = ShortText(max_length=300, blank=True)
    session = ShortText(max_length=300, blank=True)
    state = models.SmallIntegerField(choices=ImportState.choices, default=ImportState.WAITING)
    size = models.BigIntegerField(default=0)
    report = models.JSONField(default=dict, blank=True)
    error = ShortText(max_length=500, blank=True)
    created_at = MomentField()
    updated_at = MomentField()

    class Meta(Scoped.Meta):
        indexes = [
            # one's own, newest first
            models.Index(fields=["owner", "id"], name="import_owner"),
        ]

    def __str__(self) -> str:
        return self.name

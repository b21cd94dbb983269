"""The tables of column segments: compact copies of the rows, from which numbers over many turns are computed."""

from __future__ import annotations

from django.db import models
from django.db.models import Q


class Segment(models.Model):
    """Consecutive turns with their steps and responses, sealed into columns: those whose keys are above
    ``low`` and up to ``high``. The live segments tile the keys from 0 to the last one's ``high``.
    Only ``seq`` ever changes: a stale segment is replaced and deleted.

    ``seq`` is the number in the change feed up to which it agrees with the rows. A segment that is
    not ``live`` is still being written, or waits for its deletion."""

    low = models.BigIntegerField()
    high = models.BigIntegerField()
    turns = models.IntegerField()
    seq = models.BigIntegerField()
    live = models.BooleanField(default=False)

    class Meta:
        constraints = [
            # two processes that seal the same turns: the second one fails
            models.UniqueConstraint(fields=["low"], name="segment_low", condition=Q(live=True)),
        ]

    def __str__(self) -> str:
        return f"{self.turns} turns"


class SegmentColumn(models.Model):
    """One column of a segment (``turn.status``), packed by `agents.logs.store.numbers.columns`. ``least`` and
    ``most`` are the minimum and maximum of its values, by which scans skip segments; null when it has none."""

    segment = models.ForeignKey(Segment, on_delete=models.CASCADE, related_name="columns", db_index=False)
    name = models.CharField(max_length=40)
    least = models.BigIntegerField(null=True)
    most = models.BigIntegerField(null=True)
    data = models.BinaryField()

    class Meta:
        constraints = [
            # the columns that a request needs, segment by segment
            models.UniqueConstraint(fields=["segment", "name"], name="segment_column"),
        ]

    def __str__(self) -> str:
        return self.name

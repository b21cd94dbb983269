"""Columns beside the rows: what numbers over many turns are counted from."""

from __future__ import annotations

from django.db import models
from django.db.models import Q


class Segment(models.Model):
    """A run of turns with their steps and responses, sealed into columns: those whose keys lie above
    ``low`` and up to ``high``. The live segments tile the keys from 0 to the last one's ``high``.
    Never changed but for ``seq``: one that has become stale is replaced, and dies.

    ``seq`` is the number of the change feed up to which it holds what the rows say. A segment that is
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
    """One column of a segment (``turn.status``), packed by `agents.logs.store.numbers.columns`. ``least``
    and ``most`` of its values tell what cannot be found in it; null when it has none."""

    segment = models.ForeignKey(Segment, on_delete=models.CASCADE, related_name="columns", db_index=False)
    name = models.CharField(max_length=40)
    least = models.BigIntegerField(null=True)
    most = models.BigIntegerField(null=True)
    data = models.BinaryField()

    class Meta:
        constraints = [
            # the columns that a question needs, segment by segment
            models.UniqueConstraint(fields=["segment", "name"], name="segment_column"),
        ]

    def __str__(self) -> str:
        return self.name

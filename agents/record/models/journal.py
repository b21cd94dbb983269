"""The tables of events and deltas, from which a turn is replayed."""

from __future__ import annotations

from django.db import models

from agents.record.models.references import PlainReference
from agents.record.models.turns import Turn


class Event(models.Model):
    """One event of a turn that has not ended, as JSON. A pair (turn, seq) is stored once, so that
    a commit whose answer was lost can be repeated."""

    pk = models.CompositePrimaryKey("turn_id", "seq")
    turn_id = PlainReference(Turn, models.CASCADE)
    seq = models.IntegerField()
    body = models.BinaryField()


class DeltaBatch(models.Model):
    """Deltas of a turn that has not ended, at most 250 ms of them: ``body`` is JSON, a list of
    runs ``[step, channel, index, offset, ordinal, [lengths], text]``, all behind event ``after``."""

    turn_id = PlainReference(Turn, models.CASCADE)
    after = models.IntegerField()
    first_ordinal = models.IntegerField()
    body = models.BinaryField()

    class Meta:
        constraints = [
            # the deltas of a turn in order; a repeated batch is refused
            models.UniqueConstraint(fields=["turn_id", "after", "first_ordinal"], name="delta_batch"),
        ]


class EventPack(models.Model):
    """All events of a turn that has ended, and the lengths of its deltas: zstd over JSON. The text
    of the deltas is taken from the steps, so a replay is the same to the byte."""

    turn_id = PlainReference(Turn, models.CASCADE, primary_key=True)
    event_count = models.IntegerField()
    body = models.BinaryField()

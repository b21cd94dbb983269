"""The record beside the rows: events, deltas, the change feed; interned strings and prices."""

from __future__ import annotations

from django.db import models

from agents.base.models.fields import MomentField, ShortText
from agents.record.models.choices import ChangeKind, TermKind


class Event(models.Model):
    """One event of a turn that has not ended, as JSON. A pair (turn, seq) is stored once, so that
    a commit whose answer was lost can be repeated."""

    pk = models.CompositePrimaryKey("turn_id", "seq")
    turn_id = models.BigIntegerField()
    seq = models.IntegerField()
    body = models.BinaryField()


class DeltaBatch(models.Model):
    """Deltas of a turn that has not ended, at most 250 ms of them: ``body`` is JSON, a list of
    runs ``[step, channel, index, offset, ordinal, [lengths], text]``, all behind event ``after``."""

    turn_id = models.BigIntegerField()
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

    turn_id = models.BigIntegerField(primary_key=True)
    event_count = models.IntegerField()
    body = models.BinaryField()


class Change(models.Model):
    """One row per visible change of any record, in commit order over the whole store: the cursor
    of live lists, and the trigger of everything that follows the rows."""

    seq = models.BigAutoField(primary_key=True)
    kind = models.SmallIntegerField(choices=ChangeKind.choices)
    key = models.BigIntegerField()
    deleted = models.BooleanField(default=False)

    def __str__(self) -> str:
        return f"{self.seq}: {self.get_kind_display()} {self.key}"


class Term(models.Model):
    """An interned string: models, tools, error types. Small dense numbers keep rows narrow."""

    kind = models.SmallIntegerField(choices=TermKind.choices)
    value = ShortText(max_length=300)
    folded = ShortText(max_length=1000, blank=True, help_text="as it is compared: agents.base.words.fold")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["kind", "value"], name="term_value")]
        indexes = [
            # a name or a key=value, in any letters
            models.Index(fields=["kind", "folded"], name="term_folded"),
        ]

    def __str__(self) -> str:
        return self.value


class Price(models.Model):
    """What a model's tokens cost, from a moment on. Rows are never changed: a step points at the
    one it was priced with. Prices are billionths of a dollar per token; cached input and reasoning
    cost as all input and output where they have none of their own. A row that ``closes`` says that
    from then on nobody knows the price."""

    model = ShortText(max_length=300, help_text="a model name; a trailing * matches any ending")
    starts_at = MomentField()
    input_nano = models.BigIntegerField()
    output_nano = models.BigIntegerField()
    cached_nano = models.BigIntegerField(null=True, blank=True)
    reasoning_nano = models.BigIntegerField(null=True, blank=True)
    closes = models.BooleanField(default=False)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["model", "starts_at"], name="price_model")]

    def __str__(self) -> str:
        return f"{self.model} from {self.starts_at:%Y-%m-%d}"

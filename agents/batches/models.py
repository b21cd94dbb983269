"""The tables of batches: one row for each batch, and one for each of its requests while it runs."""

from __future__ import annotations

from django.db import models

from agents.base.models.fields import KeyField, LongText, MomentField, ShortText
from agents.base.models.people import ApiKey
from agents.base.models.scoped import Scoped


class RequestBatch(Scoped):
    """Requests for one endpoint, of a file. ``errors`` are what is wrong with the file, as JSON. The requests run with
    the rights of the owner and of the key ``api_key``. ``claimed_by`` is the process that runs it, and ``claims``
    counts those that have: what an earlier one still brings is thrown away."""

    id = KeyField()
    endpoint = models.CharField(max_length=40)
    input_file_id = ShortText(max_length=100)
    model = ShortText(max_length=300, blank=True)
    status = models.CharField(max_length=20, default="validating")
    metadata = models.JSONField(null=True, blank=True)
    errors = LongText(blank=True)
    output_lives_s = models.IntegerField(null=True, blank=True)
    api_key = models.ForeignKey(
        ApiKey, null=True, blank=True, on_delete=models.SET_NULL, related_name="+", db_index=False, db_constraint=False
    )
    total = models.IntegerField(default=0)
    completed = models.IntegerField(default=0)
    failed = models.IntegerField(default=0)
    input_tokens = models.BigIntegerField(default=0)
    cached_tokens = models.BigIntegerField(default=0)
    output_tokens = models.BigIntegerField(default=0)
    reasoning_tokens = models.BigIntegerField(default=0)
    # by their keys, without a reference: a file may be deleted, and the batch stays
    output_file = models.BigIntegerField(null=True, blank=True)
    error_file = models.BigIntegerField(null=True, blank=True)
    claimed_by = models.CharField(max_length=32, blank=True)
    claims = models.IntegerField(default=0)
    created_at = MomentField()
    expires_at = MomentField()
    in_progress_at = MomentField(null=True, blank=True)
    finalizing_at = MomentField(null=True, blank=True)
    completed_at = MomentField(null=True, blank=True)
    failed_at = MomentField(null=True, blank=True)
    expired_at = MomentField(null=True, blank=True)
    cancelling_at = MomentField(null=True, blank=True)
    cancelled_at = MomentField(null=True, blank=True)

    class Meta(Scoped.Meta):
        verbose_name, verbose_name_plural = "batch", "batches"
        indexes = [
            # what is to be run
            models.Index(
                fields=["id"],
                name="batch_open",
                condition=models.Q(status__in=["validating", "in_progress", "finalizing", "cancelling"]),
            ),
        ]

    def __str__(self) -> str:
        return f"a batch for {self.endpoint}"


class BatchLine(models.Model):
    """A request of a batch, by the ``number`` of its line; ``answer`` is JSON. Both are packed
    (`agents.base.store.encoding`). Lines go once the files are made of them."""

    id = KeyField()
    batch = models.ForeignKey(RequestBatch, on_delete=models.CASCADE, related_name="lines", db_index=False)
    number = models.IntegerField()
    custom_id = ShortText(max_length=512)
    encoding = models.SmallIntegerField()
    body = models.BinaryField()
    status_code = models.IntegerField(null=True, blank=True)
    answer_encoding = models.SmallIntegerField(null=True, blank=True)
    answer = models.BinaryField(null=True, blank=True)

    class Meta:
        constraints = [
            # in the order of the file
            models.UniqueConstraint(fields=["batch", "number"], name="batch_line"),
        ]

    def __str__(self) -> str:
        return f"line {self.number}"

"""The tables of retention: rules that say which turns go, and receipts of what went."""

from __future__ import annotations

from django.db import models

from agents.base.models.fields import KeyField, LongText, MomentField, ShortText


class RetentionRule(models.Model):
    """Turns that a query selects are deleted, or written into a file of ``folder`` before (``archives_as`` is its
    format; empty where they are only deleted). Relative times of the query count from the time of a run."""

    id = KeyField()
    name = ShortText(max_length=100, unique=True)
    query = LongText()
    archives_as = models.CharField(max_length=10, blank=True)
    folder = ShortText(max_length=1000, blank=True, help_text="empty for DATA_DIR/archives")
    enabled = models.BooleanField(default=True)
    created_at = MomentField()
    ran_at = MomentField(null=True, blank=True)

    def __str__(self) -> str:
        return self.name


class RetentionReceipt(models.Model):
    """What a run of a rule has deleted, and the file it was written into before. Rule and query are as they were.
    ``finished_at`` is null from when the file is complete until all of its turns are deleted. A long run has several
    receipts, each with a file of its own."""

    id = KeyField()
    rule = ShortText(max_length=100)
    query = LongText()
    began_at = MomentField()
    finished_at = MomentField(null=True, blank=True)
    turns = models.IntegerField(default=0)
    sessions = models.IntegerField(default=0)
    archived = models.IntegerField(default=0)
    file = ShortText(max_length=1200, blank=True)
    bytes = models.BigIntegerField(default=0)
    sha256 = models.CharField(max_length=64, blank=True)

    class Meta:
        indexes = [
            # the receipts of a rule, newest first
            models.Index(fields=["rule", "id"], name="retention_receipt_rule"),
        ]

    def __str__(self) -> str:
        return f"{self.rule}: {self.turns} turns"

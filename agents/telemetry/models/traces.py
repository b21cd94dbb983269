"""The tables of reported traces, their spans as they came, and the links between traces."""

from __future__ import annotations

from django.db import models
from django.db.models import F, Q

from agents.base.models.fields import KeyField, MomentField, ShortText
from agents.base.models.scoped import Scoped


class Trace(Scoped):
    """One trace of a sender. ``arrived`` counts its reports, ``projected`` is the last of them whose turns are
    stored. A *bare* trace has model calls alone: its turns span several traces, those of the same ``conversation``
    (the sender's id) or those it has links with."""

    id = KeyField()
    foreign_id = ShortText(max_length=255)
    conversation = ShortText(max_length=500, blank=True)
    service = ShortText(max_length=300, blank=True)
    is_bare = models.BooleanField(default=False)
    arrived = models.IntegerField(default=0)
    projected = models.IntegerField(default=0)
    span_count = models.IntegerField(default=0)
    turn_count = models.IntegerField(default=0)
    received_at = MomentField()
    updated_at = MomentField()

    class Meta(Scoped.Meta):
        constraints = [
            # finds a trace when more of it arrives
            models.UniqueConstraint(fields=["owner", "scope", "foreign_id"], name="trace_foreign_id"),
        ]
        indexes = [
            # those with something new, by sender, the longest waiting first
            models.Index(fields=["owner", "updated_at"], name="trace_due", condition=Q(arrived__gt=F("projected"))),
            # those without turns, until they are deleted
            models.Index(fields=["updated_at"], name="trace_unmatched", condition=Q(turn_count=0, projected__gt=0)),
            # bare traces of one conversation
            models.Index(
                fields=["conversation", "id"],
                name="trace_conversation",
                condition=Q(is_bare=True) & ~Q(conversation=""),
            ),
        ]

    def __str__(self) -> str:
        return self.foreign_id


class SpanBatch(models.Model):
    """Spans of a trace that came in one request: ``body`` is JSON, a list of `agents.telemetry.reading.spans.Span`.
    The same spans sent again have the same ``digest`` and are kept once."""

    id = KeyField()
    trace = models.ForeignKey(Trace, on_delete=models.CASCADE, related_name="batches", db_index=False)
    digest = models.BinaryField(max_length=16)
    spans = models.IntegerField()
    encoding = models.SmallIntegerField(default=0, help_text="0 JSON, 1 zstd")
    body = models.BinaryField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["trace", "digest"], name="span_batch")]

    def __str__(self) -> str:
        return f"{self.spans} spans of trace {self.trace_id}"


class TraceLink(models.Model):
    """A tool call or an answer that a bare trace ``gave``, or that its histories hold: these connect the calls of one
    conversation. ``mark`` is a hash of it, of the owner and of the service."""

    pk = models.CompositePrimaryKey("mark", "trace_id", "gave")
    mark = models.BigIntegerField()
    trace_id = models.BigIntegerField()
    gave = models.BooleanField()

    class Meta:
        indexes = [
            # the links of a trace, when it is projected again
            models.Index(fields=["trace_id"], name="trace_link_trace"),
        ]


class SharedMark(models.Model):
    """Something that more than one trace may report: an answer of a model, by its id. ``mark`` is a hash of it and of
    the owner. The id of a score that may be changed has such a mark, too: ``trace_id`` is then its trace, or the turn
    of this server that it is on."""

    pk = models.CompositePrimaryKey("mark", "trace_id")
    mark = models.BigIntegerField()
    trace_id = models.BigIntegerField()

    class Meta:
        indexes = [
            # the marks of a trace, when another one that has some of them is projected
            models.Index(fields=["trace_id"], name="shared_mark_trace"),
        ]

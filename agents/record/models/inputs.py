"""The table of what clients send for a turn while it runs or waits."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from agents.base.models.fields import KeyField, LongText, MomentField
from agents.record.models.turns import Turn


class InputKind(models.IntegerChoices):
    MESSAGE = 1, "message"
    ANSWER = 2, "answer"


class TurnInput(models.Model):
    """A message for a turn that has begun, which its run takes before the next inference; or the answer to one of the
    calls that a turn waits for, kept until all are answered. ``body`` is JSON; ``step`` the step of the answered
    call. One that is ``taken`` is in the turn's log, and has no body here any more. ``fingerprint`` and ``body_hash``
    find the request again when its client retries it, and ``actor_*`` are who sent it, as in a response."""

    id = KeyField()
    turn = models.ForeignKey(Turn, on_delete=models.CASCADE, related_name="inputs", db_index=False)
    kind = models.SmallIntegerField(choices=InputKind.choices)
    step = models.BigIntegerField(null=True, blank=True)
    body = LongText()
    taken = models.BooleanField(default=False)
    created_at = MomentField()
    fingerprint = models.CharField(max_length=64, blank=True)
    body_hash = models.CharField(max_length=64, blank=True)
    actor_user = models.BigIntegerField(null=True, blank=True)
    actor_key = models.BigIntegerField(null=True, blank=True)
    actor_scope = models.BigIntegerField(null=True, blank=True)

    class Meta:
        indexes = [
            # what a turn has to take, and the cascade of its deletion
            models.Index(fields=["turn", "id"], name="input_turn"),
            # what was left behind by turns that ended meanwhile: few
            models.Index(fields=["id"], name="input_waiting", condition=Q(taken=False)),
            # a repeated request
            models.Index(fields=["fingerprint", "id"], name="input_retry", condition=~Q(fingerprint="")),
        ]

    def __str__(self) -> str:
        return f"{self.get_kind_display()} for turn {self.turn_id}"

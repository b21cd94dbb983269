"""The table of relayed completions."""

from __future__ import annotations

from django.db import models

from agents.base.models.fields import KeyField, ShortText
from agents.base.models.scoped import Scoped


class CompletionStatus(models.IntegerChoices):
    """The outcome of a call: ``cancelled`` if its caller disconnected."""

    COMPLETED = 1, "completed"
    FAILED = 2, "failed"
    CANCELLED = 3, "cancelled"


class ChatCompletion(Scoped):
    """A chat completion and its request. ``body`` is JSON, packed (`agents.base.store.encoding`): the
    completion with its ``input_messages``."""

    id = KeyField()
    model = ShortText(max_length=300)
    status = models.SmallIntegerField(choices=CompletionStatus.choices)
    input_tokens = models.BigIntegerField(default=0)
    output_tokens = models.BigIntegerField(default=0)
    encoding = models.SmallIntegerField()
    body = models.BinaryField()

    class Meta(Scoped.Meta):
        indexes = [
            # the list of one model's, newest or oldest first
            models.Index(fields=["model", "id"], name="chat_completion_model"),
        ]

    def __str__(self) -> str:
        return f"a completion of {self.model}"

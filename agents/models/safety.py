"""What was registered over the API, and the chat completions that passed through it."""

from __future__ import annotations

from django.db import models

from agents.base.models.fields import KeyField, MomentField, ShortText
from agents.base.models.scoped import Scoped


class Registered(Scoped):
    """What is used by a name: ``provider`` says by whose hands, ``resource`` how it is called there."""

    id = KeyField()
    identifier = ShortText(max_length=300)
    provider = ShortText(max_length=100)
    resource = ShortText(max_length=300, blank=True)
    params = models.JSONField(default=dict, blank=True)
    created_at = MomentField()

    class Meta(Scoped.Meta):
        abstract = True

    def __str__(self) -> str:
        return self.identifier


class Shield(Registered):
    """A shield registered over the API. Those of the settings have no row."""

    class Meta(Scoped.Meta):
        constraints = [
            # found by its name for each turn that names it; registered once by those who share it
            models.UniqueConstraint(fields=["identifier", "owner", "scope"], name="shield_identifier"),
        ]


class RegisteredModel(Registered):
    """Another name for a model of a configured endpoint. ``params`` are what it is for
    (``model_type``) and its ``metadata``."""

    class Meta(Scoped.Meta):
        constraints = [
            # found by its name for each turn that names it; registered once by those who share it
            models.UniqueConstraint(fields=["identifier", "owner", "scope"], name="registered_model_identifier"),
        ]


class CompletionStatus(models.IntegerChoices):
    """How a call ended: ``cancelled`` when its caller left."""

    COMPLETED = 1, "completed"
    FAILED = 2, "failed"
    CANCELLED = 3, "cancelled"


class ChatCompletion(Scoped):
    """A chat completion that was asked for, and what came back. ``body`` is JSON, packed
    (`agents.base.store.encoding`): the completion with its ``input_messages``."""

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

"""The tables of prompts: texts for instructions, with their versions."""

from __future__ import annotations

from django.db import models

from agents.base.models.fields import KeyField, LongText, MomentField
from agents.base.models.scoped import Scoped


class Prompt(Scoped):
    """A text for the instructions of responses. ``default_version`` is used where a request names none; versions count
    from 1 to ``last_version``."""

    id = KeyField()
    default_version = models.IntegerField(default=1)
    last_version = models.IntegerField(default=1)
    created_at = MomentField()

    class Meta(Scoped.Meta):
        indexes = [
            # one's own, newest first
            models.Index(fields=["owner", "id"], name="prompt_owner"),
        ]

    def __str__(self) -> str:
        return f"prompt {self.id}"


class PromptVersion(models.Model):
    """A version of a prompt, which never changes: its text, and the names of its variables, as JSON."""

    id = KeyField()
    prompt = models.ForeignKey(Prompt, on_delete=models.CASCADE, related_name="versions", db_index=False)
    version = models.IntegerField()
    text = LongText()
    variables = LongText(default="[]")
    created_at = MomentField()

    class Meta:
        verbose_name = "prompt version"
        constraints = [
            models.UniqueConstraint(fields=["prompt", "version"], name="prompt_version"),
        ]

    def __str__(self) -> str:
        return f"version {self.version}"

"""The table of interned strings."""

from __future__ import annotations

from django.db import models

from agents.base.models.fields import ShortText


class TermKind(models.IntegerChoices):
    """What an interned string is."""

    MODEL = 1, "model"
    TOOL = 2, "tool"
    ERROR = 3, "error"
    PROVIDER = 4, "provider"
    END_USER = 5, "user"
    STEP_KIND = 6, "kind"
    TAG = 7, "tag"
    META = 8, "meta"
    FINISH = 9, "finish"
    SCORE = 10, "score"
    PROMPT = 11, "prompt"
    ANSWERER = 12, "answered_by"
    ERROR_MESSAGE = 13, "error.message"


class Term(models.Model):
    """An interned string: models, tools, error types. Small dense numbers keep rows narrow."""

    kind = models.SmallIntegerField(choices=TermKind.choices)
    value = ShortText(max_length=300)
    folded = ShortText(max_length=1000, blank=True, help_text="as it is compared: agents.base.tokenizer.fold")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["kind", "value"], name="term_value")]
        indexes = [
            # a name or a key=value, in any letters
            models.Index(fields=["kind", "folded"], name="term_folded"),
        ]

    def __str__(self) -> str:
        return self.value

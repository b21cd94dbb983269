"""The table of the change feed."""

from __future__ import annotations

from django.db import models


class ChangeKind(models.IntegerChoices):
    AGENT = 1, "agent"
    SESSION = 2, "session"
    TURN = 3, "turn"
    STEP = 4, "step"
    RESPONSE = 5, "response"
    INPUT = 6, "input"


class Change(models.Model):
    """One row per visible change of any record, numbered over the whole store: the cursor of live lists, and the
    trigger of everything that follows the rows. What a reader may see of them, `agents.base.store.changes` knows."""

    seq = models.BigAutoField(primary_key=True)
    kind = models.SmallIntegerField(choices=ChangeKind.choices)
    key = models.BigIntegerField()
    deleted = models.BooleanField(default=False)

    def __str__(self) -> str:
        return f"{self.seq}: {self.get_kind_display()} {self.key}"

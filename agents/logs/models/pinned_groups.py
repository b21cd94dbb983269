"""The table of lists in groups that people have pinned to their overview."""

from __future__ import annotations

from django.db import models

from agents.base.models.fields import KeyField, LongText, MomentField, ShortText
from agents.base.models.people import User


class PinnedGroups(models.Model):
    """A list in groups on its owner's overview, seen by nobody else. ``by`` are one or two fields or lengths of time
    with a comma between them, ``measure`` is the number that is shown of each group."""

    id = KeyField()
    owner = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+", db_index=False, db_constraint=False)
    level = models.CharField(max_length=10)
    query = LongText(blank=True)
    by = ShortText(max_length=100)
    measure = models.CharField(max_length=20)
    created_at = MomentField()

    class Meta:
        # those of one overview, in their order
        indexes = [models.Index(fields=["owner", "id"], name="pinned_groups_owner")]

    def __str__(self) -> str:
        return f"{self.level} by {self.by}"

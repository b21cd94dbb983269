"""The table of saved views of the logs: queries with a name."""

from __future__ import annotations

from django.db import models

from agents.base.models.fields import KeyField, LongText, MomentField, ShortText
from agents.base.models.scoped import Scoped


class SavedView(Scoped):
    """A query of a level's rows under a name, with the columns to show (the list's own when empty). One
    that is ``shared`` is seen by those who see what its maker makes; any other by its maker alone."""

    id = KeyField()
    name = ShortText(max_length=100)
    level = models.CharField(max_length=10)
    query = LongText(blank=True)
    columns = models.JSONField(default=list, blank=True)
    shared = models.BooleanField(default=False)
    created_at = MomentField()
    updated_at = MomentField()

    class Meta(Scoped.Meta):
        indexes = [
            # one's own, by their names
            models.Index(fields=["owner", "name"], name="saved_view_owner"),
            # those that others share
            models.Index(fields=["scope"], name="saved_view_shared", condition=models.Q(shared=True)),
        ]

    def __str__(self) -> str:
        return self.name

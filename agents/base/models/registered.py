"""The common columns of tables whose rows are registered by name over the API."""

from __future__ import annotations

from django.db import models

from agents.base.models.fields import KeyField, MomentField, ShortText
from agents.base.models.scoped import Scoped


class Registered(Scoped):
    """A row that is used by its name: ``provider`` is who implements it, ``resource`` its name there."""

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

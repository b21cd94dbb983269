"""Groups of tools registered over the API: MCP servers, each with what it last said it has."""

from __future__ import annotations

from django.db import models

from agents.base.models.fields import KeyField, LongText, MomentField, ShortText
from agents.base.models.scoped import Scoped


class ToolGroup(Scoped):
    """A server of tools under a name. ``args`` and ``tools`` (its last listing) are JSON; ``secrets``
    are its headers, sealed together with the URL they are for (`agents.base.store.sealed`). Groups of the
    settings have no row."""

    id = KeyField()
    name = ShortText(max_length=200)
    provider_id = ShortText(max_length=100)
    uri = ShortText(max_length=2000)
    args = LongText(blank=True)
    secrets = LongText(blank=True)
    tools = LongText(blank=True)
    listed_at = MomentField(null=True, blank=True)
    note = ShortText(max_length=1000, blank=True)
    created_at = MomentField()

    class Meta(Scoped.Meta):
        constraints = [
            # found by its name for each turn that names it; registered once by those who share it
            models.UniqueConstraint(fields=["name", "owner", "scope"], name="toolgroup_name"),
        ]

    def __str__(self) -> str:
        return self.name

"""The table of serving processes."""

from __future__ import annotations

from django.db import models

from agents.base.models.fields import MomentField, ShortText


class Process(models.Model):
    """One start of a serving process. Its id is random, so that no two starts are taken for one. ``beat`` is counted up
    while it lives; ``server_started`` names the start of the PostgreSQL server whose lock it holds. ``ended_at`` is
    set by the process itself when it stops (``stopped``), or by another one that has seen no sign of it: then it has
    lost what it ran."""

    id = models.CharField(primary_key=True, max_length=32)
    host = ShortText(max_length=255, blank=True)
    pid = models.IntegerField()
    address = ShortText(max_length=255, blank=True)
    version = ShortText(max_length=64, blank=True)
    started_at = MomentField()
    beat = models.IntegerField(default=0)
    server_started = ShortText(max_length=64, blank=True)
    ended_at = MomentField(null=True, blank=True)
    stopped = models.BooleanField(default=False)

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host}"

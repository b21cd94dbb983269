"""The table of scopes: distinct sets of access attributes."""

from __future__ import annotations

from django.db import models


class Scope(models.Model):
    """A distinct set of access attributes. Root rows point here; there are few."""

    digest = models.CharField(max_length=64, unique=True, help_text="SHA-256 of the sorted attributes")
    attributes = models.JSONField(default=dict, blank=True)

    def __str__(self) -> str:
        return ", ".join(f"{k}: {' '.join(v)}" for k, v in self.attributes.items()) or "no attributes"

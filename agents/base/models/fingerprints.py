"""The table of fingerprints of secrets."""

from __future__ import annotations

from django.db import models


class SecretFingerprint(models.Model):
    """What tells whether a server has the secret that the rows were made with, without saying anything of it: a keyed
    hash. ``name`` is that of its setting."""

    name = models.CharField(max_length=40, primary_key=True)
    digest = models.BinaryField(max_length=16)

    def __str__(self) -> str:
        return self.name

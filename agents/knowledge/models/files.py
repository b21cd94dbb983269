"""Files that were uploaded, each in blocks: no row, and no upload, is ever in memory as a whole."""

from __future__ import annotations

from django.db import models

from agents.base.models.fields import KeyField, MomentField, ShortText
from agents.base.models.scoped import Scoped


class File(Scoped):
    """An uploaded file. ``size`` in bytes; until ``stored`` its blocks are still coming, and it is
    nobody's to see."""

    id = KeyField()
    filename = ShortText(max_length=500)
    purpose = ShortText(max_length=40)
    mime_type = ShortText(max_length=200, blank=True)
    size = models.BigIntegerField(default=0)
    stored = models.BooleanField(default=False)
    created_at = MomentField()
    expires_at = MomentField(null=True, blank=True)

    class Meta(Scoped.Meta):
        indexes = [
            # what the retention round takes away
            models.Index(fields=["expires_at"], name="file_expiry", condition=models.Q(expires_at__isnull=False)),
        ]

    def __str__(self) -> str:
        return self.filename


class FileBlock(models.Model):
    """A piece of a file's content; all but the last are of one size."""

    id = KeyField()
    file = models.ForeignKey(File, on_delete=models.CASCADE, related_name="blocks", db_index=False)
    position = models.IntegerField()
    data = models.BinaryField()

    class Meta:
        constraints = [
            # a file's content in order, by ranges
            models.UniqueConstraint(fields=["file", "position"], name="file_block"),
        ]

    def __str__(self) -> str:
        return f"block {self.position}"

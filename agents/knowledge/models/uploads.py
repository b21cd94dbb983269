"""Uploads in parts, until they are files: each part in blocks, so that none is ever in memory as a whole."""

from __future__ import annotations

from django.db import models

from agents.base.models.fields import KeyField, MomentField, ShortText
from agents.base.models.scoped import Scoped
from agents.knowledge.models.files import File


class Upload(Scoped):
    """A file that comes in parts. ``size`` is what was announced, ``received`` what the parts have together, in bytes;
    ``lives_s`` are seconds until the file expires. Its parts go when it is ``completed`` or ``cancelled``, it
    itself once it has expired."""

    id = KeyField()
    filename = ShortText(max_length=500)
    purpose = ShortText(max_length=40)
    mime_type = ShortText(max_length=200, blank=True)
    size = models.BigIntegerField()
    lives_s = models.IntegerField(null=True, blank=True)
    received = models.BigIntegerField(default=0)
    part_count = models.IntegerField(default=0)
    status = models.CharField(max_length=20, default="pending")
    file = models.ForeignKey(File, null=True, blank=True, on_delete=models.CASCADE, related_name="+", db_index=False)
    created_at = MomentField()
    expires_at = MomentField()

    class Meta(Scoped.Meta):
        indexes = [
            # what the retention round takes away
            models.Index(fields=["expires_at"], name="upload_expiry"),
            # how many somebody has open
            models.Index(fields=["owner", "status"], name="upload_owner"),
            # what goes with a file's deletion
            models.Index(fields=["file"], name="upload_file", condition=models.Q(file__isnull=False)),
        ]

    def __str__(self) -> str:
        return self.filename


class UploadPart(models.Model):
    """A part of an upload: as visible as that. Until ``stored`` its blocks are still coming."""

    id = KeyField()
    upload = models.ForeignKey(Upload, on_delete=models.CASCADE, related_name="parts", db_index=False)
    size = models.BigIntegerField()
    stored = models.BooleanField(default=False)

    class Meta:
        indexes = [
            # what goes with an upload
            models.Index(fields=["upload"], name="upload_part_upload"),
        ]

    def __str__(self) -> str:
        return f"part {self.id}"


class UploadBlock(models.Model):
    """A piece of a part's content."""

    id = KeyField()
    part = models.ForeignKey(UploadPart, on_delete=models.CASCADE, related_name="blocks", db_index=False)
    position = models.IntegerField()
    data = models.BinaryField()

    class Meta:
        constraints = [
            # a part's content in order, by ranges
            models.UniqueConstraint(fields=["part", "position"], name="upload_block"),
        ]

    def __str__(self) -> str:
        return f"block {self.position}"

"""Vector databases: documents cut into chunks, to be found by their words and by their meaning."""

from __future__ import annotations

from django.db import models

from agents.base.models.fields import KeyField, LongText, MomentField, ShortText
from agents.base.models.scoped import Scoped
from agents.knowledge.models.files import File
from agents.record.models.agents import Session
from agents.record.models.references import DeletionRule


class VectorDB(Scoped):
    """A place to retrieve from, under a name its makers chose. ``version`` changes with its chunks.
    One of a session dies with it. A vector store of OpenAI's API (``is_store``) is one whose identifier
    is its id; where ``expires_days`` is set it is not searched that long after its last use."""

    id = KeyField()
    identifier = ShortText(max_length=255)
    name = ShortText(max_length=255, blank=True)
    embedding_model = ShortText(max_length=300)
    embedding_dimension = models.IntegerField()
    provider_id = ShortText(max_length=255)
    session = models.OneToOneField(
        Session, null=True, blank=True, on_delete=models.CASCADE, related_name="vector_db", db_index=False
    )
    version = models.IntegerField(default=0)
    metadata = models.JSONField(default=dict, blank=True)
    created_at = MomentField()
    is_store = models.BooleanField(default=False)
    expires_days = models.IntegerField(null=True, blank=True)
    last_active_at = MomentField(null=True, blank=True)

    class Meta(Scoped.Meta):
        verbose_name = "vector database"
        constraints = [
            models.UniqueConstraint(fields=["owner", "scope", "identifier"], name="vector_db_identifier"),
        ]
        indexes = [
            # one by its name, among those an actor may see
            models.Index(fields=["identifier", "id"], name="vector_db_by_name"),
        ]

    def __str__(self) -> str:
        return self.name or self.identifier


class FileBatch(models.Model):
    """Files that were put into a vector store together: as visible as that. How far it is, its
    documents say."""

    id = KeyField()
    vector_db = models.ForeignKey(VectorDB, on_delete=models.CASCADE, related_name="batches", db_index=False)
    cancelled = models.BooleanField(default=False)
    created_at = MomentField()

    class Meta:
        indexes = [
            # what goes with a store's deletion
            models.Index(fields=["vector_db"], name="file_batch_db"),
        ]

    def __str__(self) -> str:
        return f"a batch of {self.vector_db_id}"


class VectorDocument(models.Model):
    """A document of a vector database: as visible as that. ``size`` in characters; ``error`` says
    why nothing of it can be found. ``metadata`` is what searches filter by.

    One made of a ``file`` is named by that file's id and filled later; its ``size`` is in bytes. ``work``
    numbers the attempt to fill it: what ends an attempt counts only while its number stands here; ``attempts`` is how
    many were begun."""

    id = KeyField()
    vector_db = models.ForeignKey(VectorDB, on_delete=models.CASCADE, related_name="documents", db_index=False)
    document_id = ShortText(max_length=255)
    name = ShortText(max_length=500, blank=True)
    mime_type = ShortText(max_length=200, blank=True)
    status = ShortText(max_length=20, default="completed")
    error = LongText(blank=True)
    size = models.BigIntegerField(default=0)
    chunk_count = models.IntegerField(default=0)
    metadata = models.JSONField(default=dict, blank=True)
    created_at = MomentField()
    file = models.ForeignKey(
        File, null=True, blank=True, on_delete=models.CASCADE, related_name="documents", db_index=False
    )
    batch = models.ForeignKey(
        FileBatch,
        null=True,
        blank=True,
        on_delete=DeletionRule(models.SET_NULL, within="vector_db"),
        related_name="documents",
        db_index=False,
    )
    error_code = ShortText(max_length=40, blank=True)
    chunk_tokens = models.IntegerField(default=0)
    chunk_overlap = models.IntegerField(default=0)
    work = models.BigIntegerField(default=0)
    attempts = models.SmallIntegerField(default=0, db_default=0)
    lease_owner = ShortText(max_length=32, blank=True)
    lease_until = MomentField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["vector_db", "document_id"], name="vector_document_id"),
        ]
        indexes = [
            # what goes with a file's deletion
            models.Index(fields=["file"], name="vector_document_file", condition=models.Q(file__isnull=False)),
            # a batch's files in order, and how many are how far
            models.Index(fields=["batch", "id"], name="vector_document_batch", condition=models.Q(batch__isnull=False)),
            # those that a process which is gone has left
            models.Index(
                fields=["lease_until"], name="vector_document_lease", condition=models.Q(status="in_progress")
            ),
        ]

    def __str__(self) -> str:
        return self.name or self.document_id


class Chunk(models.Model):
    """A piece of a document. ``embedding`` is float32, little-endian, of length one; null where the
    database is searched by words alone."""

    id = KeyField()
    vector_db = models.ForeignKey(VectorDB, on_delete=models.CASCADE, related_name="chunks", db_index=False)
    document = models.ForeignKey(
        VectorDocument,
        on_delete=DeletionRule(models.CASCADE, within="vector_db"),
        related_name="chunks",
        db_index=False,
    )
    position = models.IntegerField()
    text = LongText()
    tokens = models.IntegerField()
    metadata = models.JSONField(default=dict, blank=True)
    embedding = models.BinaryField(null=True)

    search_table = "agents_chunk_search"

    class Meta:
        indexes = [
            # the vectors of a database, and what goes with its deletion
            models.Index(fields=["vector_db", "id"], name="chunk_db"),
            # what goes with a document's deletion, and its text in order
            models.Index(fields=["document", "position"], name="chunk_document"),
        ]

    def __str__(self) -> str:
        return f"chunk {self.position}"

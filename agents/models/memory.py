"""Vector databases: documents cut into chunks, to be found by their words and by their meaning."""

from __future__ import annotations

from django.db import models

from agents.models.agents import Session
from agents.models.fields import KeyField, LongText, MomentField, ShortText
from agents.models.scoped import Scoped


class VectorDB(Scoped):
    """A place to retrieve from, under a name its makers chose. ``version`` changes with its chunks.
    One of a session dies with it."""

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


class VectorDocument(models.Model):
    """A document of a vector database: as visible as that. ``size`` in characters; ``error`` says
    why nothing of it can be found."""

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

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["vector_db", "document_id"], name="vector_document_id"),
        ]

    def __str__(self) -> str:
        return self.name or self.document_id


class Chunk(models.Model):
    """A piece of a document. ``embedding`` is float32, little-endian, of length one; null where the
    database is searched by words alone."""

    id = KeyField()
    vector_db = models.ForeignKey(VectorDB, on_delete=models.CASCADE, related_name="chunks", db_index=False)
    document = models.ForeignKey(VectorDocument, on_delete=models.CASCADE, related_name="chunks", db_index=False)
    position = models.IntegerField()
    text = LongText()
    tokens = models.IntegerField()
    metadata = models.JSONField(default=dict, blank=True)
    embedding = models.BinaryField(null=True)

    class Meta:
        indexes = [
            # the vectors of a database, and what goes with its deletion
            models.Index(fields=["vector_db", "id"], name="chunk_db"),
            # what goes with a document's deletion, and its text in order
            models.Index(fields=["document", "position"], name="chunk_document"),
        ]

    def __str__(self) -> str:
        return f"chunk {self.position}"

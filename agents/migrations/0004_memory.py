"""Vector databases, their documents and chunks, and the index of the chunks' words (see agents.knowledge.store.passages)."""

import agents.base.ids
import agents.base.models.fields
import django.db.models.deletion
import django.db.models.manager
from django.conf import settings
from django.db import migrations, models

# as in 0002: words come separated by blanks
SQLITE = (
    """
    CREATE VIRTUAL TABLE agents_chunk_search USING fts5(
        words, tokenize="ascii tokenchars '_'"
    )
    """,
)
POSTGRESQL = (
    "CREATE TABLE agents_chunk_search (id bigint PRIMARY KEY, words tsvector NOT NULL)",
    "CREATE INDEX agents_chunk_search_words ON agents_chunk_search USING gin (words)",
)


def create(apps, schema_editor):
    for sql in SQLITE if schema_editor.connection.vendor == "sqlite" else POSTGRESQL:
        schema_editor.execute(sql)


def drop(apps, schema_editor):
    schema_editor.execute("DROP TABLE agents_chunk_search")


class Migration(migrations.Migration):
    dependencies = [("agents", "0003_toolgroups")]
    operations = [
        migrations.CreateModel(
            name='VectorDB',
            fields=[
                ('id', agents.base.models.fields.KeyField(default=agents.base.ids.new_key, editable=False, primary_key=True, serialize=False)),
                ('identifier', agents.base.models.fields.ShortText(max_length=255)),
                ('name', agents.base.models.fields.ShortText(blank=True, max_length=255)),
                ('embedding_model', agents.base.models.fields.ShortText(max_length=300)),
                ('embedding_dimension', models.IntegerField()),
                ('provider_id', agents.base.models.fields.ShortText(max_length=255)),
                ('version', models.IntegerField(default=0)),
                ('metadata', models.JSONField(blank=True, default=dict)),
                ('created_at', agents.base.models.fields.MomentField()),
                ('owner', models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('scope', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='agents.scope')),
                ('session', models.OneToOneField(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='vector_db', to='agents.session')),
            ],
            options={
                'verbose_name': 'vector database',
                'abstract': False,
                'base_manager_name': 'all_objects',
                'default_manager_name': 'objects',
            },
            managers=[
                ('objects', django.db.models.manager.Manager()),
                ('all_objects', django.db.models.manager.Manager()),
            ],
        ),
        migrations.CreateModel(
            name='VectorDocument',
            fields=[
                ('id', agents.base.models.fields.KeyField(default=agents.base.ids.new_key, editable=False, primary_key=True, serialize=False)),
                ('document_id', agents.base.models.fields.ShortText(max_length=255)),
                ('name', agents.base.models.fields.ShortText(blank=True, max_length=500)),
                ('mime_type', agents.base.models.fields.ShortText(blank=True, max_length=200)),
                ('status', agents.base.models.fields.ShortText(default='completed', max_length=20)),
                ('error', agents.base.models.fields.LongText(blank=True)),
                ('size', models.BigIntegerField(default=0)),
                ('chunk_count', models.IntegerField(default=0)),
                ('metadata', models.JSONField(blank=True, default=dict)),
                ('created_at', agents.base.models.fields.MomentField()),
                ('vector_db', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='documents', to='agents.vectordb')),
            ],
        ),
        migrations.CreateModel(
            name='Chunk',
            fields=[
                ('id', agents.base.models.fields.KeyField(default=agents.base.ids.new_key, editable=False, primary_key=True, serialize=False)),
                ('position', models.IntegerField()),
                ('text', agents.base.models.fields.LongText()),
                ('tokens', models.IntegerField()),
                ('metadata', models.JSONField(blank=True, default=dict)),
                ('embedding', models.BinaryField(null=True)),
                ('vector_db', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='chunks', to='agents.vectordb')),
                ('document', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='chunks', to='agents.vectordocument')),
            ],
        ),
        migrations.AddIndex(
            model_name='vectordb',
            index=models.Index(fields=['identifier', 'id'], name='vector_db_by_name'),
        ),
        migrations.AddConstraint(
            model_name='vectordb',
            constraint=models.UniqueConstraint(fields=('owner', 'scope', 'identifier'), name='vector_db_identifier'),
        ),
        migrations.AddConstraint(
            model_name='vectordocument',
            constraint=models.UniqueConstraint(fields=('vector_db', 'document_id'), name='vector_document_id'),
        ),
        migrations.AddIndex(
            model_name='chunk',
            index=models.Index(fields=['vector_db', 'id'], name='chunk_db'),
        ),
        migrations.AddIndex(
            model_name='chunk',
            index=models.Index(fields=['document', 'position'], name='chunk_document'),
        ),
        migrations.RunPython(create, drop),
    ]

"""Uploaded files in blocks, and what vector stores need of vector databases: expiry, batches, work on documents."""

import agents.base.ids
import agents.base.models.fields
import django.db.models.deletion
import django.db.models.manager
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('agents', '0006_responses'),
    ]

    operations = [
        migrations.CreateModel(
            name='FileBlock',
            fields=[
                ('id', agents.base.models.fields.KeyField(default=agents.base.ids.new_key, editable=False, primary_key=True, serialize=False)),
                ('position', models.IntegerField()),
                ('data', models.BinaryField()),
            ],
        ),
        migrations.AddField(
            model_name='vectordb',
            name='expires_days',
            field=models.IntegerField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='vectordb',
            name='is_store',
            field=models.BooleanField(default=False),
        ),
        migrations.AddField(
            model_name='vectordb',
            name='last_active_at',
            field=agents.base.models.fields.MomentField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='vectordocument',
            name='chunk_overlap',
            field=models.IntegerField(default=0),
        ),
        migrations.AddField(
            model_name='vectordocument',
            name='chunk_tokens',
            field=models.IntegerField(default=0),
        ),
        migrations.AddField(
            model_name='vectordocument',
            name='error_code',
            field=agents.base.models.fields.ShortText(blank=True, max_length=40),
        ),
        migrations.AddField(
            model_name='vectordocument',
            name='lease_owner',
            field=agents.base.models.fields.ShortText(blank=True, max_length=32),
        ),
        migrations.AddField(
            model_name='vectordocument',
            name='lease_until',
            field=agents.base.models.fields.MomentField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='vectordocument',
            name='work',
            field=models.BigIntegerField(default=0),
        ),
        migrations.CreateModel(
            name='File',
            fields=[
                ('id', agents.base.models.fields.KeyField(default=agents.base.ids.new_key, editable=False, primary_key=True, serialize=False)),
                ('filename', agents.base.models.fields.ShortText(max_length=500)),
                ('purpose', agents.base.models.fields.ShortText(max_length=40)),
                ('mime_type', agents.base.models.fields.ShortText(blank=True, max_length=200)),
                ('size', models.BigIntegerField(default=0)),
                ('stored', models.BooleanField(default=False)),
                ('created_at', agents.base.models.fields.MomentField()),
                ('expires_at', agents.base.models.fields.MomentField(blank=True, null=True)),
                ('owner', models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('scope', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='agents.scope')),
            ],
            options={
                'abstract': False,
                'base_manager_name': 'all_objects',
                'default_manager_name': 'objects',
            },
            managers=[
                ('objects', django.db.models.manager.Manager()),
                ('all_objects', django.db.models.manager.Manager()),
            ],
        ),
        migrations.AddField(
            model_name='vectordocument',
            name='file',
            field=models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='documents', to='agents.file'),
        ),
        migrations.CreateModel(
            name='FileBatch',
            fields=[
                ('id', agents.base.models.fields.KeyField(default=agents.base.ids.new_key, editable=False, primary_key=True, serialize=False)),
                ('cancelled', models.BooleanField(default=False)),
                ('created_at', agents.base.models.fields.MomentField()),
                ('vector_db', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='batches', to='agents.vectordb')),
            ],
        ),
        migrations.AddField(
            model_name='vectordocument',
            name='batch',
            field=models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='documents', to='agents.filebatch'),
        ),
        migrations.AddIndex(
            model_name='vectordocument',
            index=models.Index(condition=models.Q(('file__isnull', False)), fields=['file'], name='vector_document_file'),
        ),
        migrations.AddIndex(
            model_name='vectordocument',
            index=models.Index(condition=models.Q(('batch__isnull', False)), fields=['batch', 'id'], name='vector_document_batch'),
        ),
        migrations.AddIndex(
            model_name='vectordocument',
            index=models.Index(condition=models.Q(('status', 'in_progress')), fields=['lease_until'], name='vector_document_lease'),
        ),
        migrations.AddField(
            model_name='fileblock',
            name='file',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='blocks', to='agents.file'),
        ),
        migrations.AddIndex(
            model_name='file',
            index=models.Index(condition=models.Q(('expires_at__isnull', False)), fields=['expires_at'], name='file_expiry'),
        ),
        migrations.AddIndex(
            model_name='filebatch',
            index=models.Index(fields=['vector_db'], name='file_batch_db'),
        ),
        migrations.AddConstraint(
            model_name='fileblock',
            constraint=models.UniqueConstraint(fields=('file', 'position'), name='file_block'),
        ),
    ]

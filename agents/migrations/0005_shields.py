"""Shields and models registered over the API, and chat completions that were logged."""

import agents.base.ids
import agents.base.models.fields
import django.db.models.deletion
import django.db.models.manager
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('agents', '0004_memory'),
    ]

    operations = [
        migrations.CreateModel(
            name='ChatCompletion',
            fields=[
                ('id', agents.base.models.fields.KeyField(default=agents.base.ids.new_key, editable=False, primary_key=True, serialize=False)),
                ('model', agents.base.models.fields.ShortText(max_length=300)),
                ('status', models.SmallIntegerField(choices=[(1, 'completed'), (2, 'failed'), (3, 'cancelled')])),
                ('input_tokens', models.BigIntegerField(default=0)),
                ('output_tokens', models.BigIntegerField(default=0)),
                ('encoding', models.SmallIntegerField()),
                ('body', models.BinaryField()),
                ('owner', models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('scope', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='agents.scope')),
            ],
            options={
                'abstract': False,
                'base_manager_name': 'all_objects',
                'default_manager_name': 'objects',
                'indexes': [models.Index(fields=['model', 'id'], name='chat_completion_model')],
            },
            managers=[
                ('objects', django.db.models.manager.Manager()),
                ('all_objects', django.db.models.manager.Manager()),
            ],
        ),
        migrations.CreateModel(
            name='RegisteredModel',
            fields=[
                ('id', agents.base.models.fields.KeyField(default=agents.base.ids.new_key, editable=False, primary_key=True, serialize=False)),
                ('identifier', agents.base.models.fields.ShortText(max_length=300)),
                ('provider', agents.base.models.fields.ShortText(max_length=100)),
                ('resource', agents.base.models.fields.ShortText(blank=True, max_length=300)),
                ('params', models.JSONField(blank=True, default=dict)),
                ('created_at', agents.base.models.fields.MomentField()),
                ('owner', models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('scope', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='agents.scope')),
            ],
            options={
                'abstract': False,
                'base_manager_name': 'all_objects',
                'default_manager_name': 'objects',
                'constraints': [models.UniqueConstraint(fields=('identifier', 'owner', 'scope'), name='registered_model_identifier')],
            },
            managers=[
                ('objects', django.db.models.manager.Manager()),
                ('all_objects', django.db.models.manager.Manager()),
            ],
        ),
        migrations.CreateModel(
            name='Shield',
            fields=[
                ('id', agents.base.models.fields.KeyField(default=agents.base.ids.new_key, editable=False, primary_key=True, serialize=False)),
                ('identifier', agents.base.models.fields.ShortText(max_length=300)),
                ('provider', agents.base.models.fields.ShortText(max_length=100)),
                ('resource', agents.base.models.fields.ShortText(blank=True, max_length=300)),
                ('params', models.JSONField(blank=True, default=dict)),
                ('created_at', agents.base.models.fields.MomentField()),
                ('owner', models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('scope', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='agents.scope')),
            ],
            options={
                'abstract': False,
                'base_manager_name': 'all_objects',
                'default_manager_name': 'objects',
                'constraints': [models.UniqueConstraint(fields=('identifier', 'owner', 'scope'), name='shield_identifier')],
            },
            managers=[
                ('objects', django.db.models.manager.Manager()),
                ('all_objects', django.db.models.manager.Manager()),
            ],
        ),
    ]

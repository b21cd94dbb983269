"""Groups of tools registered over the API."""

import agents.base.ids
import agents.base.models.fields
import django.db.models.deletion
import django.db.models.manager
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("agents", "0002_search")]
    operations = [
        migrations.CreateModel(
            name='ToolGroup',
            fields=[
                ('id', agents.base.models.fields.KeyField(default=agents.base.ids.new_key, editable=False, primary_key=True, serialize=False)),
                ('name', agents.base.models.fields.ShortText(max_length=200)),
                ('provider_id', agents.base.models.fields.ShortText(max_length=100)),
                ('uri', agents.base.models.fields.ShortText(max_length=2000)),
                ('args', agents.base.models.fields.LongText(blank=True)),
                ('secrets', agents.base.models.fields.LongText(blank=True)),
                ('tools', agents.base.models.fields.LongText(blank=True)),
                ('listed_at', agents.base.models.fields.MomentField(blank=True, null=True)),
                ('note', agents.base.models.fields.ShortText(blank=True, max_length=1000)),
                ('created_at', agents.base.models.fields.MomentField()),
                ('owner', models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('scope', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='agents.scope')),
            ],
            options={
                'abstract': False,
                'base_manager_name': 'all_objects',
                'default_manager_name': 'objects',
                'constraints': [models.UniqueConstraint(fields=('name', 'owner', 'scope'), name='toolgroup_name')],
            },
            managers=[
                ('objects', django.db.models.manager.Manager()),
                ('all_objects', django.db.models.manager.Manager()),
            ],
        ),
    ]

"""Imports of uploaded files."""

import agents.base.ids
import agents.base.models.fields
import django.db.models.deletion
import django.db.models.manager
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("agents", "0015_foreign"),
    ]

    operations = [
        migrations.CreateModel(
            name="Import",
            fields=[
                (
                    "id",
                    agents.base.models.fields.KeyField(
                        default=agents.base.ids.new_key, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("name", agents.base.models.fields.ShortText(max_length=255)),
                ("format", models.CharField(max_length=20)),
                ("agent", agents.base.models.fields.ShortText(blank=True, max_length=300)),
                ("session", agents.base.models.fields.ShortText(blank=True, max_length=300)),
                (
                    "state",
                    models.SmallIntegerField(
                        choices=[(1, "waiting"), (2, "running"), (3, "completed"), (4, "failed")], default=1
                    ),
                ),
                ("size", models.BigIntegerField(default=0)),
                ("report", models.JSONField(blank=True, default=dict)),
                ("error", agents.base.models.fields.ShortText(blank=True, max_length=500)),
                ("created_at", agents.base.models.fields.MomentField()),
                ("updated_at", agents.base.models.fields.MomentField()),
                (
                    "owner",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "scope",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name="+", to="agents.scope"
                    ),
                ),
            ],
            options={
                "abstract": False,
                "base_manager_name": "all_objects",
                "default_manager_name": "objects",
                "indexes": [models.Index(fields=["owner", "id"], name="import_owner")],
            },
            managers=[
                ("objects", django.db.models.manager.Manager()),
                ("all_objects", django.db.models.manager.Manager()),
            ],
        ),
    ]

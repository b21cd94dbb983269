"""Saved views of the logs."""

import agents.base.ids
import agents.base.models.fields
import django.db.models.deletion
import django.db.models.manager
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("agents", "0011_large_values"),
    ]

    operations = [
        migrations.CreateModel(
            name="SavedView",
            fields=[
                (
                    "id",
                    agents.base.models.fields.KeyField(
                        default=agents.base.ids.new_key, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("name", agents.base.models.fields.ShortText(max_length=100)),
                ("level", models.CharField(max_length=10)),
                ("query", agents.base.models.fields.LongText(blank=True)),
                ("columns", models.JSONField(blank=True, default=list)),
                ("shared", models.BooleanField(default=False)),
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
                "indexes": [
                    models.Index(fields=["owner", "name"], name="saved_view_owner"),
                    models.Index(condition=models.Q(("shared", True)), fields=["scope"], name="saved_view_shared"),
                ],
            },
            managers=[
                ("objects", django.db.models.manager.Manager()),
                ("all_objects", django.db.models.manager.Manager()),
            ],
        ),
    ]

"""What forks were made from."""

import agents.base.models.fields
import django.db.models.deletion
import django.db.models.manager
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("agents", "0008_judged"),
    ]

    operations = [
        migrations.CreateModel(
            name="Fork",
            fields=[
                ("turn", models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name="fork", serialize=False, to="agents.turn")),
                ("session_id", models.BigIntegerField()),
                ("step_id", models.BigIntegerField()),
                ("step_number", models.IntegerField(help_text="order in the source, from 0")),
                ("history_end", models.IntegerField()),
                ("replays", models.BooleanField(default=True)),
                ("changes", agents.base.models.fields.LongText(default="{}")),
                ("settings", agents.base.models.fields.LongText(default="{}")),
                ("source", models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name="forks", to="agents.turn")),
            ],
            options={
                "base_manager_name": "all_objects",
                "indexes": [models.Index(fields=["session_id"], name="fork_session"), models.Index(condition=models.Q(("source__isnull", False)), fields=["source"], name="fork_source")],
            },
            managers=[
                ("objects", django.db.models.manager.Manager()),
                ("all_objects", django.db.models.manager.Manager()),
            ],
        ),
    ]

from django.db import migrations, models

import agents.base.models.fields


class Migration(migrations.Migration):
    dependencies = [
        ("agents", "0022_unchecked_turn_of_item"),
    ]

    operations = [
        migrations.CreateModel(
            name="Process",
            fields=[
                ("id", models.CharField(max_length=32, primary_key=True, serialize=False)),
                ("host", agents.base.models.fields.ShortText(blank=True, max_length=255)),
                ("pid", models.IntegerField()),
                ("address", agents.base.models.fields.ShortText(blank=True, max_length=255)),
                ("version", agents.base.models.fields.ShortText(blank=True, max_length=64)),
                ("started_at", agents.base.models.fields.MomentField()),
                ("beat", models.IntegerField(default=0)),
                ("server_started", agents.base.models.fields.ShortText(blank=True, max_length=64)),
                ("ended_at", agents.base.models.fields.MomentField(blank=True, null=True)),
                ("stopped", models.BooleanField(default=False)),
            ],
        ),
        migrations.AddField("turn", "doubt_at", agents.base.models.fields.MomentField(blank=True, null=True)),
        *(
            migrations.AddField("response", name, models.BigIntegerField(blank=True, null=True))
            for name in ("actor_user", "actor_key", "actor_scope")
        ),
        # as SQL: for a column that is never null Django would write SQLite's table anew
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.RunSQL(
                    "ALTER TABLE agents_response ADD COLUMN needs_caller boolean NOT NULL DEFAULT false",
                    "ALTER TABLE agents_response DROP COLUMN needs_caller",
                ),
            ],
            state_operations=[
                migrations.AddField("response", "needs_caller", models.BooleanField(db_default=False)),
            ],
        ),
        # the column stays for a release: dropping it would write SQLite's table of turns anew
        migrations.SeparateDatabaseAndState(
            database_operations=[],
            state_operations=[migrations.RemoveField("turn", "lease_until")],
        ),
    ]

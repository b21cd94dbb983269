import agents.base.ids
import agents.base.models.fields
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("agents", "0030_webhooks"),
    ]

    operations = [
        # as SQL: for columns that are never null Django would write SQLite's tables anew
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.RunSQL(
                    "ALTER TABLE agents_agent ADD COLUMN unlisted boolean NOT NULL DEFAULT false",
                    "ALTER TABLE agents_agent DROP COLUMN unlisted",
                ),
                migrations.RunSQL(
                    "ALTER TABLE agents_agentrevision ADD COLUMN of_session boolean NOT NULL DEFAULT false",
                    "ALTER TABLE agents_agentrevision DROP COLUMN of_session",
                ),
                migrations.RunSQL(
                    "ALTER TABLE agents_session ADD COLUMN settings text NOT NULL DEFAULT ''",
                    "ALTER TABLE agents_session DROP COLUMN settings",
                ),
            ],
            state_operations=[
                migrations.AddField("agent", "unlisted", models.BooleanField(db_default=False, default=False)),
                migrations.AddField("agentrevision", "of_session", models.BooleanField(db_default=False, default=False)),
                migrations.AddField(
                    "session",
                    "settings",
                    agents.base.models.fields.LongText(blank=True, db_default="", default=""),
                ),
                migrations.AlterField(
                    "change",
                    "kind",
                    models.SmallIntegerField(
                        choices=[(1, "agent"), (2, "session"), (3, "turn"), (4, "step"), (5, "response"), (6, "input")]
                    ),
                ),
            ],
        ),
        migrations.AddField(
            "session",
            "revision",
            models.ForeignKey(
                blank=True,
                db_constraint=False,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to="agents.agentrevision",
            ),
        ),
        migrations.CreateModel(
            name="TurnInput",
            fields=[
                (
                    "id",
                    agents.base.models.fields.KeyField(
                        default=agents.base.ids.new_key, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("kind", models.SmallIntegerField(choices=[(1, "message"), (2, "answer")])),
                ("step", models.BigIntegerField(blank=True, null=True)),
                ("body", agents.base.models.fields.LongText()),
                ("taken", models.BooleanField(default=False)),
                ("created_at", agents.base.models.fields.MomentField()),
                ("fingerprint", models.CharField(blank=True, max_length=64)),
                ("body_hash", models.CharField(blank=True, max_length=64)),
                ("actor_user", models.BigIntegerField(blank=True, null=True)),
                ("actor_key", models.BigIntegerField(blank=True, null=True)),
                ("actor_scope", models.BigIntegerField(blank=True, null=True)),
                (
                    "turn",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="inputs",
                        to="agents.turn",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["turn", "id"], name="input_turn"),
                    models.Index(condition=models.Q(("taken", False)), fields=["id"], name="input_waiting"),
                    models.Index(
                        condition=models.Q(("fingerprint", ""), _negated=True),
                        fields=["fingerprint", "id"],
                        name="input_retry",
                    ),
                ],
            },
        ),
    ]

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("agents", "0018_unmatched_traces"),
    ]

    operations = [
        # as SQL: for a column that is never null Django would write SQLite's table of turns anew
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.RunSQL(
                    "ALTER TABLE agents_turn ADD COLUMN lease_epoch integer NOT NULL DEFAULT 0",
                    "ALTER TABLE agents_turn DROP COLUMN lease_epoch",
                ),
            ],
            state_operations=[
                migrations.AddField("turn", "lease_epoch", models.IntegerField(db_default=0)),
            ],
        ),
    ]

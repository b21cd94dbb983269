from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("agents", "0023_processes"),
    ]

    operations = [
        # as SQL: for a column that is never null Django would write SQLite's table of bodies anew
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.RunSQL(
                    "ALTER TABLE agents_turnbody ADD COLUMN traceparent varchar(55) NOT NULL DEFAULT ''",
                    "ALTER TABLE agents_turnbody DROP COLUMN traceparent",
                ),
            ],
            state_operations=[
                migrations.AddField(
                    "turnbody",
                    "traceparent",
                    models.CharField(
                        blank=True,
                        db_default="",
                        default="",
                        help_text="the trace that its request belonged to",
                        max_length=55,
                    ),
                ),
            ],
        ),
    ]

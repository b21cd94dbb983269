"""Interned strings that name the prompts of turns: only another name of a kind, no statement."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("agents", "0035_hand_overs"),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.AlterField(
                    model_name="term",
                    name="kind",
                    field=models.SmallIntegerField(
                        choices=[
                            (1, "model"),
                            (2, "tool"),
                            (3, "error"),
                            (4, "provider"),
                            (5, "user"),
                            (6, "kind"),
                            (7, "tag"),
                            (8, "meta"),
                            (9, "finish"),
                            (10, "score"),
                            (11, "prompt"),
                        ]
                    ),
                ),
            ]
        ),
    ]

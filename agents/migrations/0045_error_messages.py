import django.db.models.deletion
from django.db import migrations, models

KINDS = [
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
    (12, "answered_by"),
    (13, "error.message"),
]


def _column():
    return models.ForeignKey(
        blank=True,
        db_index=False,
        null=True,
        on_delete=django.db.models.deletion.PROTECT,
        related_name="+",
        to="agents.term",
    )


class Migration(migrations.Migration):
    dependencies = [
        ("agents", "0044_pinned_groups"),
    ]

    operations = [
        # choices stand nowhere in the database
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.AlterField("term", "kind", models.SmallIntegerField(choices=KINDS)),
            ],
        ),
        migrations.AddField("turn", "error_message", _column()),
        migrations.AddField("step", "error_message", _column()),
    ]

from django.db import migrations, models

from agents.base.models.operations import AddIndexBesideWriters


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("agents", "0027_retention"),
    ]

    operations = [
        AddIndexBesideWriters(
            "turn",
            models.Index(fields=["doubt_at"], name="turn_doubt", condition=models.Q(doubt_at__isnull=False)),
        ),
    ]

from django.db import migrations, models

from agents.base.models.operations import AddIndexBesideWriters


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("agents", "0042_answered_by"),
    ]

    operations = [
        AddIndexBesideWriters(
            "step",
            models.Index(
                fields=["answered_by", "id"],
                name="step_answered",
                condition=models.Q(answered_by__isnull=False),
            ),
        ),
    ]

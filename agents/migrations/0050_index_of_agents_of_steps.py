from django.db import migrations, models

from agents.base.models.operations import AddIndexBesideWriters


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("agents", "0049_agents_of_steps"),
    ]

    operations = [
        AddIndexBesideWriters(
            "step",
            models.Index(fields=["agent", "id"], name="step_agent", condition=models.Q(agent__isnull=False)),
        ),
    ]

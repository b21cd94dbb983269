"""Which turns sub-agents ran for which steps."""

import django.db.models.deletion
import django.db.models.manager
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("agents", "0033_prompts"),
    ]

    operations = [
        migrations.CreateModel(
            name="AgentCall",
            fields=[
                ("turn", models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name="agent_call", serialize=False, to="agents.turn")),
                ("step_id", models.BigIntegerField()),
                ("root_id", models.BigIntegerField()),
                ("depth", models.SmallIntegerField()),
                ("levels_left", models.SmallIntegerField()),
                ("parent", models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name="agent_calls", to="agents.turn")),
            ],
            options={
                "base_manager_name": "all_objects",
                "indexes": [models.Index(condition=models.Q(("parent__isnull", False)), fields=["parent"], name="agent_call_parent"), models.Index(fields=["root_id"], name="agent_call_root")],
                "constraints": [models.UniqueConstraint(fields=("step_id",), name="agent_call_step")],
            },
            managers=[
                ("objects", django.db.models.manager.Manager()),
                ("all_objects", django.db.models.manager.Manager()),
            ],
        ),
    ]

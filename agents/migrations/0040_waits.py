"""For how long turns and steps have waited for a person or their client, and since when a turn waits."""

from django.db import migrations, models

import agents.base.models.fields


class Migration(migrations.Migration):
    dependencies = [
        ("agents", "0039_batches"),
    ]

    operations = [
        migrations.AddField("step", "waited_us", models.BigIntegerField(blank=True, null=True)),
        migrations.AddField("turn", "waited_us", models.BigIntegerField(blank=True, null=True)),
        migrations.AddField("turn", "waiting_at", agents.base.models.fields.MomentField(blank=True, null=True)),
    ]

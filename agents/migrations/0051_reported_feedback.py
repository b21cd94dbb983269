from django.db import migrations

import agents.base.models.fields


class Migration(migrations.Migration):
    dependencies = [
        ("agents", "0050_index_of_agents_of_steps"),
    ]

    operations = [
        migrations.AddField(
            model_name="feedback",
            name="foreign_id",
            field=agents.base.models.fields.ShortText(blank=True, max_length=255, null=True),
        ),
    ]

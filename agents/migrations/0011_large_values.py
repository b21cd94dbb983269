"""Long texts of steps in blocks of their own, read by ranges."""

import django.db.models.deletion
from django.db import migrations, models

import agents.base.ids
import agents.base.models.fields


class Migration(migrations.Migration):
    dependencies = [
        ("agents", "0010_segments"),
    ]

    operations = [
        migrations.AlterField(
            model_name="stepdetail",
            name="encoding",
            field=models.SmallIntegerField(
                default=0, help_text="0 JSON, 1 zstd, 2 an outline: long texts are in blocks"
            ),
        ),
        migrations.CreateModel(
            name="ValueBlock",
            fields=[
                (
                    "id",
                    agents.base.models.fields.KeyField(
                        default=agents.base.ids.new_key, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("part", models.IntegerField()),
                ("position", models.IntegerField()),
                ("encoding", models.SmallIntegerField(default=0, help_text="0 as it is, 1 zstd")),
                ("data", models.BinaryField()),
                (
                    "step",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="blocks",
                        to="agents.step",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("step", "part", "position"), name="value_block"),
                ],
            },
        ),
    ]

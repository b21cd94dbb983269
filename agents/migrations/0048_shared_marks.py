from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("agents", "0047_index_of_error_messages"),
    ]

    operations = [
        migrations.CreateModel(
            name="SharedMark",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "mark", "trace_id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("mark", models.BigIntegerField()),
                ("trace_id", models.BigIntegerField()),
            ],
            options={"indexes": [models.Index(fields=["trace_id"], name="shared_mark_trace")]},
        ),
    ]

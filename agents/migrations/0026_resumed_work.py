import agents.base.ids
import agents.base.models.fields
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("agents", "0025_secret_fingerprint"),
    ]

    operations = [
        migrations.AddField("import", "attempts", models.SmallIntegerField(db_default=0, default=0)),
        migrations.AddField("import", "file_names", models.JSONField(blank=True, db_default=[], default=list)),
        migrations.AddField("vectordocument", "attempts", models.SmallIntegerField(db_default=0, default=0)),
        migrations.AddIndex(
            "import",
            models.Index(fields=["id"], name="import_open", condition=models.Q(state__in=(1, 2))),
        ),
        migrations.CreateModel(
            name="ImportBlock",
            fields=[
                (
                    "id",
                    agents.base.models.fields.KeyField(
                        default=agents.base.ids.new_key, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("import_id", models.BigIntegerField()),
                ("file", models.IntegerField()),
                ("position", models.IntegerField()),
                ("data", models.BinaryField()),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("import_id", "file", "position"), name="import_block"),
                ],
            },
        ),
    ]

import agents.base.ids
import agents.base.models.fields
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("agents", "0043_index_of_answers"),
    ]

    operations = [
        migrations.CreateModel(
            name="PinnedGroups",
            fields=[
                (
                    "id",
                    agents.base.models.fields.KeyField(
                        default=agents.base.ids.new_key, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("level", models.CharField(max_length=10)),
                ("query", agents.base.models.fields.LongText(blank=True)),
                ("by", agents.base.models.fields.ShortText(max_length=100)),
                ("measure", models.CharField(max_length=20)),
                ("created_at", agents.base.models.fields.MomentField()),
                (
                    "owner",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["owner", "id"], name="pinned_groups_owner")],
            },
        ),
    ]

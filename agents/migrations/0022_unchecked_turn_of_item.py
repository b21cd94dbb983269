import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("agents", "0021_removed"),
    ]

    operations = [
        # items are written before their turn, where there are many
        migrations.AlterField(
            "item",
            "turn",
            models.ForeignKey(
                blank=True,
                db_constraint=False,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="items",
                to="agents.turn",
            ),
        ),
    ]
